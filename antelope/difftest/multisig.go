package difftest

import (
	"time"

	"tarn/antelope/types"
)

var (
	msig = types.N("eosio.msig")
	wrap = types.N("eosio.wrap")
)

// proposal is one that eosio.msig holds.
type proposal struct {
	proposer, name types.Name
	requested      []types.PermissionLevel
}

// inner is a transaction to be proposed or wrapped.
func (w *world) inner() (types.Transaction, []types.PermissionLevel) {
	t := types.Transaction{TransactionHeader: types.TransactionHeader{
		Expiration: types.TimePointSec(w.ground.chainTime().Add(time.Hour).Unix() - int64(w.Rand.IntN(3000)))}}
	var need []types.PermissionLevel
	for range 1 + w.Rand.IntN(3) {
		u := pick(w.Driver, w.users)
		need = append(need, level(u, active))
		a := transfer(u, pick(w.Driver, w.users), tokens(1+w.Rand.Int64N(500), "SYS"), "inner")
		if w.One(5) {
			a.Data = a.Data[:w.Rand.IntN(len(a.Data))] // fails when it is executed
		}
		t.Actions = append(t.Actions, a)
	}
	if w.One(3) {
		t.DelaySec = uint32(w.Rand.IntN(6))
	}
	return t, need
}

func runMultisig(features bool) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		others, err := d.boot()
		if err != nil {
			return err
		}
		if features {
			if err := d.activate(others...); err != nil {
				return err
			}
		}
		if err := d.deployMultisig(); err != nil {
			return err
		}
		w, err := d.tokenWorld(8)
		if err != nil {
			return err
		}
		var open []proposal
		return d.until(until, func() error {
			if err := w.pace(20 * time.Millisecond); err != nil {
				return err
			}
			return w.multisigStep(&open)
		})
	}
}

// deployMultisig makes eosio.msig and eosio.wrap.
func (d *Driver) deployMultisig() error {
	if err := d.create(msig, wrap); err != nil {
		return err
	}
	for _, n := range []types.Name{msig, wrap} {
		if err := d.deploy(n, n.String()); err != nil {
			return err
		}
		if err := d.Must(action(system, "setpriv", system, n, u8(1))); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) multisigStep(open *[]proposal) error {
	if len(*open) < 3 || w.One(4) {
		t, need := w.inner()
		p := proposal{pick(w.Driver, w.users), account("prop", w.Rand.IntN(1000)), need}
		*open = append(*open, p)
		return w.May(
			Tx{Actions: []types.Action{action(msig, "propose", p.proposer, p.proposer, p.name, list(need), t)}})
	}
	i := w.Rand.IntN(len(*open))
	p := (*open)[i]
	l := pick(w.Driver, p.requested)
	var a types.Action
	switch w.Rand.IntN(12) {
	case 0:
		a = action(msig, "unapprove", l.Actor, p.proposer, p.name, l)
	case 1:
		a = action(msig, "cancel", p.proposer, p.proposer, p.name, p.proposer)
	case 2:
		a = action(msig, "invalidate", l.Actor, l.Actor)
	case 3, 4, 5:
		u := pick(w.Driver, w.users)
		a = action(msig, "exec", u, p.proposer, p.name, u)
		if w.One(2) {
			*open = append((*open)[:i], (*open)[i+1:]...)
		}
	case 6:
		t, _ := w.inner()
		u := pick(w.Driver, w.users)
		a = with(action(wrap, "exec", u, u, t), level(u, active), level(wrap, active))
	default:
		a = action(msig, "approve", l.Actor, p.proposer, p.name, l)
	}
	return w.May(Tx{Actions: []types.Action{a}})
}
