package node

import (
	"fmt"
	"time"

	"tarn/node"
)

// diskEvery is how often the node looks how full its disk is (go-opera: every half minute).
const diskEvery = 30 * time.Second

// watchDisk ends the node before its disk is full, and warns from twice the least space on.
func (n *Node) watchDisk() {
	tick := time.NewTicker(diskEvery)
	defer tick.Stop()
	for {
		left, err := node.Free(n.dir())
		switch {
		case err != nil:
			n.o.Log.Warn("Failed to get free disk space", "err", err)
		case left < n.o.MinFree:
			n.stop(fmt.Errorf("low disk space: %d MB are free on the disk of %s, less than the %d of --datadir.minfreedisk", left>>20, n.o.Dir, n.o.MinFree>>20))
		case left < 2*n.o.MinFree:
			n.o.Log.Warn("Disk space is running low. The node will stop if disk space runs below the critical level",
				"available", fmt.Sprintf("%d MB", left>>20), "critical", fmt.Sprintf("%d MB", n.o.MinFree>>20), "path", n.o.Dir)
		}
		select {
		case <-tick.C:
		case <-n.ended.Done():
			return
		}
	}
}
