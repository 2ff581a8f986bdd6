package finality

import (
	"testing"

	"tarn/internal/plantedfault"
)

// TestPlantedFaultsAreCaught builds this package with each planted fault and demands that its tests
// notice it, and that none fails without.
func TestPlantedFaultsAreCaught(t *testing.T) {
	plantedfault.Test(t, []plantedfault.Fault{
		{"a lock is forgotten", "safety.go", "case s.Core.ClaimTime() <= f.Lock.Time && !s.Core.Extends(f.Lock.ID):", "case false:"},
		{"a vote after one for another branch is strong", "safety.go", "d, f.OtherBranch = WeakVote, f.Last.Time", "f.OtherBranch = f.Last.Time"},
		{"weak votes make a strong certificate", "aggregate.go", "isStrong && v.strong.weight >= v.policy.Threshold", "isStrong && quorum"},
		{"a finalizer votes twice at a time", "safety.go", "s.Time() <= f.Last.Time", "s.Time() < f.Last.Time"},
		{"policies' generations are hashed", "core.go", "return c.append(b, false)", "return c.append(b, true)"},
		{"a diff is another than the protocol's", "diff.go", "case t+1 < len(to) && equal(from[s], to[t+1]):", "case false:"},
		{"the pending finalizers have no say", "certificate.go", "case p.Pending == nil:\n", "case p.Pending == nil, true:\n"},
		{"a quorum is half", "certificate.go", "strong < p.Threshold:", "strong < p.Threshold/2:"},
		{"one good vote makes the others good", "aggregate.go", "len(votes) > 1 && crypto.BLSVerifyAll(signed[i:i+1], m)", "len(votes) > 1"},
		{"a weak certificate makes blocks final", "core.go", "if !claim.Strong {", "if false {"},
	}, "-timeout=120s", "-network.count=40")
}
