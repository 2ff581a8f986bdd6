package badger_test

import (
	"testing"

	"tarn/store/lsm"
	"tarn/store/lsm/badger"
	"tarn/store/lsm/lsmtest"
)

var library = lsmtest.Library{
	Open: func(dir string, readOnly bool) (lsm.Base, error) {
		b, err := badger.Open(badger.Options{Dir: dir, CacheBytes: lsm.MinCache, ReadOnly: readOnly})
		if err != nil {
			return nil, err
		}
		return b, nil
	},
	RefusesDirtyReading: true,
}

func TestBase(t *testing.T) { library.Run(t) }
