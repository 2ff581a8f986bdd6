package types

import (
	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// The numbers of the configuration's parameters are their places in its encoding
// (Leap: chain_config.hpp).
const (
	chainConfigV0Count = 17
	chainConfigCount   = 18

	// ParameterMaxActionReturnValueSize is the parameter that takes the feature
	// ACTION_RETURN_VALUE.
	ParameterMaxActionReturnValueSize = 17
)

// field returns a pointer to the parameter of a number: *uint64, *uint32 or
// *uint16; nil if there is none.
func (c *ChainConfig) field(id uint32) any {
	switch id {
	case 0:
		return &c.MaxBlockNetUsage
	case 15:
		return &c.MaxInlineActionDepth
	case 16:
		return &c.MaxAuthorityDepth
	case ParameterMaxActionReturnValueSize:
		return &c.MaxActionReturnValueSize
	}
	words := [...]*uint32{
		&c.TargetBlockNetUsagePct, &c.MaxTransactionNetUsage, &c.BasePerTransactionNetUsage,
		&c.NetUsageLeeway, &c.ContextFreeDiscountNetUsageNum, &c.ContextFreeDiscountNetUsageDen,
		&c.MaxBlockCPUUsage, &c.TargetBlockCPUUsagePct, &c.MaxTransactionCPUUsage,
		&c.MinTransactionCPUUsage, &c.MaxTransactionLifetime, &c.DeferredTrxExpirationWindow,
		&c.MaxTransactionDelay, &c.MaxInlineActionSize,
	}
	if id <= uint32(len(words)) {
		return words[id-1]
	}
	return nil
}

func (c *ChainConfig) appendParameter(b []byte, id uint32) []byte {
	switch f := c.field(id).(type) {
	case *uint64:
		return serial.AppendUint64(b, *f)
	case *uint32:
		return serial.AppendUint32(b, *f)
	case *uint16:
		return serial.AppendUint16(b, *f)
	}
	return b
}

func (c *ChainConfig) readParameter(r *serial.Reader, id uint32) {
	switch f := c.field(id).(type) {
	case *uint64:
		*f = r.Uint64()
	case *uint32:
		*f = r.Uint32()
	case *uint16:
		*f = r.Uint16()
	}
}

// parameterSet checks the numbers of one call: known, allowed, none twice.
type parameterSet struct {
	seen    [chainConfigCount]bool
	allowed func(id uint32) bool
}

func (s *parameterSet) add(id uint32) error {
	if id >= chainConfigCount {
		return exception.New(exception.ConfigParseError, "provided id ${id} should be less than ${size}",
			"id", id, "size", chainConfigCount)
	}
	if s.seen[id] {
		return exception.New(exception.ConfigParseError, "duplicate id provided: ${id}", "id", id)
	}
	s.seen[id] = true
	if !s.allowed(id) {
		return exception.New(exception.UnsupportedFeature, "config id ${id} is no allowed", "id", id)
	}
	return nil
}

// AppendParameters appends what get_parameters_packed answers to an encoded list
// of numbers: their count, then each with its value. Allowed tells whether the
// features that a parameter takes are active.
func (c *ChainConfig) AppendParameters(b []byte, ids []uint32, allowed func(id uint32) bool) ([]byte, error) {
	set := parameterSet{allowed: allowed}
	b = serial.AppendCount(b, len(ids))
	for _, id := range ids {
		if err := set.add(id); err != nil {
			return nil, err
		}
		b = c.appendParameter(serial.AppendVaruint32(b, id), id)
	}
	return b, nil
}

// ReadParameterIDs reads the list of numbers that get_parameters_packed is given.
func ReadParameterIDs(r *serial.Reader) []uint32 {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	ids := make([]uint32, n)
	for i := range ids {
		ids[i] = r.Varuint32()
	}
	return ids
}

// ReadParameters sets the parameters that set_parameters_packed is given: their
// count, then each with its number and value. After an error, which sticks to r,
// some are set.
func (c *ChainConfig) ReadParameters(r *serial.Reader, allowed func(id uint32) bool) {
	set := parameterSet{allowed: allowed}
	for n := r.Varuint32(); n > 0; n-- {
		id := r.Varuint32()
		if r.Err() != nil {
			return
		}
		if err := set.add(id); err != nil {
			r.Fail(err)
			return
		}
		c.readParameter(r, id)
	}
}
