package chain

import (
	"slices"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/blocklog"
	"tarn/opera/inter"
)

// name is by which hash a transaction of an event is told.
type name struct {
	place int // among the event's
	hash  common.Hash
}

// renamed are the two transactions of Fantom's main network that its nodes tell by other hashes
// than their own: before an update they had been stored with these (go-opera,
// gossip/store_migration.go). No root, receipt or record has the hash in it. A block that came
// as a record does not know its events, and so tells the transaction's own.
var renamed = map[inter.EventID]name{
	inter.EventID(common.HexToHash("0x00001718000003d4d3955bf592e12fb80a60574fa4b18bd5805b4c010d75e86d")): {
		2, common.HexToHash("0xb6840d4c0eb562b0b1731760223d91b36edc6c160958e23e773e6058eea30458"),
	},
	inter.EventID(common.HexToHash("0x0000179e00000c464d756a7614d0ca067fcb37ee4452004bf308c9df561e85e8")): {
		0, common.HexToHash("0x3aeede91740093cb8feb1296a34cf70d86d2f802cff860edd798978e94a40534"),
	},
}

// TxHash returns by which hash an executed transaction is told.
func (b *Block) TxHash(index int) common.Hash {
	if hash, ok := b.names[index]; ok {
		return hash
	}
	return b.Txs[index].Hash()
}

// TxHash returns by which hash a transaction of an event is told.
func TxHash(p *inter.Payload, index int) common.Hash {
	if n, ok := renamed[p.ID()]; ok && n.place == index {
		return n.hash
	}
	return p.Txs[index].Hash()
}

// renameAll notes which transactions of the block's events have another name. Txs must be there.
func (b *Block) renameAll(events []*inter.Payload) {
	for _, p := range events {
		n, ok := renamed[p.ID()]
		if !ok || n.place >= len(p.Txs) {
			continue
		}
		if i := slices.Index(b.Txs, p.Txs[n.place]); i >= 0 {
			if b.names == nil {
				b.names = map[int]common.Hash{}
			}
			b.names[i] = n.hash
		}
	}
}

// renameReceipts writes the other names into receipts that have everything in them.
func (b *Block) renameReceipts() {
	for i, hash := range b.names {
		b.Receipts[i].TxHash = hash
		for _, l := range b.Receipts[i].Logs {
			l.TxHash = hash
		}
	}
}

// lookupKeys is by what the log finds the transactions of a block.
func (b *Block) lookupKeys() []byte {
	key := make([]byte, 0, blocklog.HashBytes*len(b.Txs))
	for i := range b.Txs {
		hash := b.TxHash(i)
		key = append(key, hash[:blocklog.HashBytes]...)
	}
	return key
}
