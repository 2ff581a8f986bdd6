package leveldb

import (
	"testing"

	"github.com/syndtr/goleveldb/leveldb/opt"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

// BenchmarkTuning puts options beside each other; docs/decisions/lsm-tuning.md
// has the outcome.
func BenchmarkTuning(b *testing.B) {
	for _, v := range []struct {
		name string
		tune func(*opt.Options)
	}{
		{"chosen", func(*opt.Options) {}},
		{"large-tables", func(o *opt.Options) { o.CompactionTableSize, o.CompactionTotalSize = 8<<20, 64<<20 }},
		{"large-level", func(o *opt.Options) { o.CompactionTotalSize = 40 << 20 }},
		{"large-blocks", func(o *opt.Options) { o.BlockSize = 8 << 10 }},
		{"seek-compaction", func(o *opt.Options) { o.DisableSeeksCompaction = false }},
		{"no-filter", func(o *opt.Options) { o.Filter = nil }},
		{"no-compression", func(o *opt.Options) { o.Compression = opt.NoCompression }},
	} {
		b.Run(v.name, func(b *testing.B) {
			for _, w := range lsmtest.Workloads() {
				b.Run(w.Name, func(b *testing.B) {
					lsmtest.Tune(b, w, func(dir string) (lsm.Base, error) {
						folder, err := lsm.Enter(nil, dir, Kind, false)
						if err != nil {
							return nil, err
						}
						options := Options{Dir: dir, CacheBytes: 64 << 20}.library()
						v.tune(options)
						return openLibrary(folder, options, false)
					})
				})
			}
		})
	}
}
