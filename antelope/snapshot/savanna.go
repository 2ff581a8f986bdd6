package snapshot

import (
	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// headRow is block_state from version 8 on: the state by the rules before Savanna, and by Savanna's. There
// are both in transition, until proper blocks may follow: from there on nodeos takes a state with the older
// part for one that such blocks do not follow (Spring: snapshot_block_state_data_v8,
// transition_to_savanna).
type headRow struct{ consensus.Head }

func (r *headRow) Append(b []byte) []byte {
	older := !r.PrecedesProper()
	if b = serial.AppendBool(b, older); older {
		b = r.HeaderState.Append(b)
	}
	if b = serial.AppendBool(b, r.Finality != nil); r.Finality == nil {
		return b
	}
	b = r.Finality.Append(b)
	if b = serial.AppendBool(b, r.Validation != nil); r.Validation != nil {
		b = r.Validation.Append(b)
	}
	return b
}

// Read decodes what Append encodes. A state by Savanna's rules needs the tree that goes with it. Alone it is
// that of a block which proper ones follow; the last block before these may have both parts.
func (r *headRow) Read(s *serial.Reader) {
	r.Head = consensus.Head{}
	if s.Bool() {
		r.HeaderState = new(consensus.HeaderState)
		r.HeaderState.Read(s)
	}
	if !s.Bool() {
		if s.Err() == nil && r.HeaderState == nil {
			s.Fail(serial.ErrValue)
		}
		return
	}
	f, v := new(finality.State), new(finality.Validation)
	f.Read(s)
	if !s.Bool() {
		s.Fail(serial.ErrValue)
	}
	v.Read(s)
	switch {
	case s.Err() != nil:
	case r.HeaderState == nil:
		r.Head = consensus.SavannaHead(f, v)
	case f.IsProper(), r.ID != f.ID:
		s.Fail(serial.ErrValue)
	default:
		r.Finality, r.Validation = f, v
	}
}

func (r *headRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		if !r.PrecedesProper() {
			d.key("bs_l")
			d.b = headerRow{HeaderState: r.HeaderState}.AppendJSON(d.b)
			d.rest = true
		}
		if r.Finality != nil {
			d.object("bs", func() { d.finality(r.Finality, r.Validation) })
		}
	})
	return d.b
}

// finality appends the members of a state by Savanna's rules.
func (d *document) finality(s *finality.State, v *finality.Validation) {
	d.digestField("block_id", &s.ID)
	d.object("header", func() { d.headerFields(&s.Header) })
	d.appendActivated(s.Activated)
	d.object("core", func() { d.core(&s.Core) })
	d.finalizers("active_finalizer_policy", s.Finalizers)
	d.proposers("active_proposer_policy", s.Proposers)
	d.proposers("latest_proposed_proposer_policy", s.ProposedProposers)
	d.proposers("latest_pending_proposer_policy", s.PendingProposers)
	d.array("proposed_finalizer_policies", len(s.Proposed), func(i int) { d.appendNumbered("", &s.Proposed[i]) })
	if s.Pending != nil {
		d.appendNumbered("pending_finalizer_policy", s.Pending)
	}
	d.finalizers("latest_qc_claim_block_active_finalizer_policy", s.ClaimedFinalizers)
	d.unsignedField("finalizer_policy_generation", uint64(s.Generation))
	d.digestField("last_pending_finalizer_policy_digest", &s.PendingDigest)
	d.textField("last_pending_finalizer_policy_start_timestamp", s.PendingSince)
	if v != nil {
		tree := v.Tree()
		d.object("valid", func() {
			d.object("validation_tree", func() {
				d.unsignedField("mask", tree.Count())
				d.digests("trees", tree.Roots())
			})
			d.digests("validation_mroots", v.Roots())
		})
	}
}

func (d *document) core(c *finality.Core) {
	links, refs := c.Links(), c.Refs()
	d.array("links", len(links), func(i int) {
		d.object("", func() {
			d.unsignedField("source_block_num", uint64(links[i].Source))
			d.unsignedField("target_block_num", uint64(links[i].Target))
			d.boolField("is_link_strong", links[i].Strong)
		})
	})
	d.array("refs", len(refs), func(i int) {
		d.object("", func() {
			d.digestField("block_id", &refs[i].ID)
			d.textField("timestamp", refs[i].Time)
			d.digestField("finality_digest", &refs[i].Finality)
			d.unsignedField("active_policy_generation", uint64(refs[i].Active))
			d.unsignedField("pending_policy_generation", uint64(refs[i].Pending))
		})
	})
	d.textField("genesis_timestamp", c.Genesis())
}

// null appends a field without a value.
func (d *document) null(name string) {
	d.key(name)
	d.b = append(d.b, "null"...)
	d.rest = true
}

func (d *document) boolField(name string, v bool) {
	d.key(name)
	d.b = variant.AppendBool(d.b, v)
	d.rest = true
}

func (d *document) finalizers(name string, p *types.FinalizerPolicy) {
	if p == nil {
		d.null(name)
		return
	}
	d.object(name, func() {
		d.unsignedField("generation", uint64(p.Generation))
		d.unsignedField("threshold", p.Threshold)
		d.array("finalizers", len(p.Finalizers), func(i int) {
			d.object("", func() {
				f := &p.Finalizers[i]
				d.key("description")
				d.b = variant.AppendString(d.b, f.Description)
				d.rest = true
				d.unsignedField("weight", f.Weight)
				d.key("public_key")
				d.string(f.Key.String())
			})
		})
	})
}

func (d *document) proposers(name string, p *types.ProposerPolicy) {
	if p == nil {
		d.null(name)
		return
	}
	d.object(name, func() {
		d.textField("proposal_time", p.Proposed)
		d.schedule("proposer_schedule", &p.Schedule)
	})
}

// appendNumbered appends a pair of a block's number and a policy.
func (d *document) appendNumbered(name string, n *finality.Numbered) {
	d.array(name, 1, func(int) {
		d.appendUnsigned(uint64(n.Block))
		d.finalizers("", n.Policy)
	})
}

func (d *document) appendActivated(a *feature.Active) {
	if a == nil {
		d.null("activated_protocol_features")
		return
	}
	d.object("activated_protocol_features", func() { d.digests("protocol_features", a.Digests()) })
}
