package badger

import (
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

// BenchmarkTuning puts options beside each other; docs/decisions/lsm-tuning.md
// has the outcome.
func BenchmarkTuning(b *testing.B) {
	for _, v := range []struct {
		name string
		tune func(*badger.Options)
	}{
		{"chosen", func(*badger.Options) {}},
		{"large-tables", func(o *badger.Options) { o.BaseTableSize, o.TableSizeMultiplier = 8<<20, 2 }},
		{"small-levels", func(o *badger.Options) { o.BaseTableSize, o.BaseLevelSize = 2<<20, 10<<20 }},
		{"no-compression", func(o *badger.Options) { o.Compression = options.None }},
		{"separate-values", func(o *badger.Options) { o.ValueThreshold = 1 << 10 }},
	} {
		b.Run(v.name, func(b *testing.B) {
			for _, w := range lsmtest.Workloads() {
				b.Run(w.Name, func(b *testing.B) {
					lsmtest.Tune(b, w, func(dir string) (lsm.Base, error) {
						folder, err := lsm.Enter(nil, dir, Kind, false)
						if err != nil {
							return nil, err
						}
						base := &Base{folder: folder, logger: &logger{}, snapshots: map[uint64]int{},
							before: sharedMetrics()}
						base.options = Options{Dir: dir, CacheBytes: 64 << 20}.library(folder.Path(), base.logger)
						v.tune(&base.options)
						return base, base.openLibrary(base.options)
					})
				})
			}
		})
	}
}
