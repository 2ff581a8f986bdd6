package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"sort"

	"github.com/Fantom-foundation/lachesis-base/hash"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"
)

// show answers what is known.
func (s *service) show(kind string, words []string) string {
	switch kind {
	case "state":
		l := s.store.GetLlrState()
		return fmt.Sprint(l.LowestBlockToDecide, " ", l.LowestEpochToDecide, " ", l.LowestBlockToFill,
			" ", l.LowestEpochToFill)
	case "block":
		return s.block(idx.Block(number(words[0])))
	case "epoch":
		r := s.store.GetFullEpochRecord(idx.Epoch(number(words[0])))
		if r == nil {
			return "-"
		}
		return fmt.Sprintf("%x", r.Hash().Bytes())
	case "decided":
		var result *hash.Hash
		if n := number(words[1]); words[0] == "block" {
			result = s.store.GetLlrBlockResult(idx.Block(n))
		} else {
			result = s.store.GetLlrEpochResult(idx.Epoch(n))
		}
		if result == nil {
			return "-"
		}
		return fmt.Sprintf("%x", result.Bytes())
	case "last":
		id := idx.ValidatorID(number(words[0]))
		return fmt.Sprint(s.store.GetLastBVs().Val[id], " ", s.store.GetLastEVs().Val[id])
	case "votes":
		n, h := 0, sha256.New()
		s.store.IterateOverlappingBlockVotesRLP(nil, func(key []byte, votes rlp.RawValue) bool {
			n++
			h.Write(key)
			h.Write(votes)
			return true
		})
		return fmt.Sprintf("%d %x", n, h.Sum(nil))
	case "logs":
		return s.logs(common.HexToAddress(words[0]), number(words[1]), number(words[2]))
	}
	panic("no such line: " + kind)
}

func (s *service) block(n idx.Block) string {
	r := s.store.GetFullBlockRecord(n)
	if r == nil {
		return "-"
	}
	receipts, err := rlp.EncodeToBytes(r.Receipts)
	must(err)
	text := fmt.Sprintf("%x %x", r.Hash().Bytes(), sha256.Sum256(receipts))
	if at := s.store.GetBlockIndex(r.Atropos); at != nil {
		text += fmt.Sprint(" ", *at)
	}
	for _, tx := range r.Txs {
		if at := s.store.EvmStore().GetTxPosition(tx.Hash()); at != nil {
			text += fmt.Sprint(" ", at.Block, ":", at.BlockOffset)
		}
	}
	return text
}

func (s *service) logs(address common.Address, from, to uint64) (text string) {
	found, err := s.store.EvmStore().EvmLogs.FindInBlocks(context.Background(), idx.Block(from), idx.Block(to),
		[][]common.Hash{{address.Hash()}})
	must(err)
	// It finds them in the order of transactions' hashes, and its RPC sorts them.
	sort.Slice(found, func(i, j int) bool {
		a, b := found[i], found[j]
		return a.BlockNumber < b.BlockNumber || a.BlockNumber == b.BlockNumber && a.Index < b.Index
	})
	for _, l := range found {
		text += fmt.Sprint(l.BlockNumber, ":", l.Index, " ")
	}
	return text + "end"
}
