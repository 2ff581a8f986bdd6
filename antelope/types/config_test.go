package types_test

import (
	"bytes"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

func all(uint32) bool { return true }

func TestConfigurationsAreValidByTheRulesOfNodeos(t *testing.T) {
	good := types.DefaultChainConfig()
	if err := good.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		message string
		change  func(c *types.ChainConfig)
	}{
		{"target block net usage percentage cannot exceed 100%", func(c *types.ChainConfig) { c.TargetBlockNetUsagePct = 10001 }},
		{"target block net usage percentage must be at least 0.1%", func(c *types.ChainConfig) { c.TargetBlockNetUsagePct = 9 }},
		{"target block cpu usage percentage cannot exceed 100%", func(c *types.ChainConfig) { c.TargetBlockCPUUsagePct = 10001 }},
		{"target block cpu usage percentage must be at least 0.1%", func(c *types.ChainConfig) { c.TargetBlockCPUUsagePct = 9 }},
		{"max transaction net usage must be less than max block net usage", func(c *types.ChainConfig) { c.MaxBlockNetUsage = 524288 }},
		{"max transaction cpu usage must be less than max block cpu usage", func(c *types.ChainConfig) { c.MaxBlockCPUUsage = 150000 }},
		{"base net usage per transaction must be less than the max transaction net usage",
			func(c *types.ChainConfig) { c.BasePerTransactionNetUsage = 524288 }},
		{"max transaction net usage must be at least 10240 bytes larger than base net usage per transaction",
			func(c *types.ChainConfig) { c.BasePerTransactionNetUsage = 524288 - 10239 }},
		{"net usage discount ratio for context free data cannot have a 0 denominator", func(c *types.ChainConfig) { c.ContextFreeDiscountNetUsageDen = 0 }},
		{"net usage discount ratio for context free data cannot exceed 1", func(c *types.ChainConfig) { c.ContextFreeDiscountNetUsageNum = 101 }},
		{"min transaction cpu usage cannot exceed max transaction cpu usage", func(c *types.ChainConfig) { c.MinTransactionCPUUsage = 150001 }},
		{"max transaction cpu usage must be at less than the difference between the max block cpu usage and the min " +
			"transaction cpu usage", func(c *types.ChainConfig) { c.MinTransactionCPUUsage = 50000 }},
		{"max authority depth should be at least 1", func(c *types.ChainConfig) { c.MaxAuthorityDepth = 0 }},
		{"max action return value size should be less than MAX_SIZE_OF_BYTE_ARRAYS", func(c *types.ChainConfig) { c.MaxActionReturnValueSize = 20<<20 + 1 }},
	} {
		bad := good
		c.change(&bad)
		checkError(t, bad.Validate(), exception.ActionValidate, c.message)
	}
	wasm := types.DefaultWasmConfig()
	if err := wasm.Validate(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		message string
		change  func(c *types.WasmConfig)
	}{
		{"max_section_elements cannot be less than 4", func(c *types.WasmConfig) { c.MaxSectionElements = 3 }},
		{"max_func_local_bytes cannot be less than 8", func(c *types.WasmConfig) { c.MaxFuncLocalBytes = 7 }},
		{"max_nested_structures cannot be less than 1", func(c *types.WasmConfig) { c.MaxNestedStructures = 0 }},
		{"max_symbol_bytes cannot be less than 32", func(c *types.WasmConfig) { c.MaxSymbolBytes = 31 }},
		{"max_module_bytes cannot be less than 256", func(c *types.WasmConfig) { c.MaxModuleBytes = 255 }},
		{"max_code_bytes cannot be less than 32", func(c *types.WasmConfig) { c.MaxCodeBytes = 31 }},
		{"max_pages cannot be less than 1", func(c *types.WasmConfig) { c.MaxPages = 0 }},
		{"max_call_depth cannot be less than 2", func(c *types.WasmConfig) { c.MaxCallDepth = 1 }},
	} {
		bad := wasm
		c.change(&bad)
		checkError(t, bad.Validate(), exception.ActionValidate, c.message)
	}
}

// distinct returns a configuration whose fields all differ.
func distinct() types.ChainConfig {
	b := make([]byte, 0, 80)
	for i := range 80 {
		b = append(b, byte(i+1))
	}
	var c types.ChainConfig
	c.Read(serial.NewReader(b))
	return c
}

func TestConfigurationsComeBack(t *testing.T) {
	c := distinct()
	raw := c.Append(nil)
	if len(raw) != 8+14*4+2*2+4 || len(c.AppendV0(nil)) != len(raw)-4 {
		t.Fatalf("%d bytes", len(raw))
	}
	for i, b := range raw {
		if b != byte(i+1) {
			t.Fatalf("byte %d is %d: the fields are out of order", i, b)
		}
	}
	var old types.ChainConfig
	old.MaxActionReturnValueSize = 7
	r := serial.NewReader(c.AppendV0(nil))
	if old.ReadV0(r); r.End() != nil || old.MaxActionReturnValueSize != 7 ||
		old.MaxAuthorityDepth != c.MaxAuthorityDepth {
		t.Errorf("version 0 came back as %v, %v", old, r.Err())
	}
	w, back := types.DefaultWasmConfig(), types.WasmConfig{}
	if err := types.Decode(w.Append(nil), &back); err != nil || back != w {
		t.Errorf("%v, %v", back, err)
	}
}

func TestParametersAreSetAndGotByTheirNumbers(t *testing.T) {
	c := distinct()
	ids := []uint32{17, 0, 16, 1}
	raw, err := c.AppendParameters(nil, ids, all)
	if err != nil {
		t.Fatal(err)
	}
	want := []byte{4, 17, 69, 70, 71, 72, 0, 1, 2, 3, 4, 5, 6, 7, 8, 16, 67, 68, 1, 9, 10, 11, 12}
	if !bytes.Equal(raw, want) {
		t.Errorf("parameters are encoded as %v, want %v", raw, want)
	}
	set := types.DefaultChainConfig()
	r := serial.NewReader(raw)
	if set.ReadParameters(r, all); r.End() != nil {
		t.Fatal(r.Err())
	}
	if set.MaxBlockNetUsage != c.MaxBlockNetUsage || set.MaxActionReturnValueSize != c.MaxActionReturnValueSize ||
		set.MaxAuthorityDepth != c.MaxAuthorityDepth ||
		set.MaxTransactionNetUsage != types.DefaultChainConfig().MaxTransactionNetUsage {
		t.Errorf("set %v", set)
	}
	every := make([]uint32, 18)
	for i := range every {
		every[i] = uint32(i)
	}
	raw, err = c.AppendParameters(nil, every, all)
	var copied types.ChainConfig
	copied.ReadParameters(serial.NewReader(raw), all)
	if err != nil || copied != c {
		t.Errorf("all parameters came back as %v, %v", copied, err)
	}
	v0 := func(id uint32) bool { return id != types.ParameterMaxActionReturnValueSize }
	for _, v := range []struct {
		ids     []uint32
		kind    *exception.Kind
		message string
	}{
		{[]uint32{18}, exception.ConfigParseError, "provided id 18 should be less than 18"},
		{[]uint32{1, 1}, exception.ConfigParseError, "duplicate id provided: 1"},
		{[]uint32{17}, exception.UnsupportedFeature, "config id 17 is no allowed"},
	} {
		_, err := c.AppendParameters(nil, v.ids, v0)
		checkError(t, err, v.kind, v.message)
		raw := serial.AppendCount(nil, len(v.ids))
		for _, id := range v.ids {
			raw = append(append(raw, byte(id)), 0, 0, 0, 0)
		}
		r := serial.NewReader(raw)
		set.ReadParameters(r, v0)
		checkError(t, r.Err(), v.kind, v.message)
	}
	if got := types.ReadParameterIDs(serial.NewReader([]byte{3, 0, 0x80, 1, 5})); len(got) != 3 || got[1] != 128 {
		t.Errorf("numbers %v", got)
	}
	r = serial.NewReader([]byte{0xff, 0xff, 0xff, 0xff, 0x0f, 1})
	if set.ReadParameters(r, all); r.Err() == nil {
		t.Error("four thousand million parameters are read")
	}
}

func TestGenesisIsWhatItsJSONSays(t *testing.T) {
	g := types.DefaultGenesis()
	if g.InitialKey.String() != types.DefaultGenesisKey || g.InitialTimestamp.String() != "2018-06-01T12:00:00.000" {
		t.Errorf("default genesis %v", g)
	}
	json := string(g.AppendJSON(nil))
	if want := `{"initial_timestamp":"2018-06-01T12:00:00.000","initial_key":"` + types.DefaultGenesisKey +
		`","initial_configuration":{` +
		`"max_block_net_usage":1048576,"target_block_net_usage_pct":1000,`; !strings.HasPrefix(json, want) ||
		!strings.HasSuffix(json, `"max_inline_action_depth":4,"max_authority_depth":6}}`) {
		t.Errorf("JSON %s", json)
	}
	back, err := types.ParseGenesis(json)
	if err != nil || back != g {
		t.Errorf("came back as %v, %v", back, err)
	}
	const key = "EOS5P52UyPoYL7vMiSREPvqxh6WebuMAunCMK4w53J7Gu6zmk4qyN"
	part, err := types.ParseGenesis(`{"initial_timestamp":"2020-01-01T00:00:00","initial_key":"` + key +
		`","initial_configuration":{"max_inline_action_size":"4096"}}`)
	if err != nil {
		t.Fatal(err)
	}
	want := g
	if want.InitialKey, err = types.ParsePublicKey(key); err != nil {
		t.Fatal(err)
	}
	want.InitialTimestamp = 1577836800 * 1_000_000
	want.InitialConfiguration.MaxInlineActionSize = 4096
	if part != want {
		t.Errorf("part of a genesis is %v", part)
	}
	// The reference block log begins with this one.
	if got := want.ChainID().String(); got != "90d8c7436017001e64891e8b6b7eb0060baeb350048eb52d2cdb594fdbc2617d" {
		t.Errorf("chain id %s", got)
	}
	var read types.Genesis
	if err := types.Decode(want.Append(nil), &read); err != nil || read != want {
		t.Errorf("read %v, %v", read, err)
	}
	for _, bad := range []string{``, `[]`, `{"initial_key":"x"}`, `{"initial_timestamp":{}}`,
		`{"initial_configuration":5}`, `{"initial_configuration":{"max_block_net_usage":"x"}}`} {
		if g, err := types.ParseGenesis(bad); err == nil {
			t.Errorf("%q is a genesis: %v", bad, g)
		}
	}
}
