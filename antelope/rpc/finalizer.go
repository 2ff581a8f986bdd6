package rpc

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// getFinalizerInfo tells the finalizers of the head, and how each voted last (Spring:
// read_only::get_finalizer_info).
func (q chain) getFinalizerInfo(b []byte) ([]byte, error) {
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	var policies [2]*types.FinalizerPolicy // the active and the pending one; nil for none
	if head.PrecedesProper() {
		copy(policies[:], head.Finality.Policies())
	}
	o := appendPolicy(append(b, '{'), "active_finalizer_policy", policies[0])
	o = appendPolicy(o, "pending_finalizer_policy", policies[1])
	votes := q.lastVotes(policies[:]...)
	o = variant.AppendList(variant.AppendKey(o, "last_tracked_votes"), votes, appendLastVote)
	return append(o, '}'), nil
}

func appendPolicy(o object, key string, p *types.FinalizerPolicy) object {
	if p == nil {
		return append(variant.AppendKey(o, key), "null"...)
	}
	return o.json(key, p)
}

// lastVotes are the newest votes of the finalizers of policies, by what the finalizers are called.
func (q chain) lastVotes(policies ...*types.FinalizerPolicy) []finality.LastVote {
	found := map[types.BLSPublicKey]finality.LastVote{}
	for _, p := range policies {
		for i := 0; p != nil && i < len(p.Finalizers); i++ {
			if v, ok := q.api.LastVote(p.Finalizers[i].Key); ok {
				found[v.Key] = v
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(x, y finality.LastVote) int {
		return cmp.Or(strings.Compare(x.Description, y.Description), slices.Compare(x.Key[:], y.Key[:]))
	})
}

func appendLastVote(b []byte, v *finality.LastVote) []byte {
	o := object(append(b, '{')).text("description", v.Description).text("public_key", v.Key.String())
	o = o.boolean("is_vote_strong", v.Strong).uint("finalizer_policy_generation", uint64(v.Generation))
	o = o.json("voted_for_block_id", v.Block).uint("voted_for_block_num", uint64(types.BlockNum(v.Block)))
	return append(o.json("voted_for_block_timestamp", v.Time.TimePoint()), '}')
}
