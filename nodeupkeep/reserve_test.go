package nodeupkeep

import (
	"os"
	"path/filepath"
	"testing"
)

// A reserve has its blocks on a disk with room, is taken once, and is given back; where there is not
// plenty of room there is none.
func TestAReserveTakesRoomWhereThereIsPlenty(t *testing.T) {
	r := Reserve{Path: filepath.Join(t.TempDir(), "reserve"), Bytes: 1 << 20}
	for range 2 {
		if err := r.Take(); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := os.Stat(r.Path); err != nil || info.Size() != r.Bytes {
		t.Errorf("%+v, %v", info, err)
	}
	for range 2 {
		if err := r.Give(); err != nil {
			t.Fatal(err)
		}
	}
	r.Bytes = 1 << 60
	if err := r.Take(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(r.Path); !os.IsNotExist(err) {
		t.Errorf("a reserve of a full disk: %v", err)
	}
}
