package chain

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// activateFeatures activates what the pending block says, which must include all
// that was preactivated.
func (c *Chain) activateFeatures() error {
	b := c.pending
	p, err := c.state.Protocol()
	if err != nil {
		return err
	}
	if len(b.activations) == 0 {
		if len(p.Preactivated) == 0 {
			return nil
		}
		return notActivated()
	}
	waiting := slices.Clone(p.Preactivated)
	for i, digest := range b.activations {
		f, err := c.opt.Features.Get(digest)
		if err != nil {
			return err
		}
		if slices.Contains(b.activations[:i], digest) {
			return exception.New(exception.BlockValidate, "attempted duplicate activation within a single block: %s", digest)
		}
		if n := slices.Index(waiting, digest); n >= 0 {
			waiting = slices.Delete(waiting, n, n+1)
		} else if f.PreactivationRequired {
			return exception.New(exception.ProtocolFeature, "attempted to activate protocol feature without prior required preactivation: %s", digest)
		}
		if err := c.onActivation(f.Codename); err != nil {
			return err
		}
		if err := c.features.Activate(digest, b.header.BlockNum); err != nil {
			return err
		}
		if d := c.tracer(); d != nil {
			d.ActivateFeature(f)
		}
		b.activated++
		c.activeAt = 0
	}
	if len(waiting) > 0 {
		return notActivated()
	}
	if p, err = c.state.EditProtocol(); err != nil {
		return err
	}
	p.Preactivated = nil
	list := slices.Clone(p.Activated)
	for _, digest := range b.activations {
		list = append(list, state.ActivatedFeature{Digest: digest, Block: b.header.BlockNum})
	}
	p.Activated = list
	return nil
}

func notActivated() error {
	return exception.New(exception.BlockValidate, "There are pre-activated protocol features that were not activated at the start of this block")
}

// onActivation changes the state as a feature's activation does (Leap:
// controller_impl::on_activation).
func (c *Chain) onActivation(f feature.Codename) error {
	if names := f.Intrinsics(); len(names) > 0 {
		p, err := c.state.EditProtocol()
		if err != nil {
			return err
		}
		list := slices.Clone(p.Intrinsics)
		for _, n := range names {
			if !slices.Contains(list, n) {
				list = append(list, n)
			}
		}
		slices.Sort(list)
		p.Intrinsics = list
	}
	switch f {
	case feature.WebAuthnKey:
		p, err := c.state.EditProtocol()
		if err != nil {
			return err
		}
		p.KeyTypes = 3
	case feature.ReplaceDeferred:
		return c.applyRAMCorrections()
	case feature.DisableDeferredTrxsStage2:
		return c.removeAllDeferred()
	}
	return nil
}

// applyRAMCorrections gives back what replaced deferred transactions were charged.
func (c *Chain) applyRAMCorrections() error {
	var rows []state.RAMCorrection
	err := c.state.RAMCorrections.Scan(0, ^types.Name(0), func(r *state.RAMCorrection) (bool, error) {
		rows = append(rows, *r)
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(rows, func(a, b state.RAMCorrection) int { return compareIDs(a.ID, b.ID) })
	for _, r := range rows {
		used, err := c.resources.RAMUsage(r.Name)
		if err != nil {
			return err
		}
		delta := -int64(r.Correction)
		if r.Correction > uint64(used) {
			delta = -used
			c.opt.Log.Error("account was to be reduced by more RAM than it uses", "account", r.Name, "correction", r.Correction, "used", used)
		}
		if d := c.tracer(); d != nil {
			d.RAMEvent(idEvent(r.ID), "deferred_trx", "correction", "deferred_trx_ram_correction")
		}
		if err := c.chargeRAM(c.tracer(), r.Name, delta); err != nil {
			return err
		}
		if err := c.state.RAMCorrections.Remove(r.Name); err != nil {
			return err
		}
	}
	return nil
}

func compareIDs(a, b uint64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

func (c *Chain) removeAllDeferred() error {
	var all []*state.Deferred
	err := c.state.DeferredByDelay(func(d *state.Deferred) (bool, error) {
		all = append(all, d)
		return true, nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b *state.Deferred) int { return a.TrxID.Compare(b.TrxID) })
	for _, d := range all {
		if _, err := c.removeDeferred(d); err != nil {
			return err
		}
	}
	return nil
}

// listed tells whether a name is in an ascending list.
func listed(list []string, name string) bool {
	_, found := slices.BinarySearch(list, name)
	return found
}
