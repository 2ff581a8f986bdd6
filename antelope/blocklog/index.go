package blocklog

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"tarn/antelope/logcatalog"
	"tarn/store/vfs"
)

// indexState is what is to be done with an index.
type indexState int

const (
	indexGood indexState = iota
	indexPatched
	indexRebuilt
)

// indexJob makes an index agree with a log.
type indexJob struct {
	fs      logcatalog.FS
	source  *source
	path    string // of the index
	extent  extent
	first   uint32 // the first block whose entry exists; others have position 0
	window  int64  // bytes of the log whose entries may be wrong without their count being so
	surface *surface
}

// samples is how many entries before the window are looked at when an index is
// opened.
const samples = 64

// mend checks the index and repairs what is wrong with it: the last entries in
// place, anything before them by writing it anew.
func (j *indexJob) mend() (indexState, error) {
	if !j.extent.blocks {
		return j.clear()
	}
	count := int64(j.extent.head.num-j.source.preamble.First) + 1
	size, err := logcatalog.Size(j.fs, j.path)
	if err != nil {
		return 0, fmt.Errorf("size of %s: %w", j.path, err)
	}
	if size == 0 {
		return indexRebuilt, j.rebuild()
	}
	f, err := j.fs.Open(j.path, true)
	if err != nil {
		return 0, fmt.Errorf("open index: %w", err)
	}
	defer f.Close()

	// The newest entries, as the log has them.
	var newest []uint64
	w := j.source.walkBack(j.extent.end)
	for int64(len(newest)) < int64(j.extent.head.num-j.first)+1 && (len(newest) == 0 || j.extent.end-w.at < j.window) {
		start, err := w.previous()
		if err != nil {
			return 0, err
		}
		newest = append(newest, uint64(start))
	}
	slices.Reverse(newest)
	from := count - int64(len(newest))
	if size/positionBytes < from {
		return indexRebuilt, j.rebuild()
	}
	have := make([]byte, len(newest)*positionBytes)
	n, err := f.ReadAt(have, from*positionBytes)
	if err != nil && !errors.Is(err, io.EOF) {
		return 0, fmt.Errorf("read index %s: %w", j.path, err)
	}
	want := appendPositions(nil, newest)
	if good, err := j.sample(f, int64(j.first-j.source.preamble.First), from); err != nil || !good {
		if err == nil {
			err = j.rebuild()
		}
		return indexRebuilt, err
	}
	if size == count*positionBytes && n == len(have) && slices.Equal(have, want) {
		return indexGood, nil
	}
	if _, err = f.WriteAt(want, from*positionBytes); err == nil {
		err = f.Truncate(count * positionBytes)
	}
	if err != nil {
		return 0, fmt.Errorf("repair index %s: %w", j.path, err)
	}
	return indexPatched, nil
}

// clear leaves an empty index.
func (j *indexJob) clear() (indexState, error) {
	size, err := logcatalog.Size(j.fs, j.path)
	if err != nil {
		return 0, err
	}
	if exists, err := j.fs.Exists(j.path); err != nil || exists && size == 0 {
		return indexGood, err
	}
	f, err := j.fs.Create(j.path)
	if err != nil {
		return 0, fmt.Errorf("create index: %w", err)
	}
	state := indexGood
	if size > 0 {
		state = indexPatched
	}
	return state, errors.Join(f.Close(), j.fs.SyncDir(filepath.Dir(j.path)))
}

// sample looks at entries between two counts: does a block of that number begin
// where they say?
func (j *indexJob) sample(f io.ReaderAt, from, to int64) (bool, error) {
	step := max(1, (to-from)/samples)
	for i := from; i < to; i += step {
		var b [positionBytes]byte
		if _, err := f.ReadAt(b[:], i*positionBytes); err != nil {
			return false, fmt.Errorf("read index %s: %w", j.path, err)
		}
		at := binary.LittleEndian.Uint64(b[:])
		if at > uint64(j.source.size) {
			return false, nil
		}
		num, ok, err := j.source.numberAt(int64(at))
		if err != nil || !ok || int64(num) != int64(j.source.preamble.First)+i {
			return false, err
		}
	}
	return true, nil
}

// rebuild writes the index anew, from its end, beside the old one.
func (j *indexJob) rebuild() error {
	temporary := j.path + ".tmp"
	f, err := j.fs.Create(temporary)
	if err != nil {
		return fmt.Errorf("create index: %w", err)
	}
	defer f.Close()
	const chunk = 1 << 17 // positions
	buf := make([]uint64, 0, chunk)
	count := int64(j.extent.head.num-j.source.preamble.First) + 1
	existing := int64(j.extent.head.num-j.first) + 1
	flush := func(at int64) error {
		slices.Reverse(buf)
		_, err := f.WriteAt(appendPositions(nil, buf), at*positionBytes)
		buf = buf[:0]
		return err
	}
	w := j.source.walkBack(j.extent.end)
	for done := int64(1); done <= existing; done++ {
		start, err := w.previous()
		if err != nil {
			return fmt.Errorf("rebuild index %s: %w", j.path, err)
		}
		buf = append(buf, uint64(start))
		if len(buf) == chunk || done == existing {
			if err := flush(count - done); err != nil {
				return fmt.Errorf("rebuild index %s: %w", j.path, err)
			}
			if j.surface != nil {
				j.surface.at(uint64(done))
			}
		}
	}
	if err := f.Sync(); err != nil {
		return fmt.Errorf("rebuild index %s: %w", j.path, err)
	}
	return j.publish(temporary)
}

func (j *indexJob) publish(temporary string) error {
	if err := vfs.RenameDurably(j.fs, temporary, j.path); err != nil {
		return fmt.Errorf("rebuild index %s: %w", j.path, err)
	}
	return nil
}

func appendPositions(b []byte, positions []uint64) []byte {
	b = slices.Grow(b, len(positions)*positionBytes)
	for _, p := range positions {
		b = binary.LittleEndian.AppendUint64(b, p)
	}
	return b
}
