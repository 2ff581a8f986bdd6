package lsm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/maphash"
	"math/bits"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/store"
)

// rowCache holds rows of the base, and keys that the base does not have, in
// memory that the garbage collector does not see. It speaks for one snapshot at a
// time, known by its sequence; readers of another one are turned away.
//
// A shard is a ring of entries, oldest first, and an open-addressed index into
// it. An entry that was used since it was written or last spared is spared once
// more when the ring comes round to it, by writing it again as the newest: the
// clock algorithm, without a pointer.
type rowCache struct {
	memory   []byte
	seed     maphash.Seed // only spreads rows; no result depends on it
	shards   [cacheShards]cacheShard
	sequence atomic.Uint64

	hits, misses atomic.Int64
}

const (
	cacheShards = 64
	entryHeader = 12 // hash u32, value length u32 (absentRow: no row), key length u16, used u8, 0
	entryAlign  = 8
	absentRow   = 1<<32 - 1

	// One index slot for so many bytes of ring, and at most 7 of 8 slots in use.
	// A power of two keeps the probing cheap.
	bytesPerSlot = 64
)

type cacheShard struct {
	mu    sync.Mutex
	ring  []byte
	index []uint64 // hash in the high half, (offset / entryAlign) + 1 in the low one
	shift int      // from a hash to its home slot

	head, tail int // offsets: where the next entry goes, where the oldest is
	wrap       int // end of the entries before the ring starts over; 0 if tail < head
	count      int
	_          [32]byte // keeps shards out of each other's cache lines
}

// newRowCache makes a cache of about size bytes, the index included.
func newRowCache(size int64) (*rowCache, error) {
	perShard := size / cacheShards
	slots := 1 << bits.Len(uint(perShard/(bytesPerSlot+8)))
	slots = max(slots/2, 16)
	ringSize := (perShard - int64(slots)*8) &^ (entryAlign - 1)
	total := cacheShards * (ringSize + int64(slots)*8)
	memory, err := unix.Mmap(-1, 0, int(total), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, &store.MemoryError{Path: "row cache", Asked: total, Detail: "mapping anonymous memory", Err: err}
	}
	c := &rowCache{memory: memory, seed: maphash.MakeSeed()}
	for i := range c.shards {
		s := &c.shards[i]
		index := memory[:slots*8]
		s.index = unsafe.Slice((*uint64)(unsafe.Pointer(&index[0])), slots)
		s.ring = memory[slots*8 : int64(slots*8)+ringSize]
		memory = memory[int64(slots*8)+ringSize:]
		s.shift = 32 - bits.Len(uint(slots-1))
	}
	return c, nil
}

// close gives the memory back. Nobody reads any more.
func (c *rowCache) close() error {
	if err := unix.Munmap(c.memory); err != nil {
		return fmt.Errorf("unmap the row cache: %w", err)
	}
	return nil
}

func (c *rowCache) shard(key []byte) (*cacheShard, uint32) {
	h := maphash.Bytes(c.seed, key)
	return &c.shards[h%cacheShards], uint32(h >> 32)
}

// get appends the value at a base key to dst. known is false if the cache does
// not know the row or does not speak for that sequence; then ask the base.
func (c *rowCache) get(dst, key []byte, sequence uint64) (value []byte, exists, known bool) {
	s, hash := c.shard(key)
	s.mu.Lock()
	if c.sequence.Load() != sequence {
		s.mu.Unlock()
		return dst, false, false
	}
	_, at, ok := s.find(key, hash)
	if !ok {
		s.mu.Unlock()
		c.misses.Add(1)
		return dst, false, false
	}
	e := s.ring[at:]
	e[10] = 1
	if size := binary.LittleEndian.Uint32(e[4:]); size != absentRow {
		exists = true
		v := e[entryHeader+len(key):]
		dst = append(dst, v[:size]...)
	}
	s.mu.Unlock()
	c.hits.Add(1)
	return dst, exists, true
}

// put remembers a row that was read at a snapshot, unless that is no longer the
// one that the cache speaks for.
func (c *rowCache) put(key, value []byte, exists bool, sequence uint64) {
	s, hash := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.sequence.Load() == sequence {
		s.put(key, value, exists, hash)
	}
}

// advance makes the cache speak for another snapshot. The rows that differ must
// be told with replace before anybody reads with that sequence.
func (c *rowCache) advance(sequence uint64) { c.sequence.Store(sequence) }

// replace tells a row of the snapshot that advance has announced.
func (c *rowCache) replace(key, value []byte, exists bool) {
	s, hash := c.shard(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put(key, value, exists, hash)
}

// find returns a key's slot and the offset of its entry.
func (s *cacheShard) find(key []byte, hash uint32) (slot, at int, ok bool) {
	mask := len(s.index) - 1
	for slot = int(hash >> s.shift); ; slot = (slot + 1) & mask {
		v := s.index[slot]
		if v == 0 {
			return slot, 0, false
		}
		if uint32(v>>32) != hash {
			continue
		}
		at = int(uint32(v)-1) * entryAlign
		e := s.ring[at:]
		if n := int(binary.LittleEndian.Uint16(e[8:])); n == len(key) &&
			bytes.Equal(e[entryHeader:entryHeader+n], key) {
			return slot, at, true
		}
	}
}

func (s *cacheShard) put(key, value []byte, exists bool, hash uint32) {
	if slot, at, ok := s.find(key, hash); ok {
		e := s.ring[at:]
		if exists && binary.LittleEndian.Uint32(e[4:]) == uint32(len(value)) {
			copy(e[entryHeader+len(key):], value)
			return
		}
		s.remove(slot)
	}
	if !exists {
		value = nil
	}
	size := entrySize(len(key), len(value))
	if size > len(s.ring)/8 {
		return // it would push out too much
	}
	for s.count >= len(s.index)/8*7 {
		s.evict()
	}
	at := s.place(size)
	e := s.ring[at:]
	binary.LittleEndian.PutUint32(e, hash)
	binary.LittleEndian.PutUint32(e[4:], uint32(len(value)))
	if !exists {
		binary.LittleEndian.PutUint32(e[4:], absentRow)
	}
	binary.LittleEndian.PutUint16(e[8:], uint16(len(key)))
	e[10], e[11] = 0, 0
	copy(e[entryHeader:], key)
	copy(e[entryHeader+len(key):], value)
	s.insert(hash, at)
}

func entrySize(key, value int) int {
	return (entryHeader + key + value + entryAlign - 1) &^ (entryAlign - 1)
}

// place makes room for size bytes at head and takes them.
func (s *cacheShard) place(size int) int {
	for {
		if s.wrap == 0 { // the entries lie in [tail, head)
			if s.head+size <= len(s.ring) {
				break
			}
			if s.head == s.tail { // empty
				s.head, s.tail = 0, 0
				continue
			}
			s.wrap, s.head = s.head, 0
		}
		if s.head+size < s.tail { // they lie in [tail, wrap) and [0, head)
			break
		}
		s.evict()
	}
	at := s.head
	s.head += size
	return at
}

// evict drops the oldest entry, or spares it once if it was used.
func (s *cacheShard) evict() {
	at := s.tail
	e := s.ring[at:]
	keySize := int(binary.LittleEndian.Uint16(e[8:]))
	valueSize := 0
	if n := binary.LittleEndian.Uint32(e[4:]); n != absentRow {
		valueSize = int(n)
	}
	size := entrySize(keySize, valueSize)
	s.tail += size
	if s.wrap != 0 && s.tail == s.wrap {
		s.tail, s.wrap = 0, 0
	}
	hash := binary.LittleEndian.Uint32(e)
	slot, ok := s.slotOf(hash, at)
	if !ok {
		return // replaced since
	}
	used := e[10] != 0
	s.remove(slot)
	if !used {
		return
	}
	// Its own room has just become free, so moving it needs no other's; the two
	// may overlap.
	if to, ok := s.fits(size); ok {
		copy(s.ring[to:to+size], s.ring[at:at+size])
		s.ring[to+10] = 0
		s.insert(hash, to)
	}
}

// fits takes size bytes at head if that needs no eviction.
func (s *cacheShard) fits(size int) (int, bool) {
	if s.wrap == 0 {
		if s.head+size > len(s.ring) {
			return 0, false
		}
	} else if s.head+size >= s.tail {
		return 0, false
	}
	at := s.head
	s.head += size
	return at, true
}

func (s *cacheShard) slotOf(hash uint32, at int) (int, bool) {
	want := uint64(hash)<<32 | uint64(at/entryAlign+1)
	mask := len(s.index) - 1
	for slot := int(hash >> s.shift); ; slot = (slot + 1) & mask {
		switch s.index[slot] {
		case want:
			return slot, true
		case 0:
			return 0, false
		}
	}
}

func (s *cacheShard) insert(hash uint32, at int) {
	mask := len(s.index) - 1
	slot := int(hash >> s.shift)
	for s.index[slot] != 0 {
		slot = (slot + 1) & mask
	}
	s.index[slot] = uint64(hash)<<32 | uint64(at/entryAlign+1)
	s.count++
}

// remove empties a slot and moves up those behind it that would be lost.
func (s *cacheShard) remove(slot int) {
	mask := len(s.index) - 1
	s.count--
	hole := slot
	for next := (slot + 1) & mask; s.index[next] != 0; next = (next + 1) & mask {
		home := int(uint32(s.index[next]>>32) >> s.shift)
		if (next-home)&mask >= (next-hole)&mask {
			s.index[hole] = s.index[next]
			hole = next
		}
	}
	s.index[hole] = 0
}
