package node

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/chain"
	"tarn/opera/epoch"
)

// ours is the version of go-opera whose rules these are, as the driver contract counts
// them (go-opera, version): major, minor and patch, a million apart.
const ours = 1*1_000_000_000_000 + 1*1_000_000 + 3

// version is what the network demands of its nodes. The logs say it: nothing is kept.
type version struct{ demanded atomic.Uint64 }

// read takes what the driver contract said last.
func (v *version) read(c *chain.Chain) error {
	view, err := c.View()
	if err != nil {
		return err
	}
	defer view.Close()
	// What came before the chain's own blocks was for those who made them.
	q := chain.LogQuery{From: c.First(), To: math.MaxUint64, Addresses: []common.Address{epoch.Driver()},
		Topics: [][]common.Hash{{epoch.UpdateVersion()}}}
	err = view.Logs(context.Background(), q, func(l *types.Log) bool {
		v.hear(l)
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
		for _, l := range r.Logs {
			any = v.hear(l) || any
		}
	}
	return any
}

func (v *version) hear(l *types.Log) bool {
	if l.Address != epoch.Driver() || len(l.Topics) == 0 || l.Topics[0] != epoch.UpdateVersion() || len(l.Data) < 32 {
		return false
	}
	v.demanded.Store(binary.BigEndian.Uint64(l.Data[24:32]))
	return true
}

// unsupportedError is why no event can be connected any more: the network demands rules that
// this node does not know.
func (v *version) unsupportedError() error {
	n := v.demanded.Load()
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
