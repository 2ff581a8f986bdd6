package rpc

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/state"
)

// slowState is a state whose accounts and slots are each looked up as slowly as an old one's.
type slowState struct {
	noState
	asked int
}

func (s *slowState) Account(common.Hash) (*state.Account, error) {
	s.asked++
	time.Sleep(time.Millisecond)
	return &state.Account{Nonce: 1, Code: types.EmptyCodeHash}, nil
}

func (s *slowState) Slot(common.Hash, common.Hash) (common.Hash, error) {
	s.asked++
	time.Sleep(time.Millisecond)
	return common.Hash{}, nil
}

// What a call takes accounts to be ends with the call's time, however many they are.
func TestOverridesEndWithTheTimeOfTheCall(t *testing.T) {
	const many = 10_000
	accounts, slots := StateOverride{}, map[common.Hash]common.Hash{}
	nonce := new(hexutil.Uint64)
	for i := range many {
		accounts[common.BytesToAddress([]byte{byte(i), byte(i >> 8), 1})] = OverrideAccount{Nonce: nonce}
		slots[common.BytesToHash([]byte{byte(i), byte(i >> 8), 1})] = common.Hash{1}
	}
	for _, o := range []StateOverride{accounts, {{1}: {StateDiff: &slots}}} {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		source := &slowState{}
		err := o.apply(ctx, state.NewBlock(source))
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) || source.asked > 100 || source.asked == 0 {
			t.Errorf("%d are looked up: %v", source.asked, err)
		}
	}
}
