package finality

import (
	"bytes"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"slices"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// SafetyFileName is the file's name in finalizers-dir, as nodeos has it.
const SafetyFileName = "safety.dat"

// What a safety file begins with, the newest version of its format, and the most that one is read
// of, in bytes.
const (
	safetyMagic   = 0x5AFE11115AFE1111
	safetyVersion = 1
	safetyLargest = 16 << 20
)

// safetyEntry is the least that a key takes in a file.
const safetyEntry = 1 + 96 + 2*(32+4+32) + 1

// Safeties are what all finalizers of a node remember, by their keys: those of keys that are
// configured now, and of others, which stay in the file. It is for one goroutine at a time.
type Safeties struct {
	files  vfs.FS
	path   string
	fresh  bool         // there was no file
	others []keptSafety // of keys that are not configured, in the file's order
	own    []keptSafety // of those that are, ascending by key
}

type keptSafety struct {
	key types.BLSPublicKey
	Safety
}

// OpenSafeties reads a safety file, of nodeos or of this program; without one the finalizers begin
// with nothing. A file that is damaged is an error, and stays as it is: whoever votes without it
// may vote against an earlier vote.
func OpenSafeties(files vfs.FS, path string, keys []types.BLSPublicKey) (*Safeties, error) {
	s := &Safeties{files: files, path: path}
	list, err := s.read()
	if err != nil {
		return nil, fmt.Errorf("read the finalizers' safety file %s: %w", path, err)
	}
	own := make(map[types.BLSPublicKey]Safety, len(keys))
	for _, k := range keys {
		own[k] = Safety{}
	}
	for _, e := range list {
		if e.Safety == (Safety{}) { // earlier releases wrote that of keys that had not voted
			continue
		}
		if _, configured := own[e.key]; configured {
			own[e.key] = e.Safety
		} else {
			s.others = append(s.others, e)
		}
	}
	for k, v := range own {
		s.own = append(s.own, keptSafety{k, v})
	}
	slices.SortFunc(s.own, func(a, b keptSafety) int { return bytes.Compare(a.key[:], b.key[:]) })
	return s, nil
}

// Fresh tells whether there was no file when the safeties were opened.
func (s *Safeties) Fresh() bool { return s.fresh }

// Get is what the finalizer of a configured key remembers.
func (s *Safeties) Get(key types.BLSPublicKey) (Safety, bool) {
	for i := range s.own {
		if s.own[i].key == key {
			return s.own[i].Safety, true
		}
	}
	return Safety{}, false
}

// Save makes durable what finalizers of configured keys remember from now on; keys without a change
// are left out. A key that remembers nothing is not in the file: nodeos would take zeros for a lock, and
// never vote with that key. No vote that follows from it may leave before Save has returned without an error.
// After an error either may be on the disk, and what Get returns is the old.
func (s *Safeties) Save(changed map[types.BLSPublicKey]Safety) error {
	next := slices.Clone(s.own)
	for i := range next {
		if v, ok := changed[next[i].key]; ok {
			next[i].Safety = v
		}
	}
	known := slices.DeleteFunc(slices.Concat(s.others, next), func(e keptSafety) bool { return e.Safety == (Safety{}) })
	if err := vfs.WriteDurably(s.files, s.path, appendSafeties(known)); err != nil {
		return fmt.Errorf("write the finalizers' safety file %s: %w", s.path, err)
	}
	s.own = next
	return nil
}

func appendSafeties(list []keptSafety) []byte {
	b := serial.AppendUint64(serial.AppendUint64(nil, safetyMagic), safetyVersion)
	b = serial.AppendUint64(b, uint64(len(list)))
	for i := range list {
		e := &list[i]
		b = e.Lock.append(e.Last.append(e.key.Append(b)))
		b = e.OtherBranch.Append(b)
	}
	return serial.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (v *Voted) append(b []byte) []byte { return v.Finality.Append(v.Time.Append(v.ID.Append(b))) }

func (v *Voted) read(r *serial.Reader) {
	v.ID.Read(r)
	v.Time.Read(r)
	v.Finality.Read(r)
}

func (s *Safeties) read() ([]keptSafety, error) {
	b, err := vfs.ReadFile(s.files, s.path, safetyLargest)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		s.fresh = true
		return nil, nil
	case err != nil:
		return nil, err
	}
	list, err := parseSafeties(b)
	if err != nil {
		return nil, fmt.Errorf(
			"the file is damaged, or is no safety file. Do not remove it to go on with the same keys: "+
				"they might vote against their earlier votes. Make new keys, and register and activate them. Or "+
				"restore the newest copy of the file, if no key in it has voted since the copy was made: %w", err)
	}
	return list, nil
}

// parseSafeties decodes a file of version 0 or 1.
func parseSafeties(b []byte) ([]keptSafety, error) {
	r := serial.NewReader(b)
	if magic := r.Uint64(); r.Err() == nil && magic != safetyMagic {
		return nil, fmt.Errorf("it begins with %#x: it is no safety file", magic)
	}
	version, count := r.Uint64(), r.Uint64()
	switch {
	case r.Err() != nil:
		return nil, r.Err()
	case version > safetyVersion:
		return nil, fmt.Errorf("it has version %d, and this program knows versions up to %d", version, safetyVersion)
	case count > uint64(r.Len()/safetyEntry):
		return nil, fmt.Errorf("it has no room for %d keys: %w", count, serial.ErrShort)
	}
	list := make([]keptSafety, count)
	for i := range list {
		e := &list[i]
		e.key.Read(r)
		e.Last.read(r)
		e.Lock.read(r)
		switch {
		case version > 0:
			e.OtherBranch.Read(r)
		case r.Bool():
			e.OtherBranch = e.Last.Time
		}
	}
	if version > 0 {
		sum := crc32.ChecksumIEEE(b[:r.Offset()])
		if stored := r.Uint32(); r.Err() == nil && stored != sum {
			return nil, fmt.Errorf("at offset %d: its checksum is %08x, and should be %08x", r.Offset()-4, stored, sum)
		}
	}
	return list, r.End()
}
