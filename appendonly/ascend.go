package appendonly

import (
	"bytes"
	"slices"
	"strings"
)

// Ascend calls each for the keys from one up to another, that one excluded, in the order of
// their bytes, and those of one key by their entries, until it returns false. A key and a
// value are valid during the call. What is in memory is sorted for every call: who walks in
// steps keeps MemoryBytes small.
func (x *Index) Ascend(from, to []byte, each func(key []byte, number uint64, value []byte) bool) error {
	return x.suspect(x.ascend(from, to, each))
}

func (x *Index) ascend(from, to []byte, each func(key []byte, number uint64, value []byte) bool) error {
	heads, last, err := x.heads(from, to)
	defer func() {
		for _, h := range heads {
			h.stop()
		}
	}()
	if err != nil {
		return err
	}
	for {
		var first *merging
		for _, h := range heads {
			if h.ok && (first == nil || bytes.Compare(h.at.key, first.at.key) < 0) {
				first = h // of equal keys the earlier run has the earlier entries
			}
		}
		if first != nil && bytes.Compare(first.at.key, to) >= 0 {
			first = nil
		}
		// What is in memory is of later entries than any run's.
		if len(last) != 0 && (first == nil || last[0].key < string(first.at.key)) {
			for _, p := range last[0].postings {
				if !each([]byte(last[0].key), p.number, []byte(p.value)) {
					return nil
				}
			}
			last = last[1:]
			continue
		}
		if first == nil || !each(first.at.key, first.at.number, first.at.value) {
			return nil
		}
		if !first.next() && first.err != nil {
			return first.err
		}
	}
}

// memoryKey is a key in memory with what it finds.
type memoryKey struct {
	key      string
	postings []memoryPosting
}

// heads begins a walk of each run at a key, and copies what memory has of the keys from
// there up to another, sorted.
func (x *Index) heads(from, to []byte) (heads []*merging, last []memoryKey, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, r := range x.runs {
		h := x.walk(r, r.seek(from, 0))
		heads = append(heads, h)
		for h.next() && bytes.Compare(h.at.key, from) < 0 {
		}
		if h.err != nil {
			return heads, nil, h.err
		}
	}
	for key, postings := range x.memory {
		if key >= string(from) && key < string(to) {
			last = append(last, memoryKey{key, slices.Clone(postings)})
		}
	}
	slices.SortFunc(last, func(a, b memoryKey) int { return strings.Compare(a.key, b.key) })
	return heads, last, nil
}
