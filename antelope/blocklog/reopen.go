package blocklog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"path/filepath"
	"slices"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// reversibleHead is what a file of reversible blocks begins with.
type reversibleHead struct {
	version uint32
	// file is a number by chance, other in each file that is made, 0 in those of older programs; the
	// mark is of the file with its number.
	file uint64
	// durable is up to where the file was durable when it got its name.
	durable int64
}

func (h reversibleHead) append(b []byte) []byte {
	from := len(b)
	b = append(b, reversibleMagic...)
	b = logcatalog.Seal(binary.LittleEndian.AppendUint32(b, h.version), from)
	b = binary.LittleEndian.AppendUint64(b, h.file)
	b = binary.LittleEndian.AppendUint64(b, uint64(h.durable))
	return logcatalog.Seal(b, from)
}

// decodeReversibleHead reads a head; false if the bytes begin otherwise.
func decodeReversibleHead(b []byte) (h reversibleHead, ok bool) {
	if _, ok := logcatalog.Unseal(b[:16]); !ok || string(b[:8]) != reversibleMagic {
		return h, false
	}
	h.version = binary.LittleEndian.Uint32(b[8:])
	if _, ok := logcatalog.Unseal(b[:reversibleHeadBytes]); ok {
		h.file, h.durable = binary.LittleEndian.Uint64(b[16:]), int64(binary.LittleEndian.Uint64(b[24:]))
	}
	return h, true
}

func (r *Reversible) open() error {
	exists, err := r.fs.Exists(r.path)
	if err != nil {
		return err
	}
	if r.mark, err = torntail.OpenMark(r.fs, r.path+".mark"); err != nil {
		return err
	}
	if !exists {
		return r.replace(nil)
	}
	if r.file, err = r.fs.Open(r.path, true); err != nil {
		return err
	}
	size, err := r.file.Size()
	if err != nil {
		return err
	}
	if err := r.readHead(size); err != nil {
		return err
	}
	end := r.endOf(size)
	holes, err := r.scan(&end)
	if err != nil {
		return err
	}
	if len(holes) > 0 {
		return r.leaveOut(holes, size)
	}
	if err := r.cutEnd(size); err != nil {
		return err
	}
	if r.align != vfs.Sector || r.head.file == 0 {
		return r.replace(r.blocks)
	}
	// Both may be in the page cache only: of a process that was killed.
	return errors.Join(r.file.Sync(), r.fs.SyncDir(filepath.Dir(r.path)))
}

// readHead reads what the file begins with. A crash leaves no other beginning: the file gets its
// name when it is durable.
func (r *Reversible) readHead(size int64) error {
	var b [reversibleHeadBytes]byte
	if err := readFull(r.file, r.path, b[:min(size, reversibleHeadBytes)], 0); err != nil {
		return err
	}
	head, ok := decodeReversibleHead(b[:])
	if ok && head.version == reversibleVersion && head.file == 0 && size < reversibleHeadBytes {
		// Older programs made files of this version whose head is shorter, and no mark.
		ok = size == reversibleHeaderBytes && !r.mark.Said().There
	}
	if !ok { // the records may be whole
		head = reversibleHead{version: reversibleVersion}
	}
	switch head.version {
	case reversibleVersion:
		r.align = vfs.Sector
	case reversibleUnaligned:
		r.align = 1
	default:
		return fmt.Errorf("%s has version %d, supported is %d", r.path, head.version, reversibleVersion)
	}
	r.head, r.end = head, r.alignUp(reversibleHeaderBytes)
	if !ok {
		r.end = 0
	}
	return nil
}

// endOf is what is known of the end of the file.
func (r *Reversible) endOf(size int64) torntail.End {
	records := r.records()
	end := torntail.End{Path: r.path, Size: size, Durable: torntail.Unnoted,
		Behind: func(offset int64) (int64, bool, error) {
			return records.Next(r.file, offset, size)
		}}
	if r.head.file != 0 {
		end.Durable = r.head.durable
	}
	if said := r.mark.Said(); said.Known && said.Log == r.head.file && r.head.file != 0 {
		end.Durable = max(end.Durable, int64(said.End))
	}
	return end
}

// records are those of the file, to be found behind what is not whole.
func (r *Reversible) records() *torntail.Records {
	return &torntail.Records{
		Align: r.align,
		Head:  recordHeaderBytes,
		Parse: func(head []byte) (int64, uint32, bool) {
			n := binary.LittleEndian.Uint32(head)
			return int64(n), binary.LittleEndian.Uint32(head[4:]), n >= minBlockBytes && n <= maxBlockBytes
		},
		Prefixes: func(_ int64, head []byte) iter.Seq[[]byte] {
			return func(yield func([]byte) bool) { yield(head[:4]) }
		},
	}
}

// hole is a part of the file without a whole record that no crash has torn.
type hole struct {
	from, to int64
	damage   *torntail.Damage
}

// scan lists the records, and the holes between and behind them, up to the end that a crash may have torn.
func (r *Reversible) scan(end *torntail.End) (holes []hole, err error) {
	for {
		if r.end > 0 { // else the head is not whole
			if err := r.readRecords(end.Size); err != nil {
				return nil, err
			}
		}
		end.Whole = r.end
		err := end.Judge()
		var damage *torntail.Damage
		if r.end == 0 && err == nil {
			damage = &torntail.Damage{Path: r.path, Detail: "the head of the file is damaged"}
		} else if !errors.As(err, &damage) {
			return holes, err
		}
		at, found, err := end.Behind(r.end)
		if err != nil {
			return nil, err
		}
		if !found {
			return append(holes, hole{r.end, max(r.end, end.Size), damage}), nil
		}
		holes = append(holes, hole{r.end, at, damage})
		r.end = at
	}
}

// readRecords lists the records from r.end on, up to the first that is not whole.
func (r *Reversible) readRecords(size int64) error {
	in := io.NewSectionReader(r.file, 0, size)
	buf := make([]byte, 0, 1<<16)
	for {
		if _, err := in.Seek(r.end, io.SeekStart); err != nil {
			return err
		}
		var h [recordHeaderBytes]byte
		if _, err := io.ReadFull(in, h[:]); err != nil {
			return atEnd(err)
		}
		n := int64(binary.LittleEndian.Uint32(h[:]))
		if n < minBlockBytes || n > maxBlockBytes || n > size-r.end-recordHeaderBytes {
			return nil
		}
		buf = append(buf[:0], make([]byte, n)...)
		if _, err := io.ReadFull(in, buf); err != nil {
			return atEnd(err)
		}
		num, ok := blockNumber(buf)
		if !ok || binary.LittleEndian.Uint32(h[4:]) != tailSum(h[:4], buf) {
			return nil
		}
		r.add(num, int(n))
	}
}

func atEnd(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return err
}

// cutEnd has the file end behind its last whole record. What is cut off is kept, but for zeros: they are room
// that was made for records, and no loss.
func (r *Reversible) cutEnd(size int64) error {
	last, err := lastByte(r.file, r.path, r.end, size)
	if err != nil {
		return err
	}
	r.cut = last - r.end
	switch {
	case r.cut > 0:
		removed, err := torntail.Keep(r.fs, r.file, r.path, r.end, last)
		if err != nil {
			return err
		}
		r.log.Warn("The end of the reversible blocks was torn when the node ended, and is cut",
			"file", r.path, "offset", r.end, "bytes", r.cut, "kept", removed.Kept)
	case r.endsOddly(size):
		r.log.Warn("The file of reversible blocks has an unexpected end: later blocks, if any, are lost, and "+
			"peers send them again",
			"file", r.path, "offset", size, "blocks", len(r.blocks))
	case size <= r.end:
		return nil
	}
	if err := r.file.Truncate(r.end); err != nil {
		return fmt.Errorf("have %s end at %d: %w", r.path, r.end, err)
	}
	return nil
}

// endsOddly tells whether the file ends within zeros, where no whole write ends: one was interrupted, or somebody
// has cut the file, and no record tells of what was behind. All writes end where a record may begin, but for
// the one that makes the file: it has no zeros behind its last record.
func (r *Reversible) endsOddly(size int64) bool {
	if size == r.alignUp(size) || r.head.file == 0 { // of an older program nobody knows
		return false
	}
	made := int64(reversibleHeadBytes)
	if n := len(r.blocks); n > 0 {
		made = r.blocks[n-1].offset + int64(r.blocks[n-1].size)
	}
	return size != made || r.end != r.head.durable
}

// lastByte is where what is not zero ends, from an offset on.
func lastByte(f vfs.File, path string, from, size int64) (int64, error) {
	last, buf := from, make([]byte, 64<<10)
	for at := from; at < size; at += int64(len(buf)) {
		part := buf[:min(int64(len(buf)), size-at)]
		if err := readFull(f, path, part, at); err != nil {
			return 0, err
		}
		if n := len(bytes.TrimRight(part, "\x00")); n > 0 {
			last = at + int64(n)
		}
	}
	return last, nil
}

// leaveOut goes on without the holes, if nobody needs what was in them or o says Mend. They are
// kept beside the file, which is written anew.
func (r *Reversible) leaveOut(holes []hole, size int64) error {
	needed, err := r.needed(holes)
	if err != nil {
		return err
	}
	if needed && !r.mend {
		damage := *holes[0].damage
		damage.Remedy = r.remedy()
		return &damage
	}
	for _, h := range holes {
		removed, err := torntail.Keep(r.fs, r.file, r.path, h.from, h.to)
		if err != nil {
			return err
		}
		r.log.Warn("Reversible blocks are damaged and are left out", "file", r.path, "offset", h.from,
			"bytes", removed.Bytes,
			"kept", removed.Kept, "needed", needed, "reason", h.damage.Detail)
	}
	if r.end >= holes[len(holes)-1].to { // else the last hole has the rest of the file
		if err := r.cutEnd(size); err != nil {
			return err
		}
	}
	return r.replace(r.blocks)
}

// remedy says what to do about damage that stops a start.
func (r *Reversible) remedy() string {
	last := uint32(0)
	for _, b := range r.blocks {
		last = max(last, b.num)
	}
	return fmt.Sprintf("put the file back from a copy; without one, a producer could sign a second block at a "+
		"height that it has already signed, "+
		"so wait until the irreversible block of the peers is beyond block %d and beyond all that this node has "+
		"produced, then rename the file; the peers send its blocks again", last)
}

// needed tells whether a hole may have had a block that is needed: above the irreversible block some
// other one does not link, or the hole is at the end, where nobody can tell.
func (r *Reversible) needed(holes []hole) (bool, error) {
	for _, h := range holes {
		if len(r.blocks) == 0 || h.from > r.blocks[len(r.blocks)-1].offset {
			return true, nil
		}
	}
	irreversible := uint32(0)
	if r.durable != nil {
		irreversible = r.durable()
	}
	known, above := map[types.Checksum256]bool{}, []link{}
	for _, b := range r.blocks {
		if b.num <= irreversible {
			continue
		}
		data := make([]byte, b.size)
		if err := readFull(r.file, r.path, data, b.offset); err != nil {
			return true, err
		}
		l, err := decodeLink(data)
		if err != nil {
			return true, nil
		}
		known[l.id] = true
		above = append(above, l)
	}
	for _, l := range above {
		if l.num > irreversible+1 && !known[l.previous] {
			return true, nil
		}
	}
	return r.reach(holes, irreversible)
}

// reach tells whether a hole may have had a block above all that are left. None misses the last one of a
// branch, so links do not tell of it: but each block came behind the one before it.
func (r *Reversible) reach(holes []hole, irreversible uint32) (bool, error) {
	highest, blocks := uint32(0), r.blocks
	if blocks[0].offset > holes[0].from { // what came before was irreversible, and is gone
		highest = irreversible
	}
	for _, h := range holes {
		for ; len(blocks) > 0 && blocks[0].offset < h.from; blocks = blocks[1:] {
			highest = max(highest, blocks[0].num)
		}
		if h.from == 0 {
			h.from = min(h.to, r.alignUp(reversibleHeaderBytes)) // no block is in the head of the file
		}
		most := (h.to - h.from) / r.space(minBlockBytes)
		var head [4]byte
		if err := readFull(r.file, r.path, head[:], h.from); err != nil {
			return true, err
		}
		if r.space(int(binary.LittleEndian.Uint32(head[:]))) == h.to-h.from {
			most = 1
		}
		highest += uint32(most)
	}
	return highest > irreversible &&
		!slices.ContainsFunc(r.blocks, func(b reversibleBlock) bool { return b.num >= highest }), nil
}
