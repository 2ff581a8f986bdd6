package engine

import (
	"fmt"

	"tarn/store"
	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/lsm/leveldb"
	"tarn/store/lsm/pebble"
)

func openLSM(dir string, k Kind, o Options) (store.Engine, error) {
	base, err := openBase(dir, k, o)
	if err != nil {
		return nil, err
	}
	e, err := lsm.Open(base, lsm.Options{
		CacheBytes:       o.CacheBytes,
		OverlayBytes:     o.OverlayBytes,
		BeforeCheckpoint: o.BeforeCheckpoint,
	})
	if err != nil {
		return nil, err // not a nil engine in an interface
	}
	return e, nil
}

func openBase(dir string, k Kind, o Options) (lsm.Base, error) {
	switch k {
	case LevelDB:
		return asBase(leveldb.Open(leveldb.Options{
			Dir: dir, CacheBytes: o.CacheBytes, ReadOnly: o.ReadOnly, SeekCompaction: o.SeekCompaction,
		}))
	case Pebble:
		return asBase(pebble.Open(pebble.Options{Dir: dir, CacheBytes: o.CacheBytes, ReadOnly: o.ReadOnly}))
	case Badger:
		return asBase(badger.Open(badger.Options{Dir: dir, CacheBytes: o.CacheBytes, ReadOnly: o.ReadOnly}))
	}
	return nil, fmt.Errorf("engine %q is none of the LSM libraries'", k)
}

// asBase puts no nil base into the interface.
func asBase[B lsm.Base](b B, err error) (lsm.Base, error) {
	if err != nil {
		return nil, err
	}
	return b, nil
}
