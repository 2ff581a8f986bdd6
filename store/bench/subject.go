package bench

import (
	"fmt"
	"slices"

	"tarn/store/engine"
	"tarn/store/page"
)

// Subject names one thing that is measured: an engine through the seam, or a
// library used directly.
type Subject struct {
	Name string
	// Kind and Mode of an engine, or of the library that Bare says is used
	// without the seam.
	Kind engine.Kind
	Mode page.Mode
	Bare bool
	// SeekCompaction: LevelDB's, see engine.Options.
	SeekCompaction bool
}

// cachesRows tells whether the subject keeps rows that were got, apart from the
// blocks that they lie in.
func (s Subject) cachesRows() bool { return !s.Bare && s.Kind != engine.Page }

// bolt is no engine of ours, only a reference.
const bolt engine.Kind = "bbolt"

// Subjects lists all subjects. "+seek" is LevelDB with seek compaction, "bare" a
// library used without the seam.
func Subjects() []Subject {
	var all []Subject
	for _, m := range engine.Modes() {
		all = append(all, Subject{Name: m.String(), Kind: engine.Page, Mode: m})
	}
	for _, bare := range []bool{false, true} {
		mark := ""
		if bare {
			mark = " bare"
		}
		all = append(all,
			Subject{Name: "leveldb" + mark, Kind: engine.LevelDB, Bare: bare},
			Subject{Name: "leveldb+seek" + mark, Kind: engine.LevelDB, Bare: bare, SeekCompaction: true},
			Subject{Name: "pebble" + mark, Kind: engine.Pebble, Bare: bare},
			Subject{Name: "badger" + mark, Kind: engine.Badger, Bare: bare})
	}
	return append(all, Subject{Name: "bbolt bare", Kind: bolt, Bare: true})
}

// selectedSubjects lists the subjects that were asked for, all if none was.
func (c Config) selectedSubjects() []Subject {
	all := Subjects()
	if len(c.Stores) > 0 {
		all = slices.DeleteFunc(all, func(s Subject) bool { return !slices.Contains(c.Stores, s.Name) })
	}
	return all
}

func subjectNamed(name string) (Subject, error) {
	for _, s := range Subjects() {
		if s.Name == name {
			return s, nil
		}
	}
	return Subject{}, fmt.Errorf("no subject is called %q", name)
}

// data names the folder of the rows that the subject works on. Subjects that
// differ only in settings share it.
func (s Subject) data() string {
	if s.Bare {
		return string(s.Kind) + "-bare"
	}
	return string(s.Kind)
}

// budget is the memory that a subject may use, in bytes. An engine uses Cache for
// what it reads and Overlay twice for what has changed; a bare library has the
// sum to itself.
type budget struct {
	Cache, Overlay int64
}

// blocks and memtables are a bare library's: what has changed has to go through
// its memtables, of which one fills while another is written out.
func (b budget) blocks() int64   { return (b.Cache + 2*b.Overlay) / 4 * 3 }
func (b budget) memtable() int64 { return (b.Cache + 2*b.Overlay) / 8 }

// subject is an open store.
type subject interface {
	// Reader returns a state that does not change any more, for one goroutine.
	Reader() (reader, error)
	// Apply makes the changes of a batch visible, as a block of a chain does.
	Apply(b *batch) error
	// Append adds the first n rows of a batch, in the way that loads fastest.
	Append(b *batch, n int) error
	// Settle makes everything durable that was applied or appended.
	Settle() error
	Close() error
}

// reader reads one state, for one goroutine. What it returns is valid until its
// next call.
type reader interface {
	Get(key []byte) ([]byte, error)
	Cursor() (cursor, error)
	Close() error
}

// cursor walks the rows in order.
type cursor interface {
	Seek(key []byte) bool
	Next() bool
	Key() []byte
	Value() []byte
	Close() error
}

func (s Subject) open(dir string, b budget) (subject, error) {
	if !s.Bare {
		return openSeam(s, dir, b)
	}
	switch s.Kind {
	case engine.LevelDB:
		return openLevelDB(dir, b, s.SeekCompaction)
	case engine.Pebble:
		return openPebble(dir, b)
	case engine.Badger:
		return openBadger(dir, b)
	default:
		return openBolt(dir)
	}
}
