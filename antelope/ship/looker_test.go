package ship

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/httpserver"
)

// Few ids are read in files at once, whoever lists how many; what is in memory needs no turn, and for who has gone
// nothing is read.
func TestPositionsAreLookedUpInTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const few, lists, each = 2, 10, 20
		var reading, most, reads atomic.Int64
		release := make(chan struct{})
		turns := httpserver.NewTurns(few, 1, lists)
		of := func(ctx context.Context) *looker {
			return &looker{ctx: ctx, turns: turns,
				memory: func(num uint32) (id types.Checksum256, ok bool) { return id, num == 0 },
				files: func(uint32) (id types.Checksum256, ok bool) {
					reads.Add(1)
					most.Store(max(most.Load(), reading.Add(1)))
					<-release
					reading.Add(-1)
					return id, true
				}}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for range lists {
			all.Go(func() {
				l := of(ctx)
				for num := range uint32(each) {
					l.has(wire.Position{Num: 1 + num})
				}
			})
		}
		synctest.Wait()
		if got := most.Load(); got != few {
			t.Errorf("%d ids are read at once, not %d", got, few)
		}
		if _, ok := of(ctx).position(0); !ok {
			t.Error("what is in memory waits")
		}
		cancel()
		synctest.Wait()
		close(release)
		all.Wait()
		if got := reads.Load(); got != few {
			t.Errorf("%d ids are read for clients that are gone", got-few)
		}
	})
}
