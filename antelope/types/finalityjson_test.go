package types_test

import (
	"testing"

	"tarn/antelope/types"
)

func TestFinalityIsShownAsSpringShowsIt(t *testing.T) {
	key, signature := types.BLSPublicKey{}.String(), types.BLSSignature{}.String()
	votes := types.NewBitset(10, 0, 9)
	finalizer := types.Finalizer{Description: `a "b"`, Weight: 5}
	extension := types.FinalityExtension{
		Claim: types.QCClaim{Block: 7, Strong: true},
		Finalizers: &types.FinalizerPolicyDiff{Generation: 2, Threshold: 3, Finalizers: types.ListDiff[types.Finalizer]{
			Removed: []uint16{1}, Inserted: []types.Inserted[types.Finalizer]{{Index: 1, Value: finalizer}},
		}},
		Proposers: &types.ProposerPolicyDiff{Version: 4, Proposed: 2},
	}
	for _, c := range []struct {
		value interface{ AppendJSON([]byte) []byte }
		want  string
	}{
		{types.FinalityExtension{}, `{"qc_claim":{"block_num":0,"is_strong_qc":false}}`},
		{extension,
			`{"qc_claim":{"block_num":7,"is_strong_qc":true},"new_finalizer_policy_diff":{"generation":2,` +
				`"threshold":3,"finalizers_diff":` +
				`{"remove_indexes":[1],"insert_indexes":[[1,{"description":"a \"b\"","weight":5,"public_key":"` +
				key + `"}]]}},` +
				`"new_proposer_policy_diff":{"version":4,"proposal_time":"2000-01-01T00:00:01.000",` +
				`"producer_auth_diff":{"remove_indexes":[],"insert_indexes":[]}}}`},
		{types.QuorumCertificate{Block: 7, Active: types.QCSignature{Strong: votes},
			Pending: &types.QCSignature{Weak: votes}},
			`{"block_num":7,"active_policy_sig":{"strong_votes":"1000000001","sig":"` + signature + `"},` +
				`"pending_policy_sig":{"weak_votes":"1000000001","sig":"` + signature + `"}}`},
		{types.FinalizerPolicy{Generation: 1, Threshold: 1 << 40, Finalizers: []types.Finalizer{{}}},
			`{"generation":1,"threshold":"1099511627776","finalizers":[{"description":"","weight":0,"public_key":"` +
				key + `"}]}`},
	} {
		if got := string(c.value.AppendJSON(nil)); got != c.want {
			t.Errorf("%s\nwant\n%s", got, c.want)
		}
	}
}
