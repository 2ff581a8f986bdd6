package page

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/store"
)

// TestGrowthLeavesOtherMemoryAlone: a mapping at a fixed place that the kernel
// refuses (here: reserved huge pages where there are none) must not open a hole
// in the reservation, into which somebody else's memory falls and is then
// overwritten.
func TestGrowthLeavesOtherMemoryAlone(t *testing.T) {
	var stop atomic.Bool
	lost := make(chan int)
	go func() {
		n := 0
		for !stop.Load() {
			p, err := unix.MmapPtr(-1, 0, nil, hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
			if err != nil {
				break
			}
			word := (*uint64)(unsafe.Add(p, hugePage/2))
			*word = 42
			for range 20 {
				if atomic.LoadUint64(word) != 42 {
					n++
					break
				}
			}
			unix.MunmapPtr(p, hugePage) //nolint:errcheck // mapped above
		}
		lost <- n
	}()
	for range 3000 {
		m, err := newMemory("test", Heap, false, nil, 8*hugePage)
		if err != nil {
			t.Fatal(err)
		}
		for size := int64(hugePage); size <= 8*hugePage; size += hugePage {
			if err := m.grow(size, true); err != nil {
				t.Fatal(err)
			}
		}
		if err := m.close(); err != nil {
			t.Fatal(err)
		}
	}
	stop.Store(true)
	if n := <-lost; n > 0 {
		t.Errorf("%d mappings of others were overwritten", n)
	}
}

// TestMemoryStaysInsideItsReservation: whatever the limit and wherever the kernel
// puts the reservation, the file's size rounded up to a huge page fits.
func TestMemoryStaysInsideItsReservation(t *testing.T) {
	for _, limit := range []int64{1 << 20, 5 << 20, 5<<20 + pageSize, 2 << 20, 3<<20 - pageSize} {
		m, err := newMemory("test", Heap, false, nil, limit)
		if err != nil {
			t.Fatal(err)
		}
		rounded := (limit + hugePage - 1) &^ (hugePage - 1)
		if err := m.grow(rounded, true); err != nil {
			t.Errorf("limit %d: %v", limit, err)
		}
		if end := uintptr(m.base) + uintptr(m.mapped); end > uintptr(m.area)+m.areaSize {
			t.Errorf("limit %d: mapped %d bytes past the reservation", limit, end-uintptr(m.area)-m.areaSize)
		}
		if m.grow(rounded+1, true) == nil {
			t.Errorf("limit %d: mapped more than the reservation", limit)
		}
		if err := m.close(); err != nil {
			t.Error(err)
		}
	}
}

// TestAStoreThatDoesNotFitIsNotFilled: a control group's kernel would kill for it.
func TestAStoreThatDoesNotFitIsNotFilled(t *testing.T) {
	const tooMuch = 1 << 60
	for mode, refused := range map[Mode]bool{Mapped: false, MappedPrivate: false, Heap: true, Locked: true} {
		err := (&memory{path: "state.tarn", mode: mode}).checkBound(tooMuch)
		if errors.Is(err, store.ErrMemory) != refused ||
			refused && !strings.Contains(err.Error(), "mode "+mode.String()) {
			t.Errorf("%s: %v", mode, err)
		}
		if err := (&memory{mode: mode}).checkBound(1 << 20); err != nil {
			t.Errorf("%s: a small one: %v", mode, err)
		}
	}
}
