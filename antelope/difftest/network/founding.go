package network

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/difftest"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts"
)

var eosio = types.N("eosio")

// push sends a transaction of actions, which the key of all accounts signs, to a member.
func (q *Quorum) push(ctx context.Context, to *Member, actions ...types.Action) error {
	i, err := to.Info(ctx)
	if err != nil {
		return err
	}
	ref, err := types.ParseChecksum256(i.LIBID)
	if err != nil {
		return err
	}
	t := &types.Transaction{Actions: actions}
	t.Expiration = types.TimePointSec(time.Now().Add(2 * time.Minute).Unix())
	t.SetRefBlock(ref)
	t.MaxNetUsageWords = 10_000_000 + q.nonce.Add(1) // no two are the same
	s, err := q.Key.Sign(t.SigningDigest(q.Genesis.ChainID(), nil))
	if err != nil {
		return err
	}
	p, err := types.Pack(t, []types.Signature{s}, nil, types.CompressionNone)
	if err != nil {
		return err
	}
	_, err = to.Push(ctx, p)
	return err
}

// Push sends a transaction of actions to a member. It may be called by any goroutine.
func (q *Quorum) Push(ctx context.Context, to *Member, actions ...types.Action) error {
	if err := q.push(ctx, to, actions...); err != nil {
		return fmt.Errorf("a transaction to %s: %w", to.Name, err)
	}
	return nil
}

// deploy puts a contract on an account, and its ABI.
func deploy(account types.Name, c contracts.Contract) ([]types.Action, error) {
	def, err := abi.Parse(c.ABI)
	if err != nil {
		return nil, err
	}
	return []types.Action{chaintest.SetCode(account, c.Code), chaintest.SetABI(account, def.Append(nil))}, nil
}

// system is an action of eosio, after the contract that has it was put there.
func (q *Quorum) system(ctx context.Context, contract string, name string, data []byte) error {
	list := []types.Action{chaintest.Action(eosio, types.N(name), eosio, data)}
	if contract != q.runs {
		c := map[string]contracts.Contract{"boot": contracts.Boot(), "bios": contracts.Bios(),
			"finalizers": contracts.Finalizers()}[contract]
		before, err := deploy(eosio, c)
		if err != nil {
			return err
		}
		list = append(before, list...)
	}
	if err := q.Push(ctx, q.members[0], list...); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if contract == q.runs {
		return nil
	}
	q.runs = contract
	return q.blocks(ctx, 3) // whoever produces has it in a block
}

// Found activates all protocol features and makes accounts for the producers.
func (q *Quorum) Found(ctx context.Context) error {
	first := q.members[0]
	features, err := first.Features(ctx)
	if err != nil {
		return err
	}
	slices.SortStableFunc(features, func(a, b difftest.Feature) int { return len(a.Dependencies) - len(b.Dependencies) })
	const preactivate = "PREACTIVATE_FEATURE"
	for _, f := range features {
		if f.Name() == preactivate {
			if err := first.ScheduleActivation(ctx, f.Digest); err != nil {
				return err
			}
		}
	}
	if err := q.blocks(ctx, 2); err != nil {
		return err
	}
	for _, f := range features {
		digest, err := types.ParseChecksum256(f.Digest)
		if err == nil && f.Name() != preactivate {
			err = q.system(ctx, "boot", "activate", digest[:])
		}
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name(), err)
		}
	}
	if err := q.blocks(ctx, 2); err != nil {
		return err
	}
	for _, m := range q.members {
		if err := q.Push(ctx, first, q.NewAccount(m.Producer())); err != nil {
			return err
		}
	}
	return nil
}

// NewAccount makes an account of the key.
func (q *Quorum) NewAccount(name types.Name) types.Action {
	all := types.KeyAuthority(q.Key.Public())
	a := types.NewAccount{Creator: eosio, Name: name, Owner: all, Active: all}
	return chaintest.Action(eosio, types.N("newaccount"), eosio, a.Append(nil))
}

// blocks waits until the first member has so many more.
func (q *Quorum) blocks(ctx context.Context, count uint32) error {
	i, err := q.members[0].Info(ctx)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, agreeTime)
	defer cancel()
	return q.members[0].AwaitHead(ctx, i.HeadNum+count, false)
}

// Schedule proposes producers.
func (q *Quorum) Schedule(ctx context.Context, members ...*Member) error {
	list := serial.AppendCount(nil, len(members))
	for _, m := range members {
		p := types.ProducerAuthority{Producer: m.Producer()}
		p.Authority = types.BlockSigningAuthority{Threshold: 1,
			Keys: []types.KeyWeight{{Key: q.Key.Public(), Weight: 1}}}
		list = p.Append(list)
	}
	return q.system(ctx, "bios", "setprods", list)
}

// Finalizers proposes who finalizes, of whom so many must vote. The first call begins the change to Savanna's
// rules.
func (q *Quorum) Finalizers(ctx context.Context, threshold int, list ...types.Finalizer) error {
	return q.system(ctx, "finalizers", "setfinalizer", policy(threshold, list))
}

// policy is one of finalizers, as contracts take it.
func policy(threshold int, list []types.Finalizer) []byte {
	data := serial.AppendCount(serial.AppendUint64(nil, uint64(threshold)), len(list))
	for _, f := range list {
		data = f.Append(data)
	}
	return data
}

// Changed waits until the chain has changed to Savanna's rules on all members, and tells the first
// irreversible block that is seen after that.
func (q *Quorum) Changed(ctx context.Context, atMost time.Duration) (num uint32, err error) {
	for _, m := range q.members {
		err := await(ctx, "proper block on "+m.Name, atMost, func() (bool, error) {
			i, err := m.Info(ctx)
			if err != nil {
				return false, err
			}
			var b struct {
				Version uint32 `json:"schedule_version"`
			}
			err = m.Call(ctx, "/v1/chain/get_block", map[string]any{"block_num_or_id": i.LIBID}, &b)
			num = i.Irreversible
			return b.Version == 1<<31, err
		})
		if err != nil {
			return 0, err
		}
	}
	if num == 0 {
		return 0, errors.New("a quorum without members")
	}
	return num, nil
}
