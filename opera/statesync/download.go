package statesync

import (
	"context"
	"math"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
)

const (
	// slotAccounts is how many accounts are asked for the slots of which at once: most have few.
	slotAccounts = 512
	// codeHashes is how many codes are asked for at once. go-opera's have 24 KiB at most.
	codeHashes = 64
	// rememberedCodes bounds the codes that are known to have been brought. Others are brought
	// again: many accounts have one code.
	rememberedCodes = 1 << 18
)

// download is a state on its way.
type download struct {
	*Syncer
	root common.Hash
	to   Target

	mu    sync.Mutex
	known map[common.Hash]struct{} // codes that were brought
}

// part brings the accounts whose hashes begin with a byte, with all that they have.
func (d *download) part(ctx context.Context, first byte) error {
	from, to := common.Hash{first}, common.Hash{first}
	for i := 1; i < len(to); i++ {
		to[i] = 0xff
	}
	for {
		p, err := d.accounts(ctx, from, to)
		if err != nil {
			return err
		}
		if err := d.slots(ctx, p.accounts); err != nil {
			return err
		}
		if err := d.codes(ctx, p.accounts); err != nil {
			return err
		}
		brought := &Part{Accounts: make([]Account, len(p.accounts))}
		for i := range p.accounts {
			brought.Accounts[i] = p.accounts[i].Account
		}
		if err := d.to.Bring(ctx, brought); err != nil {
			return err
		}
		d.at.accounts.Add(uint64(len(p.accounts)))
		d.at.bytes.Add(p.bytes)
		if p.last {
			d.at.done[first].Store(math.MaxUint32 + 1)
			return nil
		}
		from = p.next
		d.at.done[first].Store(uint64(from[1])<<24 | uint64(from[2])<<16 | uint64(from[3])<<8 | uint64(from[4]))
	}
}

// accounts asks for accounts of a part from a hash on.
func (d *download) accounts(ctx context.Context, from, to common.Hash) (p *page, err error) {
	err = d.ask(ctx, func(ctx context.Context, peer Peer) (uint64, error) {
		a, err := peer.Accounts(ctx, d.root, from, to, d.o.Bytes)
		if err == nil {
			p, err = checkAccounts(d.root, from, to, a, d.o.Bytes)
		}
		if err != nil {
			return 0, err
		}
		return p.bytes, nil
	})
	return p, err
}

// slots brings all slots of accounts.
func (d *download) slots(ctx context.Context, of []held) error {
	var left []held
	for _, a := range of {
		if a.root != types.EmptyRootHash {
			left = append(left, a)
		}
	}
	var from common.Hash
	for len(left) > 0 {
		batch := left[:min(len(left), slotAccounts)]
		if from != (common.Hash{}) {
			batch = left[:1]
		}
		got, err := d.someSlots(ctx, batch, from)
		if err != nil {
			return err
		}
		for i := range got {
			if err := d.to.Bring(ctx, &Part{Of: left[0].Hash, Slots: got[i].slots}); err != nil {
				return err
			}
			d.at.slots.Add(uint64(len(got[i].slots)))
			if got[i].more {
				last := got[i].slots[len(got[i].slots)-1].Hash
				from = after(last[:])
				break
			}
			left, from = left[1:], common.Hash{}
		}
	}
	return nil
}

// someSlots asks for slots of accounts, of the first one from a hash on.
func (d *download) someSlots(ctx context.Context, of []held, from common.Hash) (got []storage, err error) {
	hashes := make([]common.Hash, len(of))
	for i := range of {
		hashes[i] = of[i].Hash
	}
	err = d.ask(ctx, func(ctx context.Context, peer Peer) (bytes uint64, err error) {
		s, err := peer.Slots(ctx, d.root, hashes, from, d.o.Bytes)
		if err != nil {
			return 0, err
		}
		if got, bytes, err = checkSlots(of, from, s, d.o.Bytes); err == nil {
			d.at.bytes.Add(bytes)
		}
		return bytes, err
	})
	return got, err
}

// codes brings the codes of accounts that were not brought yet.
func (d *download) codes(ctx context.Context, of []held) error {
	wanted := d.unknown(of)
	for len(wanted) > 0 {
		batch := wanted[:min(len(wanted), codeHashes)]
		var codes [][]byte
		var lacking []common.Hash
		err := d.ask(ctx, func(ctx context.Context, peer Peer) (bytes uint64, err error) {
			if codes, err = peer.Codes(ctx, batch, d.o.Bytes); err == nil {
				lacking, err = checkCodes(batch, codes, d.o.Bytes)
			}
			return sizeOf(codes), err
		})
		if err == nil {
			err = d.to.Bring(ctx, &Part{Codes: codes})
		}
		if err != nil {
			return err
		}
		d.at.codes.Add(uint64(len(codes)))
		d.at.bytes.Add(sizeOf(codes))
		d.remember(batch, lacking)
		wanted = append(lacking, wanted[len(batch):]...)
	}
	return nil
}

// unknown are the codes of accounts that are not known to have been brought.
func (d *download) unknown(of []held) (wanted []common.Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	twice := map[common.Hash]bool{types.EmptyCodeHash: true}
	for i := range of {
		h := of[i].Code
		if _, known := d.known[h]; !known && !twice[h] {
			twice[h] = true
			wanted = append(wanted, h)
		}
	}
	return wanted
}

// remember notes codes that were brought: those of a batch that do not lack.
func (d *download) remember(batch, lacking []common.Hash) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.known) >= rememberedCodes {
		clear(d.known)
	}
	for _, h := range batch {
		d.known[h] = struct{}{}
	}
	for _, h := range lacking {
		delete(d.known, h)
	}
}
