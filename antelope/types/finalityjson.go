package types

import "tarn/antelope/variant"

// AppendJSON appends a text.
func (k BLSPublicKey) AppendJSON(b []byte) []byte { return variant.AppendString(b, k.String()) }

// AppendJSON appends a text.
func (s BLSSignature) AppendJSON(b []byte) []byte { return variant.AppendString(b, s.String()) }

// AppendJSON appends an object.
func (f Finalizer) AppendJSON(b []byte) []byte {
	o := openObject(b)
	o = variant.AppendString(variant.AppendKey(o, "description"), f.Description)
	return o.uint("weight", f.Weight).json("public_key", f.Key).close()
}

// AppendJSON appends an object.
func (p FinalizerPolicy) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("generation", uint64(p.Generation)).uint("threshold", p.Threshold)
	return list(o, "finalizers", p.Finalizers).close()
}

// AppendJSON appends an object.
func (c QCClaim) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("block_num", uint64(c.Block))
	return jsonObject(variant.AppendBool(o.key("is_strong_qc"), c.Strong)).close()
}

// appendDiff appends the member of a diff: indexes that are removed, and pairs of an index and what is
// inserted there.
func appendDiff[T any](o jsonObject, name string, d *ListDiff[T], value func(b []byte, v *T) []byte) jsonObject {
	index := func(b []byte, i uint16) []byte { return variant.AppendUint64(b, uint64(i)) }
	o = append(variant.AppendKey(o, name), '{')
	o = variant.AppendList(variant.AppendKey(o, "remove_indexes"), d.Removed, func(b []byte, i *uint16) []byte {
		return index(b, *i)
	})
	o = variant.AppendList(variant.AppendKey(o, "insert_indexes"), d.Inserted, func(b []byte, e *Inserted[T]) []byte {
		return append(value(append(index(append(b, '['), e.Index), ','), &e.Value), ']')
	})
	return append(o, '}')
}

// AppendJSON appends an object.
func (d FinalizerPolicyDiff) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("generation", uint64(d.Generation)).uint("threshold", d.Threshold)
	return appendDiff(o, "finalizers_diff", &d.Finalizers,
		func(b []byte, f *Finalizer) []byte { return f.AppendJSON(b) }).close()
}

// AppendJSON appends an object.
func (d ProposerPolicyDiff) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("version", uint64(d.Version)).json("proposal_time", d.Proposed)
	return appendDiff(o, "producer_auth_diff", &d.Producers,
		func(b []byte, p *ProducerAuthority) []byte { return p.AppendJSON(b) }).close()
}

// AppendJSON appends an object; what the header does not propose is left out.
func (e FinalityExtension) AppendJSON(b []byte) []byte {
	o := openObject(b).json("qc_claim", e.Claim)
	if e.Finalizers != nil {
		o = o.json("new_finalizer_policy_diff", e.Finalizers)
	}
	if e.Proposers != nil {
		o = o.json("new_proposer_policy_diff", e.Proposers)
	}
	return o.close()
}

// AppendJSON appends an object; a row of votes is a text of 0 and 1, the last finalizer's vote first.
func (s QCSignature) AppendJSON(b []byte) []byte {
	o := openObject(b)
	for _, set := range [...]struct {
		name  string
		votes *Bitset
	}{{"strong_votes", s.Strong}, {"weak_votes", s.Weak}} {
		if set.votes != nil {
			o = variant.AppendText(variant.AppendKey(o, set.name), set.votes.AppendText)
		}
	}
	return o.json("sig", s.Signature).close()
}

// AppendJSON appends an object.
func (q QuorumCertificate) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("block_num", uint64(q.Block)).json("active_policy_sig", q.Active)
	if q.Pending != nil {
		o = o.json("pending_policy_sig", q.Pending)
	}
	return o.close()
}
