package node

import (
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"tarn/nodeupkeep"
)

const (
	// diskEvery is how often the node looks how full its disk is.
	diskEvery = time.Second
	// diskSaid is how often it warns that there is little room (go-opera: half a minute).
	diskSaid = 30 * time.Second
	// scarce is below how many free bytes of the disk nothing is begun that would have to be
	// written: no client's transaction is taken, and no event made. What is written of blocks that
	// come from others has that room yet.
	scarce = 16 << 20
	// reserved is how much is set aside for the state at the end.
	reserved = 64 << 20
)

// errDiskFull is what clients hear, who need not know the server's folders.
var errDiskFull = errors.New("the disk of this node is full: it takes no transactions until there is room again")

// freeRoom is how many bytes of the disk are free.
func (n *Node) freeRoom() (uint64, error) { return nodeupkeep.Free(n.dir()) }

// room returns an error while the disk has no room for what is begun here. Any goroutine may call it.
func (n *Node) room() error {
	// Where that cannot be known, writing will tell.
	if left, err := n.free(); err == nil && left < scarce {
		return errDiskFull
	}
	return nil
}

// reserve is room for the state that is saved at the end. Where the node ends while there is a lot of
// room, that is not needed.
func (n *Node) reserve() nodeupkeep.Reserve {
	return nodeupkeep.Reserve{Path: filepath.Join(n.dir(), "reserve"), Bytes: reserved}
}

func (n *Node) setAside() {
	if n.o.MinFree >= 2*reserved {
		return
	}
	if err := n.reserve().Take(); err != nil {
		n.o.Log.Warn("Could not reserve disk space for the last checkpoint", "err", err)
	}
}

// giveBack gives the reserve back to a disk that is nearly full. It comes before all that writes at the
// end.
func (n *Node) giveBack() error {
	if left, err := n.free(); err != nil || left >= 2*reserved {
		return nil
	}
	return n.reserve().Give()
}

// watchDisk ends the node before its disk is full, warns from twice the least space on, and says
// while there is no room at all.
func (n *Node) watchDisk() {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	w := diskWatch{Node: n}
	for {
		w.look(time.Now())
		select {
		case <-tick.C:
		case <-n.ended.Done():
			return
		}
	}
}

// diskWatch is what was said of the disk.
type diskWatch struct {
	*Node
	warned time.Time
	full   bool
}

func (w *diskWatch) look(now time.Time) {
	left, err := w.free()
	due := now.Sub(w.warned) >= diskSaid
	switch {
	case err != nil && due:
		w.warned = now
		w.o.Log.Warn("Failed to get free disk space", "err", err)
	case err != nil:
	case left < w.o.MinFree:
		w.stop(fmt.Errorf("low disk space: %d MB are free on the disk of %s, less than the %d of --datadir.minfreedisk",
			left>>20, w.o.Dir, w.o.MinFree>>20))
	case left < scarce != w.full:
		w.full = !w.full
		if w.full {
			w.o.Log.Error("The disk is full: no transactions are taken, and no events made, until there is room",
				"available", fmt.Sprintf("%d MB", left>>20), "path", w.o.Dir)
			return
		}
		w.o.Log.Info("The disk has room again", "available", fmt.Sprintf("%d MB", left>>20), "path", w.o.Dir)
		w.setAside()
	case left < 2*w.o.MinFree && due:
		w.warned = now
		w.o.Log.Warn("Disk space is running low. The node will stop if disk space runs below the critical level",
			"available", fmt.Sprintf("%d MB", left>>20), "critical", fmt.Sprintf("%d MB", w.o.MinFree>>20),
			"path", w.o.Dir)
	}
}
