package difftest

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"tarn/antelope/types"
)

// Driver sends transactions to a chain and keeps account of them. It is for one
// goroutine.
type Driver struct {
	*Node  // nil if no nodeos lives in real time
	ground ground
	Rand   *rand.Rand
	Seed   uint64
	Peer   *Peer

	ctx     context.Context
	chain   types.Checksum256
	keys    map[types.Name]Signer
	count   uint32
	pushes  *json.Encoder
	ok, bad int
	done    map[string]int // actions of transactions that were accepted, by account::name
	refused map[string]int // transactions that were not, by the name of the error
	prepare func() error   // what a workload adds to the chain before it works
	Say     io.Writer
}

// Tx is a transaction to be sent. The zero values are what most have.
type Tx struct {
	Actions         []types.Action
	ContextFree     []types.Action
	ContextFreeData [][]byte
	Delay           uint32        // seconds
	Expire          time.Duration // from now; 0 for some minutes
	Keys            []Signer      // who signs; nil for the keys of the authorising accounts
	Compression     types.Compression
	Edit            func(*types.Transaction) // last changes before it is signed
	Billed          uint32                   // CPU time in microseconds, where it can be chosen; 0 for any
}

// Key returns the key of an account, made on first use.
func (d *Driver) Key(account types.Name) Signer {
	k, ok := d.keys[account]
	if !ok {
		k = NewKey(d.Seed, account.String())
		d.keys[account] = k
	}
	return k
}

// Context ends when the recording has to.
func (d *Driver) Context() context.Context { return d.ctx }

// signers are the keys of all who authorise.
func (d *Driver) signers(actions []types.Action) []Signer {
	var keys []Signer
	seen := map[types.PublicKey]bool{}
	for _, a := range actions {
		for _, p := range a.Authorization {
			k := d.Key(p.Actor)
			if pub := k.Public(); !seen[pub] {
				seen[pub] = true
				keys = append(keys, k)
			}
		}
	}
	return keys
}

// Pack makes the signed, packed transaction of t.
func (d *Driver) Pack(t Tx) (*types.PackedTransaction, *types.Transaction, error) {
	ref, err := d.ground.reference(d.ctx)
	if err != nil {
		return nil, nil, err
	}
	d.count++
	expire := t.Expire
	if expire == 0 {
		// Its own second, so that no two transactions are the same.
		expire = 10*time.Minute + time.Duration(d.count%2400)*time.Second
	}
	trx := &types.Transaction{
		TransactionHeader: types.TransactionHeader{
			Expiration: types.TimePointSec(d.ground.chainTime().Add(expire).Unix()),
			DelaySec:   t.Delay,
		},
		ContextFreeActions: t.ContextFree,
		Actions:            t.Actions,
	}
	trx.SetRefBlock(ref)
	if t.Edit != nil {
		t.Edit(trx)
	}
	keys := t.Keys
	if keys == nil {
		keys = d.signers(t.Actions)
	}
	digest := trx.SigningDigest(d.chain, t.ContextFreeData)
	var signatures []types.Signature
	for _, k := range keys {
		s, err := k.Sign(digest)
		if err != nil {
			return nil, nil, err
		}
		signatures = append(signatures, s)
	}
	p, err := types.Pack(trx, signatures, t.ContextFreeData, t.Compression)
	return p, trx, err
}

// push is a line of the file that says what was sent and what became of it.
type push struct {
	N      int             `json:"n"`
	ID     string          `json:"id"`
	Code   int64           `json:"code,omitempty"`
	Name   string          `json:"name,omitempty"`
	What   string          `json:"what,omitempty"`
	Packed string          `json:"packed"`
	Trace  json.RawMessage `json:"trace,omitempty"`
}

// Send sends t and returns the trace's JSON. A *Refusal is one more thing that the
// node decided; other errors are troubles.
func (d *Driver) Send(t Tx) (json.RawMessage, error) {
	p, trx, err := d.Pack(t)
	if err != nil {
		return nil, err
	}
	return d.push(p, trx, t.Billed)
}

// push sends a packed transaction and notes what became of it.
func (d *Driver) push(p *types.PackedTransaction, trx *types.Transaction, billed uint32) (json.RawMessage, error) {
	trace, err := d.ground.push(d.ctx, p, billed)
	var refused *Refusal
	line := push{N: d.ok + d.bad, ID: trx.ID().String(), Packed: hex.EncodeToString(p.Append(nil)), Trace: trace}
	if errors.As(err, &refused) {
		d.bad++
		d.refused[refused.Name]++
		line.Code, line.Name, line.What = refused.Code, refused.Name, refused.Message
	} else if err == nil {
		d.ok++
		for _, a := range trx.Actions {
			d.done[a.Account.String()+"::"+a.Name.String()]++
		}
	}
	if werr := d.pushes.Encode(line); werr != nil {
		return nil, werr
	}
	return trace, err
}

// Must sends actions that have to succeed. If the block is full they go into the
// next one.
func (d *Driver) Must(actions ...types.Action) error {
	t := Tx{Actions: actions, Billed: 200}
	_, err := d.Send(t)
	if blockIsFull(err) {
		if err := d.Blocks(1); err != nil {
			return err
		}
		_, err = d.Send(t)
	}
	if err != nil {
		a := actions[0]
		return fmt.Errorf("%s::%s: %w", a.Account, a.Name, err)
	}
	return nil
}

// blockIsFull tells whether a refusal means that the block has no room.
func blockIsFull(err error) bool {
	var r *Refusal
	return errors.As(err, &r) && (r.Name == "block_cpu_usage_exceeded" || r.Name == "block_net_usage_exceeded")
}

// May sends what the node may refuse. The error is of another kind.
func (d *Driver) May(t Tx) error {
	_, err := d.Send(t)
	var refused *Refusal
	if errors.As(err, &refused) {
		return nil
	}
	return err
}

// Blocks waits for n more blocks.
func (d *Driver) Blocks(n uint32) error { return d.ground.blocks(d.ctx, n) }

// One tells whether a thing of one chance in n happens.
func (d *Driver) One(n int) bool { return d.Rand.IntN(n) == 0 }

// pick returns one of list.
func pick[T any](d *Driver, list []T) T { return list[d.Rand.IntN(len(list))] }
