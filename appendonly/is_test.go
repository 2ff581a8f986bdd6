package appendonly

import (
	"math/rand/v2"
	"testing"

	"tarn/store/vfs/memfs"
)

func TestAFolderIsAHistoryIfItHasALogOrAnIndex(t *testing.T) {
	disk := memfs.New()
	l, err := OpenLog(smallLog(disk))
	check(t, err)
	x, err := OpenIndex(smallIndex(disk, l))
	check(t, err)
	for x.Stats().Runs == 0 {
		check(t, grow(t, rand.New(rand.NewPCG(1, 1)), l, x, 100))
	}
	check(t, x.Close())
	check(t, l.Close())
	for dir, want := range map[string]bool{l.o.Dir: true, x.o.Dir: true, "/": false, "/none": false} {
		if is, err := Is(disk, dir); is != want || err != nil {
			t.Errorf("%s: %v, %v", dir, is, err)
		}
	}
}
