package difftest

import (
	"fmt"
	"time"

	"tarn/antelope/types"
)

// The accounts with the script contract.
func scriptAccounts() []types.Name { return names("scripta", "scriptb", "scriptc") }

// bootScripts makes a chain with users, tokens and accounts with the script
// contract, which may act for themselves and for each other.
func (d *Driver) bootScripts(full bool) (*world, error) {
	others, err := d.boot()
	if err != nil {
		return nil, err
	}
	if full {
		if err := d.activate(others...); err != nil {
			return nil, err
		}
		if err := d.Blocks(2); err != nil {
			return nil, err
		}
	}
	w, err := d.tokenWorld(4)
	if err != nil {
		return nil, err
	}
	if err := d.create(scriptAccounts()...); err != nil {
		return nil, err
	}
	wasm := scriptContract(func(feature string) bool { return full || feature == preactivate })
	for _, a := range scriptAccounts() {
		auth := d.simple(a)
		for _, b := range scriptAccounts() {
			auth.Accounts = append(auth.Accounts,
				types.PermissionLevelWeight{Permission: level(b, "eosio.code"), Weight: 1})
		}
		auth.Sort()
		if err := d.Must(setCode(a, wasm),
			with(action(system, "updateauth", a, a, types.N(active), types.N(owner), auth),
				level(a, owner))); err != nil {
			return nil, err
		}
	}
	w.users = append(w.users, scriptAccounts()...)
	for _, a := range scriptAccounts() {
		w.permissions[a] = names(owner, active)
		w.pool = append(w.pool, d.Key(a))
		if err := d.Must(transfer(system, a, tokens(1_000_000, "SYS"), "start")); err != nil {
			return nil, err
		}
	}
	if d.prepare != nil {
		return w, d.prepare()
	}
	return w, nil
}

// A part writes some steps of a script.
type part func(g *scripts, s *script)

// runScripts returns a workload of scripts made of these parts. Some run at once,
// some in delayed transactions, whose failures are in the blocks too; only there
// are steps that fail on purpose.
func runScripts(full bool, parts []part, failing []part) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		w, err := d.bootScripts(full)
		if err != nil {
			return err
		}
		var all []*scripts
		for _, a := range scriptAccounts() {
			all = append(all, w.scripts(a, full))
		}
		return d.until(until, func() error {
			if err := w.pace(10 * time.Millisecond); err != nil {
				return err
			}
			g := pick(d, all)
			t := Tx{}
			if len(failing) > 0 && d.One(2) {
				t.Delay = uint32(1 + d.Rand.IntN(2))
			}
			for range 1 + d.Rand.IntN(2) {
				s := g.begin()
				for range 1 + d.Rand.IntN(2) {
					pick(d, parts)(g, s)
				}
				if t.Delay > 0 && d.One(2) {
					pick(d, failing)(g, s)
				}
				if s.err != nil {
					return s.err
				}
				if len(s.b) > scriptMost {
					return fmt.Errorf("a script of %d bytes", len(s.b))
				}
				t.Actions = append(t.Actions, s.action(g.account, level(g.account, active)))
			}
			return d.May(t)
		})
	}
}

func mathPart(g *scripts, s *script)       { g.math(s, false) }
func trapPart(g *scripts, s *script)       { g.math(s, true) }
func builtinPart(g *scripts, s *script)    { g.builtin(s) }
func printPart(g *scripts, s *script)      { g.callPrints(s) }
func hashPart(g *scripts, s *script)       { g.hashes(s) }
func memoryPart(g *scripts, s *script)     { g.memory(s, false) }
func memoryTrapPart(g *scripts, s *script) { g.memory(s, true) }
func contextPart(g *scripts, s *script)    { g.context(s) }
func databasePart(g *scripts, s *script)   { g.database(s) }
func wrongDatabase(g *scripts, s *script)  { g.wrong(s) }

func inlinePart(g *scripts, s *script)     { g.inline(s, 2, false) }
func deepPart(g *scripts, s *script)       { g.deep(s) }
func curvePart(g *scripts, s *script)      { g.curves(s) }
func numberPart(g *scripts, s *script)     { g.numbers(s) }
func recoveryPart(g *scripts, s *script)   { g.recoveries(s) }
func wrongInline(g *scripts, s *script)    { g.inline(s, 4, true) }
func deferredPart(g *scripts, s *script)   { g.sendDeferred(s, false) }
func wrongDeferred(g *scripts, s *script)  { g.sendDeferred(s, true) }
func failPart(g *scripts, s *script)       { g.fail(s) }
func wildPart(g *scripts, s *script)       { g.wild(s) }
func privilegedPart(g *scripts, s *script) { g.callPrivileged(s) }
func recipientPart(g *scripts, s *script) {
	for range 1 + g.Rand.IntN(3) {
		s.call("require_recipient", -1, accountOf(pick(g.Driver, g.users)))
	}
}

// runDeep is runScripts with other depths of inline actions, on a chain where they may
// be deeper or less deep than usual.
func runDeep(d *Driver, until time.Time) error {
	d.prepare = func() error {
		c := types.DefaultChainConfig()
		c.MaxInlineActionDepth = uint16(1 + d.Rand.IntN(10))
		return d.Must(action(system, "setparams", system, raw(c.AppendV0(nil))))
	}
	return runScripts(true, []part{deepPart}, []part{deepPart, deepPart, failPart})(d, until)
}

// runPrivileged is runScripts with privileged accounts.
func runPrivileged(full bool) func(d *Driver, until time.Time) error {
	run := runScripts(full, []part{privilegedPart}, []part{wildPart})
	return func(d *Driver, until time.Time) error {
		d.prepare = func() error {
			for _, a := range scriptAccounts() {
				if err := d.Must(action(system, "setpriv", system, a, u8(1))); err != nil {
					return err
				}
			}
			return nil
		}
		return run(d, until)
	}
}
