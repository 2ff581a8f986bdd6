package pebble_test

import (
	"testing"

	"tarn/store/lsm"
	"tarn/store/lsm/lsmtest"
	"tarn/store/lsm/pebble"
)

var library = lsmtest.Library{
	Open: func(dir string, readOnly bool) (lsm.Base, error) {
		b, err := pebble.Open(pebble.Options{Dir: dir, CacheBytes: lsm.MinCache, ReadOnly: readOnly})
		if err != nil {
			return nil, err
		}
		return b, nil
	},
}

func TestBase(t *testing.T) { library.Run(t) }
