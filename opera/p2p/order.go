package p2p

import (
	"container/list"

	"tarn/opera/inter"
)

// arrival is an event that came from a peer, decoded and verified.
type arrival struct {
	event *inter.Payload
	from  *peer
	size  int // what it counts for in Limits

	missing int           // parents that are not connected
	place   *list.Element // among those of its peer
}

// order is the events that wait for their parents. When it is full, the oldest of the peer
// with the most bytes in it goes: nobody's events are pushed out by another peer's flood.
// One goroutine owns it.
type order struct {
	events, bytes int // its bounds

	waiting  map[inter.EventID]*arrival
	children map[inter.EventID][]*arrival // by parents that are missing
	peers    map[*peer]*share
	size     int
}

// share is what a peer has in the order, the oldest first.
type share struct {
	list list.List
	size int
}

func newOrder(events, bytes int) *order {
	o := &order{events: events, bytes: bytes}
	o.reset()
	return o
}

func (o *order) reset() {
	o.waiting, o.children, o.peers, o.size = map[inter.EventID]*arrival{}, map[inter.EventID][]*arrival{},
		map[*peer]*share{}, 0
}

// has tells whether an event waits.
func (o *order) has(id inter.EventID) bool {
	_, ok := o.waiting[id]
	return ok
}

// lacks tells whether an event that waits lacks this one.
func (o *order) lacks(id inter.EventID) bool {
	_, ok := o.children[id]
	return ok
}

// add lets an event wait for parents, at least one, and returns what has to go for it,
// which may be the event itself.
func (o *order) add(a *arrival, parents []inter.EventID) (spilled []*arrival) {
	o.waiting[a.event.ID()], a.missing = a, len(parents)
	for _, p := range parents {
		o.children[p] = append(o.children[p], a)
	}
	s := o.peers[a.from]
	if s == nil {
		s = new(share)
		o.peers[a.from] = s
	}
	a.place = s.list.PushBack(a)
	s.size += a.size
	o.size += a.size
	for len(o.waiting) > o.events || o.size > o.bytes {
		old := o.largest().list.Front().Value.(*arrival)
		o.remove(old)
		spilled = append(spilled, old)
	}
	return spilled
}

// largest returns the share with the most bytes.
func (o *order) largest() (most *share) {
	for _, s := range o.peers {
		if most == nil || s.size > most.size {
			most = s
		}
	}
	return most
}

// remove takes an event out.
func (o *order) remove(a *arrival) {
	delete(o.waiting, a.event.ID())
	for _, p := range a.event.Parents {
		o.forget(p, a)
	}
	o.release(a)
}

// forget strikes an event off those that wait for a parent.
func (o *order) forget(parent inter.EventID, a *arrival) {
	children := o.children[parent]
	for i, c := range children {
		if c == a {
			children[i] = children[len(children)-1]
			children = children[:len(children)-1]
			break
		}
	}
	if len(children) == 0 {
		delete(o.children, parent)
	} else {
		o.children[parent] = children
	}
}

// release takes an event out of its peer's share.
func (o *order) release(a *arrival) {
	s := o.peers[a.from]
	s.list.Remove(a.place)
	s.size -= a.size
	o.size -= a.size
	if s.list.Len() == 0 {
		delete(o.peers, a.from)
	}
}

// noteConnected tells that an event is, and returns those that waited for nothing else.
func (o *order) noteConnected(id inter.EventID) (ready []*arrival) {
	for _, a := range o.children[id] {
		if a.missing--; a.missing == 0 {
			delete(o.waiting, a.event.ID())
			o.release(a)
			ready = append(ready, a)
		}
	}
	delete(o.children, id)
	return ready
}

// clear takes out all, in no order.
func (o *order) clear() []*arrival {
	all := make([]*arrival, 0, len(o.waiting))
	for _, a := range o.waiting {
		all = append(all, a)
	}
	o.reset()
	return all
}
