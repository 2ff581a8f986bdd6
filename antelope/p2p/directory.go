package p2p

import (
	"slices"
	"sync"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// directory is where producers can be reached, by records whose signatures were found good (Spring:
// gossip_bp_index_t). It never looks at signatures itself. Any goroutine may use it.
type directory struct {
	limits *Limits

	mu    sync.Mutex
	list  []listed // in the order of listed.compare
	bytes int      // of their encodings
}

// slots is how many blocks a time has room for.
func slots(d time.Duration) types.BlockTimestamp { return types.BlockTimestamp(d / blockInterval) }

// lasts tells whether a record's time is one that a node takes whose head is of that time.
func (p *Place) lasts(head types.BlockTimestamp) bool {
	return p.Expiration > head && p.Expiration < head+slots(recordLongest)
}

// size is what a record takes in a message.
func (e *listed) size() int { return len(e.Record.Append(nil)) }

// knows tells whether the very record is there.
func (d *directory) knows(e *listed) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, found := d.find(e)
	return found && d.list[i].same(e)
}

// find is the index of the record for the same place, or where it would be. The caller holds mu.
func (d *directory) find(e *listed) (int, bool) {
	return slices.BinarySearchFunc(d.list, e, func(a listed, b *listed) int { return a.compare(b) })
}

// put takes a record, and tells whether it is news. One for a place that is there must not end earlier. When a
// producer has enough of them, the one that ends first makes room. What does not fit into a message is not taken.
func (d *directory) put(e listed) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	i, found := d.find(&e)
	if found {
		old := &d.list[i]
		if old.Sig == e.Sig || e.Expiration < old.Expiration || !d.fits(e.size()-old.size()) {
			return false
		}
		d.bytes += e.size() - old.size()
		*old = e
		return true
	}
	if first, last := d.of(e.Producer); last-first >= perProducer {
		out := first
		for k := first; k < last; k++ {
			if d.list[k].Expiration < d.list[out].Expiration {
				out = k
			}
		}
		d.bytes -= d.list[out].size()
		d.list = slices.Delete(d.list, out, out+1)
		i, _ = d.find(&e)
	}
	if !d.fits(e.size()) {
		return false
	}
	d.bytes += e.size()
	d.list = slices.Insert(d.list, i, e)
	return true
}

// fits tells whether there is room for so many more bytes, the message's type and count included.
func (d *directory) fits(more int) bool { return d.bytes+more+1+4 <= d.limits.GossipBytes }

// of is the range of a producer's records. The caller holds mu.
func (d *directory) of(producer types.Name) (first, last int) {
	first, _ = d.find(&listed{Record: Record{Producer: producer}})
	for last = first; last < len(d.list) && d.list[last].Producer == producer; last++ {
	}
	return first, last
}

// has tells whether there is a record of a producer.
func (d *directory) has(producer types.Name) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	first, last := d.of(producer)
	return last > first
}

// servers are the addresses at which a producer can be reached.
func (d *directory) servers(producer types.Name) (list []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	first, last := d.of(producer)
	for _, e := range d.list[first:last] {
		list = append(list, e.Server)
	}
	return list
}

// allServers are the addresses of all producers.
func (d *directory) allServers() map[string]bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	set := make(map[string]bool, len(d.list))
	for i := range d.list {
		set[d.list[i].Server] = true
	}
	return set
}

// expire forgets records that have ended, and tells whether one of the own places has, or does soon.
func (d *directory) expire(head types.BlockTimestamp, own []reached) (soon bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = slices.DeleteFunc(d.list, func(e listed) bool {
		if e.Expiration <= head+slots(recordRenewal) &&
			slices.Contains(own, reached{e.Producer, e.Server, e.Outbound}) {
			soon = true
		}
		if e.Expiration > head {
			return false
		}
		d.bytes -= e.size()
		return true
	})
	return soon
}

// frame is all of it as one message, as it goes over the wire; nil if there is nothing.
func (d *directory) frame() []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.list) == 0 {
		return nil
	}
	b := serial.AppendCount(nil, len(d.list))
	for i := range d.list {
		b = d.list[i].Record.Append(b)
	}
	return appendRawFrame(nil, TypeGossip, b)
}

// peers is all of it as the API shows it.
func (d *directory) peers() []admintypes.GossipPeer {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]admintypes.GossipPeer, 0, len(d.list))
	for _, e := range d.list {
		list = append(list, admintypes.GossipPeer{
			Producer: e.Producer, Server: e.Server, Outbound: e.Outbound, Expiration: e.Expiration})
	}
	return list
}
