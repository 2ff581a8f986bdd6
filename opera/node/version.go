package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// ours is the version of go-opera whose rules these are, as the driver contract counts
// them (go-opera, version): major, minor and patch, a million apart.
const ours = 1*1_000_000_000_000 + 1*1_000_000 + 3

// version is what the network demands of its nodes. The logs say it: nothing is kept. What the newest block
// says counts, whether it was made here or came as a record; what a genesis brought does not.
type version struct {
	demanded atomic.Uint64
	said     inter.BlockNumber // the block that said it last; the writer's
}

// read takes what the driver contract said last.
func (v *version) read(c *chain.Chain) error {
	view, err := c.View()
	if err != nil {
		return err
	}
	defer view.Close()
	q := chain.LogQuery{From: c.AfterGenesis(), To: math.MaxUint64, Addresses: []common.Address{epoch.Driver()},
		Topics: [][]common.Hash{{epoch.UpdateVersion()}}}
	err = view.Logs(context.Background(), q, func(l *types.Log) bool {
		v.hear(inter.BlockNumber(l.BlockNumber), l)
		return true
	})
	if err != nil {
		return fmt.Errorf("look for the version that the network demands: %w", err)
	}
	return nil
}

// noteBlock tells whether a block demands a version.
func (v *version) noteBlock(b *chain.Block) (any bool) {
	for _, r := range b.Receipts {
		any = v.hear(b.Number, r.Logs...) || any
	}
	return any
}

// noteRecord tells whether a block that came as a record demands a version.
func (v *version) noteRecord(b *inter.BlockRecord) (any bool) {
	for _, r := range b.Block.Receipts {
		any = v.hear(b.Number, r.Logs...) || any
	}
	return any
}

func (v *version) hear(block inter.BlockNumber, logs ...*types.Log) (any bool) {
	for _, l := range logs {
		if block < v.said || l.Address != epoch.Driver() || len(l.Topics) == 0 ||
			l.Topics[0] != epoch.UpdateVersion() || len(l.Data) < 32 {
			continue
		}
		v.said, any = block, true
		v.demanded.Store(binary.BigEndian.Uint64(l.Data[24:32]))
	}
	return any
}

// unsupportedError is why no event can be connected any more: the network demands rules that
// this node does not know.
func (v *version) unsupportedError() error { return unsupportedError(v.demanded.Load()) }

// warn says it if no event can be connected any more.
func (v *version) warn(log *slog.Logger) {
	if err := v.unsupportedError(); err != nil {
		log.Warn(err.Error())
	}
}

func unsupportedError(n uint64) error {
	if n <= ours {
		return nil
	}
	return fmt.Errorf(
		"Network upgrade %s was activated. Current node version is %s. Please upgrade your node to continue syncing.",
		versionText(n), versionText(ours))
}

func versionText(n uint64) string {
	return fmt.Sprintf("%d.%d.%d", n/1_000_000_000_000%1_000_000, n/1_000_000%1_000_000, n%1_000_000)
}
