package finality

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// AppendData appends what indexers get of a block, in packed form (Spring: finality_data_t). actions
// is the root of what the block did.
func (s *State) AppendData(b []byte, actions types.Checksum256) []byte {
	var claimed Ref
	claim := s.Core.Claim()
	if !s.Core.IsGenesis() {
		claimed = *s.Core.Ref(claim.Block)
	}
	b = serial.AppendUint32(serial.AppendUint32(b, majorVersion), minorVersion)
	b = actions.Append(serial.AppendUint32(b, s.Finalizers.Generation))
	b = serial.AppendUint32(s.Core.Reversible().Append(b), claim.Block)
	b = s.Base().Append(claimed.Time.Append(claimed.Finality.Append(b)))
	b = appendOptional(b, s.newlyPending(), AppendPolicyText)
	return serial.AppendUint32(b, s.lastPending().Generation)
}

// newlyPending are the finalizers that this block made pending, or made active at once as it is the
// genesis block; nil for none.
func (s *State) newlyPending() *types.FinalizerPolicy {
	switch {
	case s.Core.IsGenesis():
		return s.Finalizers
	case s.Pending != nil && s.Pending.Block == s.Num():
		return s.Pending.Policy
	}
	return nil
}

// AppendPolicyText appends a policy with its keys as texts, as indexers get it (Spring:
// finalizer_policy_with_string_key).
func AppendPolicyText(p *types.FinalizerPolicy, b []byte) []byte {
	b = serial.AppendUint64(serial.AppendUint32(b, p.Generation), p.Threshold)
	b = serial.AppendCount(b, len(p.Finalizers))
	for i := range p.Finalizers {
		f := &p.Finalizers[i]
		b = serial.AppendString(serial.AppendUint64(serial.AppendString(b, f.Description), f.Weight), f.Key.String())
	}
	return b
}
