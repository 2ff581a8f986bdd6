package appendonly

import (
	"bytes"
)

// Ascend calls each for the keys from one up to another, that one excluded, in the order of
// their bytes, and those of one key by their entries, until it returns false. A key and a
// value are valid during the call. What is in memory is sorted for every call: who walks in
// steps keeps MemoryBytes small.
func (x *Index) Ascend(from, to []byte, each func(key []byte, number uint64, value []byte) bool) error {
	return x.suspect(x.ascend(from, to, each))
}

func (x *Index) ascend(from, to []byte, each func(key []byte, number uint64, value []byte) bool) error {
	heads, kept, err := x.heads(from)
	defer func() {
		for _, h := range heads {
			h.stop()
		}
	}()
	if err != nil {
		return err
	}
	last := kept.sorted(func(p *posting) bool {
		return bytes.Compare(p.key, from) >= 0 && bytes.Compare(p.key, to) < 0
	})
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
		if len(last) != 0 {
			if p := kept.at(last[0]); first == nil || bytes.Compare(p.key, first.at.key) < 0 {
				if !each(p.key, p.number, p.value) {
					return nil
				}
				last = last[1:]
				continue
			}
		}
		if first == nil || !each(first.at.key, first.at.number, first.at.value) {
			return nil
		}
		if !first.next() && first.err != nil {
			return first.err
		}
	}
}

// heads begins a walk of each run at a key, and returns what memory has.
func (x *Index) heads(from []byte) (heads []*merging, kept postings, err error) {
	x.mu.RLock()
	defer x.mu.RUnlock()
	for _, r := range x.runs {
		h := x.walk(r, r.seek(from, 0))
		heads = append(heads, h)
		for h.next() && bytes.Compare(h.at.key, from) < 0 {
		}
		if h.err != nil {
			return heads, kept, h.err
		}
	}
	return heads, x.memory.kept.snapshot(), nil
}
