package appendonly

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
)

// mostTries is how many runs one Settle makes again for merges: a disk that damages each new one
// ends that.
const mostTries = 64

// suspect notes which run an error is about, if it says that one is damaged.
func (x *Index) suspect(err error) error {
	r := x.partOf(err)
	if r == nil {
		return err
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.hurt == nil {
		x.hurt = map[*run]error{}
	}
	x.hurt[r] = err
	return err
}

// mend makes the runs again that were found damaged.
func (x *Index) mend() error {
	x.mu.Lock()
	hurt, runs := x.hurt, x.runs // some may have been merged away since
	x.hurt = nil
	x.mu.Unlock()
	for _, r := range runs {
		cause, is := hurt[r]
		if !is {
			continue
		}
		if err := x.remake(r, cause); err != nil {
			return err
		}
	}
	return nil
}

// takeRun takes the file of a run. One that is gone is damage.
func (x *Index) takeRun(r *run) (*handle, error) {
	h, err := x.files.Take(r.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = corrupt(r.path, 0, "missing")
	}
	return h, err
}

// partOf returns the run whose damage an error is, nil if it is another error.
func (x *Index) partOf(err error) *run {
	var damage *CorruptError
	if !errors.As(err, &damage) {
		return nil
	}
	x.mu.RLock()
	defer x.mu.RUnlock()
	i := slices.IndexFunc(x.runs, func(r *run) bool { return r.path == damage.Path })
	if i < 0 {
		return nil
	}
	return x.runs[i]
}

// remake puts runs that are made from the log in the place of one that is damaged. Readers see it until
// then, and get its damage as an error rather than less than there is.
func (x *Index) remake(r *run, cause error) error {
	x.o.Notice(fmt.Errorf("%w. The entries from %d to %d are read from the log again, for new runs in its place",
		cause, r.from, r.to))
	parts, next, err := x.fromLog(r)
	for _, p := range parts {
		if err == nil {
			err = x.files.Use(p.path, p.open)
		}
	}
	if err != nil {
		for _, p := range parts {
			err = errors.Join(err, x.files.Forget(p.path), x.o.FS.Remove(p.path))
		}
		return fmt.Errorf("make run %s again: %w", r.path, err)
	}
	written := int64(0)
	for _, p := range parts {
		written += p.size
	}
	x.mu.RLock()
	runs := slices.Clone(x.runs)
	x.mu.RUnlock()
	i := slices.Index(runs, r)
	return x.settleList(slices.Replace(runs, i, i+1, parts...), []*run{r}, next, written, nil)
}

// fromLog writes runs of the entries of one, each of no more than memory may have, and returns them and
// the sequence after theirs.
func (x *Index) fromLog(r *run) (parts []*run, next uint64, err error) {
	next = x.next
	from, m, bytes := r.from, newMemory(), int64(0)
	var buf []byte
	for number := max(r.from, x.o.Log.First()); number < r.to; number++ {
		if buf, err = x.o.Log.Read(number, buf[:0]); err != nil {
			return parts, next, err
		}
		n, err := m.gather(number, func(emit func(key, value []byte)) error {
			return x.o.Keys(number, buf, emit)
		})
		if err != nil {
			return parts, next, fmt.Errorf("entry %d: %w", number, err)
		}
		if bytes += n; bytes < x.o.MemoryBytes && number+1 < r.to {
			continue
		}
		part := &run{sequence: next, level: r.level, from: from, to: number + 1, path: runPath(x.o.Dir, next)}
		if err := x.writeMemory(part, m.kept); err != nil {
			return parts, next, err
		}
		parts, next = append(parts, part), next+1
		from, m, bytes = number+1, newMemory(), 0
	}
	return parts, next, nil
}
