package pebble

import (
	"testing"

	"github.com/cockroachdb/pebble/v2"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

// BenchmarkTuning puts options beside each other; docs/decisions/lsm-tuning.md
// has the outcome.
func BenchmarkTuning(b *testing.B) {
	for _, v := range []struct {
		name string
		tune func(*pebble.Options)
	}{
		{"chosen", func(*pebble.Options) {}},
		{"rows-in-blocks", func(o *pebble.Options) { o.Experimental.EnableColumnarBlocks = func() bool { return false } }},
		{"separate-values", func(o *pebble.Options) {
			o.Experimental.ValueSeparationPolicy = func() pebble.ValueSeparationPolicy {
				return pebble.ValueSeparationPolicy{Enabled: true, MinimumSize: 1 << 10, MaxBlobReferenceDepth: 10,
					TargetGarbageRatio: 0.3}
			}
		}},
		{"later-compactions", func(o *pebble.Options) { o.L0CompactionThreshold = 4 }},
		{"small-tables", func(o *pebble.Options) {
			for i := range o.TargetFileSizes {
				o.TargetFileSizes[i] = 2 << 20 << i
			}
		}},
		{"no-filter", func(o *pebble.Options) {
			for i := range o.Levels {
				o.Levels[i].FilterPolicy = pebble.NoFilterPolicy
			}
		}},
	} {
		b.Run(v.name, func(b *testing.B) {
			for _, w := range lsmtest.Workloads() {
				b.Run(w.Name, func(b *testing.B) {
					lsmtest.Tune(b, w, func(dir string) (lsm.Base, error) {
						folder, err := lsm.Enter(nil, dir, Kind, false)
						if err != nil {
							return nil, err
						}
						f := newFiles()
						options := Options{Dir: dir, CacheBytes: 64 << 20}.library(f)
						v.tune(options)
						return openLibrary(folder, f, options)
					})
				})
			}
		})
	}
}
