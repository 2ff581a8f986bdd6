package epoch

import (
	"slices"
	"testing"

	"tarn/opera/inter"
)

// past has the blocks 1 to 9 of epoch 2, and that epoch.
type past struct{}

func (past) BlockEpoch(n inter.BlockNumber) inter.Epoch {
	if n == 0 {
		return 0
	}
	return 2
}
func (past) BlockHash(n inter.BlockNumber) ([32]byte, bool) { return [32]byte{byte(n)}, n < 10 }
func (past) EpochHash(e inter.Epoch) ([32]byte, bool)       { return [32]byte{byte(e)}, e == 2 }

func locator(creator inter.ValidatorID) inter.SignedLocator {
	return inter.SignedLocator{Locator: inter.Locator{Creator: creator}}
}

func TestProofsConvict(t *testing.T) {
	votes := func(creator inter.ValidatorID, epoch inter.Epoch, vote byte) inter.SignedBlockVotes {
		return inter.SignedBlockVotes{Signed: locator(creator),
			Val: inter.BlockVotes{Start: 8, Epoch: epoch, Votes: [][32]byte{{8}, {vote}, {10}}}}
	}
	wrongBlock := func(n inter.BlockNumber, wrongEpoch bool, epoch inter.Epoch, vote byte) inter.MisbehaviourProof {
		return inter.MisbehaviourProof{WrongBlockVote: &inter.WrongBlockVote{
			Block: n, WrongEpoch: wrongEpoch,
			Pals: [2]inter.SignedBlockVotes{votes(5, epoch, vote), votes(3, epoch, vote)},
		}}
	}
	wrongEpoch := func(epoch inter.Epoch, vote byte) inter.MisbehaviourProof {
		one := func(creator inter.ValidatorID) inter.SignedEpochVote {
			return inter.SignedEpochVote{Signed: locator(creator),
				Val: inter.EpochVote{Epoch: epoch, Vote: [32]byte{vote}}}
		}
		return inter.MisbehaviourProof{
			WrongEpochVote: &inter.WrongEpochVote{Pals: [2]inter.SignedEpochVote{one(5), one(3)}}}
	}
	for _, c := range []struct {
		what  string
		proof inter.MisbehaviourProof
		want  []inter.ValidatorID
	}{
		{"two events",
			inter.MisbehaviourProof{
				EventsDoublesign: &inter.EventsDoublesign{Pair: [2]inter.SignedLocator{locator(7), locator(7)}}},
			[]inter.ValidatorID{7}},
		{"two block votes",
			inter.MisbehaviourProof{
				BlockVoteDoublesign: &inter.BlockVoteDoublesign{
					Pair: [2]inter.SignedBlockVotes{votes(7, 2, 9), votes(7, 2, 8)}}}, []inter.ValidatorID{7}},
		{"two epoch votes",
			inter.MisbehaviourProof{
				EpochVoteDoublesign: &inter.EpochVoteDoublesign{Pair: [2]inter.SignedEpochVote{{Signed: locator(7)}}}},
			[]inter.ValidatorID{7}},
		{"another block", wrongBlock(9, false, 2, 77), []inter.ValidatorID{5, 3}},
		{"the very block", wrongBlock(9, false, 2, 9), nil},
		{"a block that nobody knows", wrongBlock(10, false, 2, 9), nil},
		{"a block of another epoch", wrongBlock(9, true, 3, 9), []inter.ValidatorID{5, 3}},
		{"a block of its epoch, with another vote", wrongBlock(9, true, 2, 77), nil},
		{"a block of no epoch", wrongBlock(0, true, 3, 9), nil},
		{"another epoch", wrongEpoch(2, 77), []inter.ValidatorID{5, 3}},
		{"the very epoch", wrongEpoch(2, 2), nil},
		{"an epoch that nobody knows", wrongEpoch(3, 77), nil},
		{"nothing", inter.MisbehaviourProof{}, nil},
	} {
		if got := Convicted(&c.proof, past{}); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.what, got, c.want)
		}
	}
}
