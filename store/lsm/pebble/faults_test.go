package pebble

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs/errorfs"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
)

var errPlanted = errors.New("planted failure")

func TestAFailingDiskEndsTheWritingOnly(t *testing.T) {
	library := lsmtest.Library{Open: func(dir string, readOnly bool) (lsm.Base, error) {
		return Open(Options{Dir: dir, CacheBytes: lsm.MinCache, ReadOnly: readOnly})
	}}
	for name, c := range map[string]struct {
		file string // part of its name
		ops  []errorfs.OpKind
		rows int
	}{
		"log write":   {".log", []errorfs.OpKind{errorfs.OpFileWrite}, 10},
		"log sync":    {".log", []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}, 10},
		"list write":  {"MANIFEST", []errorfs.OpKind{errorfs.OpFileWrite}, 20_000},
		"list sync":   {"MANIFEST", []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}, 20_000},
		"table write": {"batch-", []errorfs.OpKind{errorfs.OpFileWrite}, 20_000},
		"table sync":  {"batch-", []errorfs.OpKind{errorfs.OpFileSync, errorfs.OpFileSyncData}, 20_000},
	} {
		t.Run(name, func(t *testing.T) {
			var active atomic.Bool
			injector := errorfs.InjectorFunc(func(op errorfs.Op) error {
				if !active.Load() || !strings.Contains(op.Path, c.file) {
					return nil
				}
				for _, k := range c.ops {
					if op.Kind == k {
						return errPlanted
					}
				}
				return nil
			})
			open := func(dir string) (lsm.Base, error) {
				folder, err := lsm.Enter(nil, dir, Kind, false)
				if err != nil {
					return nil, err
				}
				f := newFiles()
				f.FS = errorfs.Wrap(f.FS, injector)
				return openLibrary(folder, f, Options{CacheBytes: lsm.MinCache}.library(f))
			}
			lsmtest.Failing(t, library, open, func() { active.Store(true) }, func() { active.Store(false) }, c.rows)
		})
	}
}
