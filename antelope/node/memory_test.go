package node

import (
	"strings"
	"testing"

	"tarn/antelope/producer"
	"tarn/internal/hostlimits"
	"tarn/store/engine"
)

// TestSharesLeaveRoom adds up what a node may take, in containers and machines of all
// sizes.
func TestSharesLeaveRoom(t *testing.T) {
	for _, total := range []int64{256 << 20, 512 << 20, 1500 << 20, 4 << 30, 32 << 30, 1 << 40} {
		m := share(hostlimits.Memory{Bytes: total})
		// Keys and waiting transactions are in Go's heap.
		if sum := m.Heap + m.Private + m.modules + m.instances; sum > total/8*7 {
			t.Errorf("of %d bytes the node takes %d", total, sum)
		}
		if m.keys+m.queue >= m.Heap {
			t.Errorf("of %d bytes Go's heap gets %d, keys %d and waiting transactions %d",
				total, m.Heap, m.keys, m.queue)
		}
		if m.State >= total {
			t.Errorf("of %d bytes a state in memory gets %d", total, m.State)
		}
	}
	if large := share(hostlimits.Memory{Bytes: 32 << 30}); large.keys != 156<<20 || large.rows != 192<<20 ||
		large.modules != 256<<20 || large.queue != 1<<30 {
		t.Errorf("a large machine is bounded: %+v", large)
	}
	if unknown := share(hostlimits.Memory{}); unknown.Private < 1<<30 || unknown.keys != 156<<20 {
		t.Errorf("memory that nobody knows is bounded: %+v", unknown)
	}
}

// TestSharesAreForWhatWasNotGiven holds bounds against options.
func TestSharesAreForWhatWasNotGiven(t *testing.T) {
	container := hostlimits.Memory{Bytes: 1 << 30, Limit: "/sys/fs/cgroup/memory.max"}
	modes := engine.Modes()
	for name, c := range map[string]struct {
		engine        engine.Options
		given         string
		private, most int64
		queue         uint64
		said          string
	}{
		"nothing": {engine: engine.Options{Kind: engine.Page, LimitBytes: 8 << 30}, private: 512 << 20,
			most: 8 << 30, queue: 128 << 20, said: "1024 MiB as /sys/fs/cgroup/memory.max says"},
		"private memory": {engine: engine.Options{Kind: engine.Page, LimitBytes: 8 << 30, PrivateBytes: 7 << 20},
			private: 7 << 20, most: 8 << 30, queue: 128 << 20},
		"a queue": {engine: engine.Options{Kind: engine.Page, LimitBytes: 8 << 30},
			given: "incoming-transaction-queue-size-mb", private: 512 << 20, most: 8 << 30, queue: 1 << 30},
		"heap": {engine: engine.Options{Kind: engine.Page, Mode: modes[2], LimitBytes: 8 << 30},
			private: 512 << 20, most: 640 << 20, queue: 128 << 20, said: "The state may grow to 640 MiB"},
		"locked, small": {engine: engine.Options{Kind: engine.Page, Mode: modes[3], LimitBytes: 100 << 20},
			private: 512 << 20, most: 100 << 20, queue: 128 << 20},
		"pebble": {engine: engine.Options{Kind: engine.Pebble, LimitBytes: 8 << 30}, most: 8 << 30, queue: 128 << 20,
			said: "Go's heap 512"},
	} {
		m, o, p := share(container), Options{Engine: c.engine}, producer.Options{QueueBytes: 1 << 30}
		said := strings.Join(m.bound(&o, &p, func(option string) bool { return option == c.given }), "\n")
		if o.Engine.PrivateBytes != c.private || o.Engine.LimitBytes != c.most || p.QueueBytes != c.queue {
			t.Errorf("%s: %d private, %d at the most, %d waiting",
				name, o.Engine.PrivateBytes, o.Engine.LimitBytes, p.QueueBytes)
		}
		if !strings.Contains(said, c.said) {
			t.Errorf("%s: said %q, not %q", name, said, c.said)
		}
		if o.Chain.CacheBytes != 64<<20 || o.Chain.InstanceBytes != 32<<20 || o.Chain.KeyBytes != 32<<20 ||
			o.Chain.RowBytes != 64<<20 {
			t.Errorf("%s: %d of contracts, %d of instances, %d of keys, %d of rows",
				name, o.Chain.CacheBytes, o.Chain.InstanceBytes, o.Chain.KeyBytes, o.Chain.RowBytes)
		}
	}
}

// TestASnapshotLargerThanAnOverlayIsLoaded loads several times what an LSM engine keeps
// in memory, and starts again from what was saved.
func TestASnapshotLargerThanAnOverlayIsLoaded(t *testing.T) {
	c := theChain(t)
	for _, kind := range []engine.Kind{engine.LevelDB, engine.Pebble, engine.Badger} {
		o := options(t.TempDir(), engine.Options{Kind: kind, OverlayBytes: 512 << 10, CacheBytes: 8 << 20})
		o.Snapshot = c.mid
		var hashes []string
		for range 2 {
			n, err := Open(t.Context(), o)
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if err := n.Start(t.Context()); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			h, err := n.IntegrityHash()
			if err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			if err := n.Close(); err != nil {
				t.Fatalf("%s: %v", kind, err)
			}
			hashes, o.Snapshot = append(hashes, h.String()), ""
		}
		if hashes[0] != hashes[1] {
			t.Errorf("%s: %s was loaded, %s is there after a start", kind, hashes[0], hashes[1])
		}
	}
}
