package intrinsic

import (
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// packedV0 is the length of a configuration of version 0.
const packedV0 = 8 + 14*4 + 2*2

func getBlockchainParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	to := span(m, s, 0)
	if len(to) == 0 {
		return packedV0, nil
	}
	a.scratch = a.Chain.ChainConfig().AppendV0(a.scratch[:0])
	if len(a.scratch) > len(to) {
		return 0, nil
	}
	return size(copy(to, a.scratch)), nil
}

// setBlockchainParameters leaves the field that version 0 lacks as it is.
func setBlockchainParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_blockchain_parameters_packed"); err != nil {
		return 0, err
	}
	cfg := *a.Chain.ChainConfig()
	packed := span(m, s, 0)
	r := a.reader(packed)
	cfg.ReadV0(r)
	if err := unpackError(r, len(packed)); err != nil {
		return 0, err
	}
	if err := cfg.Validate(); err != nil {
		return 0, err
	}
	return 0, a.Chain.SetChainConfig(cfg)
}

// configurable tells whether contracts may know the parameter of this number.
func (a *Apply) configurable(id uint32) bool {
	return id != types.ParameterMaxActionReturnValueSize || a.Chain.ReturnValueConfigured()
}

func getParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	packed := span(m, s, 0)
	r := a.reader(packed)
	ids := types.ReadParameterIDs(r)
	if err := unpackError(r, len(packed)); err != nil {
		return 0, err
	}
	b, err := a.Chain.ChainConfig().AppendParameters(a.scratch[:0], ids, a.configurable)
	if err != nil {
		return 0, err
	}
	a.scratch = b
	to := span(m, s, 2)
	if len(to) == 0 {
		return size(len(b)), nil
	}
	if len(b) > len(to) {
		return 0, exception.New(exception.ConfigParseError,
			"get_parameters_packed: buffer size is smaller than ${size}", "size", len(b))
	}
	return size(copy(to, b)), nil
}

func setParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_parameters_packed"); err != nil {
		return 0, err
	}
	cfg := *a.Chain.ChainConfig()
	packed := span(m, s, 0)
	r := a.reader(packed)
	cfg.ReadParameters(r, a.configurable)
	if err := unpackError(r, len(packed)); err != nil {
		return 0, err
	}
	if err := cfg.Validate(); err != nil {
		return 0, err
	}
	return 0, a.Chain.SetChainConfig(cfg)
}

// getWasmParameters writes what it knows only if all of it fits. The version that
// the contract can cope with is always enough for the only one there is, 0.
func getWasmParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	a.scratch = a.Chain.WasmConfig().Append(serial.AppendUint32(a.scratch[:0], 0))
	if to := span(m, s, 0); len(a.scratch) <= len(to) {
		copy(to, a.scratch)
	}
	return size(len(a.scratch)), nil
}

func setWasmParameters(a *Apply, m []byte, s []uint64) (uint64, error) {
	if err := a.writable("set_wasm_parameters_packed"); err != nil {
		return 0, err
	}
	packed := span(m, s, 0)
	r := a.reader(packed)
	version := r.Uint32()
	if r.Err() == nil && version != 0 {
		return 0, exception.New(exception.WasmConfigUnknownVersion,
			"set_wasm_parameters_packed: Unknown version: ${version}", "version", version)
	}
	var cfg types.WasmConfig
	cfg.Read(r)
	if err := unpackError(r, len(packed)); err != nil {
		return 0, err
	}
	if err := cfg.Validate(); err != nil {
		return 0, err
	}
	return 0, a.Chain.SetWasmConfig(cfg)
}
