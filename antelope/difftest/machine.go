package difftest

import (
	"encoding/binary"
	"time"

	"tarn/antelope/types"
)

// limits are the machine's, one or two of them changed at random, to what still lets
// the script contract run, mostly.
func (w *world) limits() types.WasmConfig {
	c := types.DefaultWasmConfig()
	n := func(least, more int) uint32 { return uint32(least + w.Rand.IntN(more)) }
	for range w.Rand.IntN(3) {
		switch w.Rand.IntN(11) {
		case 0:
			c.MaxCallDepth = n(1, 300)
		case 1:
			c.MaxPages = n(0, 600)
		case 2:
			c.MaxTableElements = n(100, 2000)
		case 3:
			c.MaxSectionElements = n(100, 8000)
		case 4:
			c.MaxNestedStructures = n(1, 1100)
		case 5:
			c.MaxSymbolBytes = n(20, 9000)
		case 6:
			c.MaxFuncLocalBytes = n(8, 9000)
		case 7:
			c.MaxModuleBytes = n(200, 60_000)
		case 8:
			c.MaxCodeBytes = n(20, 60_000)
		case 9:
			c.MaxMutableGlobalBytes = n(0, 100)
		case 10:
			c.MaxLinearMemoryInit = n(0, 140_000)
		}
	}
	return c
}

// machine sets the machine's limits, and asks for them.
func (g *scripts) machine(s *script) {
	b := g.limits().Append(binary.LittleEndian.AppendUint32(nil, uint32(g.Rand.IntN(20)/19)))
	s.call("set_wasm_parameters_packed", -1, pointer(s.data(b)), g.length(len(b)))
	s.call("get_wasm_parameters_packed", 1, pointer(scratchAt), number(g.Rand.Uint64N(60)), number(g.Rand.Uint64N(2)))
	s.call("mix", -1, pointer(scratchAt), number(60))
}

// runMachine changes the machine's limits while contracts are deployed and called:
// scripts, of which one account's sets the limits, and odd modules. Most of it is in
// delayed transactions, whose failures are in the blocks.
func runMachine(d *Driver, until time.Time) error {
	w, err := d.bootScripts(true)
	if err != nil {
		return err
	}
	setter := scriptAccounts()[0]
	if err := d.Must(action(system, "setpriv", system, setter, u8(1))); err != nil {
		return err
	}
	var all []*scripts
	for _, a := range scriptAccounts() {
		all = append(all, w.scripts(a, true))
	}
	wasm := scriptContract(func(string) bool { return true })
	return d.until(until, func() error {
		if err := w.pace(10 * time.Millisecond); err != nil {
			return err
		}
		u := pick(d, w.users[:4])
		t := Tx{Delay: uint32(d.Rand.IntN(3))}
		switch d.Rand.IntN(6) {
		case 0:
			s := all[0].begin()
			all[0].machine(s)
			t.Actions = []types.Action{s.action(setter, level(setter, active))}
		case 1:
			t.Actions = []types.Action{setCode(u, smallModule(d.Rand, 1100).encode()),
				{Account: u, Name: types.N("go"), Authorization: []types.PermissionLevel{level(u, active)}}}
		case 2:
			t.Actions = []types.Action{setCode(u, wasm)}
		case 3:
			t.Actions = []types.Action{{Account: u, Name: types.N("go"),
				Authorization: []types.PermissionLevel{level(u, active)}}}
		default:
			g := pick(d, all)
			s := g.begin()
			pick(d, []part{mathPart, memoryPart, memoryTrapPart, databasePart, inlinePart})(g, s)
			t.Actions = []types.Action{s.action(g.account, level(g.account, active))}
			if s.err != nil {
				return s.err
			}
		}
		return d.May(t)
	})
}
