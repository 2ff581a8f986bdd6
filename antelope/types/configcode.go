package types

import (
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// DefaultChainConfig returns the configuration of a chain whose genesis says
// nothing else (Leap: config.hpp).
func DefaultChainConfig() ChainConfig {
	return ChainConfig{
		MaxBlockNetUsage:               1024 * 1024,
		TargetBlockNetUsagePct:         1000,
		MaxTransactionNetUsage:         512 * 1024,
		BasePerTransactionNetUsage:     12,
		NetUsageLeeway:                 500,
		ContextFreeDiscountNetUsageNum: 20,
		ContextFreeDiscountNetUsageDen: 100,
		MaxBlockCPUUsage:               200_000,
		TargetBlockCPUUsagePct:         1000,
		MaxTransactionCPUUsage:         150_000,
		MinTransactionCPUUsage:         100,
		MaxTransactionLifetime:         60 * 60,
		DeferredTrxExpirationWindow:    10 * 60,
		MaxTransactionDelay:            45 * 24 * 3600,
		MaxInlineActionSize:            512 * 1024,
		MaxInlineActionDepth:           4,
		MaxAuthorityDepth:              6,
		MaxActionReturnValueSize:       256,
	}
}

// AppendV0 appends the fields of version 0.
func (c ChainConfig) AppendV0(b []byte) []byte {
	for id := range chainConfigV0Count {
		b = c.appendParameter(b, uint32(id))
	}
	return b
}

// ReadV0 reads the fields of version 0 and leaves the others.
func (c *ChainConfig) ReadV0(r *serial.Reader) {
	for id := range chainConfigV0Count {
		c.readParameter(r, uint32(id))
	}
}

// Append appends the fields of version 1.
func (c ChainConfig) Append(b []byte) []byte {
	return serial.AppendUint32(c.AppendV0(b), c.MaxActionReturnValueSize)
}

// Read reads the fields of version 1.
func (c *ChainConfig) Read(r *serial.Reader) {
	c.ReadV0(r)
	c.MaxActionReturnValueSize = r.Uint32()
}

// Validate returns the action_validate_exception of the first rule that is broken
// (Leap: chain_config.cpp).
func (c *ChainConfig) Validate() error {
	const percent = 100
	for _, rule := range []struct {
		holds   bool
		message string
	}{
		{c.TargetBlockNetUsagePct <= 100*percent, "target block net usage percentage cannot exceed 100%"},
		{c.TargetBlockNetUsagePct >= percent/10, "target block net usage percentage must be at least 0.1%"},
		{c.TargetBlockCPUUsagePct <= 100*percent, "target block cpu usage percentage cannot exceed 100%"},
		{c.TargetBlockCPUUsagePct >= percent/10, "target block cpu usage percentage must be at least 0.1%"},
		{uint64(c.MaxTransactionNetUsage) < c.MaxBlockNetUsage, "max transaction net usage must be less than max block net usage"},
		{c.MaxTransactionCPUUsage < c.MaxBlockCPUUsage, "max transaction cpu usage must be less than max block cpu usage"},
		{c.BasePerTransactionNetUsage < c.MaxTransactionNetUsage,
			"base net usage per transaction must be less than the max transaction net usage"},
		{c.MaxTransactionNetUsage-c.BasePerTransactionNetUsage >= 10*1024,
			"max transaction net usage must be at least 10240 bytes larger than base net usage per transaction"},
		{c.ContextFreeDiscountNetUsageDen > 0, "net usage discount ratio for context free data cannot have a 0 denominator"},
		{c.ContextFreeDiscountNetUsageNum <= c.ContextFreeDiscountNetUsageDen,
			"net usage discount ratio for context free data cannot exceed 1"},
		{c.MinTransactionCPUUsage <= c.MaxTransactionCPUUsage, "min transaction cpu usage cannot exceed max transaction cpu usage"},
		{c.MaxTransactionCPUUsage < c.MaxBlockCPUUsage-c.MinTransactionCPUUsage,
			"max transaction cpu usage must be at less than the difference between the max block cpu usage and the " +
				"min transaction cpu usage"},
		{c.MaxAuthorityDepth >= 1, "max authority depth should be at least 1"},
		{c.MaxActionReturnValueSize <= serial.MaxBytes, "max action return value size should be less than MAX_SIZE_OF_BYTE_ARRAYS"},
	} {
		if !rule.holds {
			return exception.New(exception.ActionValidate, rule.message)
		}
	}
	return nil
}

// DefaultWasmConfig returns the limits that a chain starts with.
func DefaultWasmConfig() WasmConfig {
	return WasmConfig{
		MaxMutableGlobalBytes: 1024,
		MaxTableElements:      1024,
		MaxSectionElements:    8192,
		MaxLinearMemoryInit:   64 * 1024,
		MaxFuncLocalBytes:     8192,
		MaxNestedStructures:   1024,
		MaxSymbolBytes:        8192,
		MaxModuleBytes:        20 * 1024 * 1024,
		MaxCodeBytes:          20 * 1024 * 1024,
		MaxPages:              528,
		MaxCallDepth:          251,
	}
}

// fields returns the fields in the order of their encoding.
func (c *WasmConfig) fields() [11]*uint32 {
	return [...]*uint32{
		&c.MaxMutableGlobalBytes, &c.MaxTableElements, &c.MaxSectionElements,
		&c.MaxLinearMemoryInit, &c.MaxFuncLocalBytes, &c.MaxNestedStructures,
		&c.MaxSymbolBytes, &c.MaxModuleBytes, &c.MaxCodeBytes, &c.MaxPages, &c.MaxCallDepth,
	}
}

// Append appends the eleven fields.
func (c WasmConfig) Append(b []byte) []byte {
	for _, f := range c.fields() {
		b = serial.AppendUint32(b, *f)
	}
	return b
}

// Read reads the eleven fields.
func (c *WasmConfig) Read(r *serial.Reader) {
	for _, f := range c.fields() {
		*f = r.Uint32()
	}
}

// Validate returns the action_validate_exception of the first limit that is too
// low (Leap: wasm_config.cpp).
func (c *WasmConfig) Validate() error {
	for _, limit := range []struct {
		name       string
		value, min uint32
	}{
		{"max_section_elements", c.MaxSectionElements, 4},
		{"max_func_local_bytes", c.MaxFuncLocalBytes, 8},
		{"max_nested_structures", c.MaxNestedStructures, 1},
		{"max_symbol_bytes", c.MaxSymbolBytes, 32},
		{"max_module_bytes", c.MaxModuleBytes, 256},
		{"max_code_bytes", c.MaxCodeBytes, 32},
		{"max_pages", c.MaxPages, 1},
		{"max_call_depth", c.MaxCallDepth, 2},
	} {
		if limit.value < limit.min {
			return exception.New(exception.ActionValidate, limit.name+" cannot be less than "+
				strconv.FormatUint(uint64(limit.min), 10))
		}
	}
	return nil
}
