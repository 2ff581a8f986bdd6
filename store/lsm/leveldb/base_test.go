package leveldb_test

import (
	"testing"

	"tarn/store/lsm"
	"tarn/store/lsm/leveldb"
	"tarn/store/lsm/lsmtest"
)

var library = lsmtest.Library{
	Open: func(dir string, readOnly bool) (lsm.Base, error) {
		b, err := leveldb.Open(leveldb.Options{Dir: dir, CacheBytes: lsm.MinCache, ReadOnly: readOnly})
		if err != nil {
			return nil, err
		}
		return b, nil
	},
}

func TestBase(t *testing.T) { library.Run(t) }
