package parquet

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"tarn/fleet"
	"tarn/store"
	"tarn/store/vfs/memfs"
)

// deepest is how many blocks a fork takes back at most; what is deeper is irreversible.
const deepest = 5

// testBlock and testTransaction are rows of the tests' ledger.
type testBlock struct {
	Block uint64 `parquet:"block,delta"`
	ID    string `parquet:"id"`
}

func (b testBlock) Size() int64 { return 8 + int64(len(b.ID)) }

type testTransaction struct {
	Block uint64   `parquet:"block,delta"`
	Index uint32   `parquet:"tx_index"`
	Data  []byte   `parquet:"data"`
	Names []string `parquet:"names,list"`
}

func (t testTransaction) Size() int64 { return 12 + int64(len(t.Data)) + 16*int64(len(t.Names)) }

// The records of a block: its transactions, and something that exports do not need.
const logTransactions, logNoise = 0, 1

// testLedger's blocks have a transaction for each byte of their record.
func testLedger() Ledger {
	return NewLedger("test", func(log uint8) bool { return log == logTransactions },
		func(b *fleet.Block, block func(testBlock) error, transaction func(testTransaction) error) error {
			if len(b.Records) == 0 || b.Records[0].Log != logTransactions {
				return fmt.Errorf("%w: block %d comes without its record", fleet.ErrDamaged, b.Revision)
			}
			err := block(testBlock{b.Revision, b.ID.String()})
			for i := 0; i < len(b.Records[0].Data) && err == nil; i++ {
				err = transaction(testTransactionOf(b, i))
			}
			return err
		})
}

func testTransactionOf(b *fleet.Block, i int) testTransaction {
	data := b.Records[0].Data[i : i+1]
	names := make([]string, int(data[0])%3)
	for j := range names {
		names[j] = fmt.Sprint("name", j)
	}
	return testTransaction{b.Revision, uint32(i), data, names}
}

// script is a chain with forks: each block follows one of those before it.
type script []fleet.Block

// newScript makes a chain of n blocks, one of about so many of which takes others back; 0 for none.
func newScript(r *rand.Rand, n, forks int) (s script) {
	branch, kept := []fleet.Point{{}}, 1
	for i := range n {
		kept = max(kept, len(branch)-deepest)
		if forks > 0 && r.IntN(forks) == 0 {
			branch = branch[:max(kept, len(branch)-r.IntN(deepest))]
		}
		parent := branch[len(branch)-1]
		at := fleet.Point{Revision: parent.Revision + 1}
		binary.LittleEndian.PutUint64(at.ID[:], uint64(i+1))
		at.ID[31] = 1
		data := make([]byte, r.IntN(6))
		for j := range data {
			data[j] = byte(r.Uint32())
		}
		s = append(s, fleet.Block{Parent: parent, Point: at, Rows: rowsOf(r),
			Records: []fleet.Record{{Log: logTransactions, Data: data}, {Log: logNoise, Data: make([]byte, 100)}}})
		branch = append(branch, at)
	}
	return s
}

var testTables = []store.TableInfo{{ID: 1, Name: "accounts"}, {ID: 2, Name: "rows"}}

// rowsOf makes changed rows, one of three of which is gone, and one empty.
func rowsOf(r *rand.Rand) []byte {
	rows := &fleet.Rows{}
	for i := range r.IntN(8) {
		value := make([]byte, r.IntN(2)*r.IntN(60))
		for j := range value {
			value[j] = byte(r.Uint32())
		}
		_ = rows.Add(testTables[r.IntN(2)].ID, fmt.Append(nil, "key ", i), value, r.IntN(3) > 0)
	}
	b, err := rows.Append(nil, testTables)
	if err != nil {
		panic(err)
	}
	return b
}

// chain are the blocks that lead to the last one of the script.
func (s script) chain() (list []fleet.Block) {
	known := map[fleet.Point]fleet.Block{}
	for _, b := range s {
		known[b.Point] = b
	}
	for at := s[len(s)-1].Point; at != (fleet.Point{}); at = known[at].Parent {
		list = append(list, known[at])
	}
	slices.Reverse(list)
	return list
}

// node tells a script's blocks as a publisher does.
type node struct {
	line   *fleet.Line
	branch []fleet.Point
	at     fleet.Point // up to which moves were made
}

func newNode() *node {
	return &node{line: fleet.NewLine(fleet.Point{}, func() []store.TableInfo { return testTables }, 1<<30),
		branch: []fleet.Point{{}}}
}

func (n *node) add(b fleet.Block) {
	i := slices.Index(n.branch, b.Parent)
	n.branch = append(n.branch[:i+1], b.Point)
	n.line.Add(b, fleet.Later{})
	final := n.branch[max(0, len(n.branch)-1-deepest)]
	if _, before := n.line.Head(); before.Revision > final.Revision {
		final = before
	}
	n.line.Show(final, time.Now())
}

// move is the next move of about so many bytes, nil if there is none.
func (n *node) move(size int64) *fleet.Move {
	m, err := n.line.Next(n.at, size)
	if err != nil {
		panic(err)
	}
	if m != nil {
		n.at = m.To()
	}
	return m
}

// moves are those of a script, told now and then.
func (s script) moves(r *rand.Rand) (list []*fleet.Move) {
	n := newNode()
	for i, b := range s {
		n.add(b)
		for r.IntN(3) == 0 || i == len(s)-1 {
			m := n.move(r.Int64N(3000))
			if m == nil {
				break
			}
			list = append(list, m)
		}
	}
	return list
}

// taken is a move as it comes out of a message, whose bytes are another one's afterwards.
func taken(t testing.TB, o *order, m *fleet.Move, newest bool) error {
	t.Helper()
	raw := m.Append(nil)
	x, err := fleet.DecodeMove(raw)
	if err != nil {
		t.Fatal(err)
	}
	defer clear(raw)
	return o.Take(x, newest)
}

// tell gives all moves from one on.
func tell(t testing.TB, o *order, list []*fleet.Move, from int) error {
	t.Helper()
	for i := from; i < len(list); i++ {
		if err := taken(t, o, list[i], i >= len(list)-1); err != nil {
			return err
		}
	}
	return nil
}

// landing is where a stream's reader begins that looks for a revision, as moves lead forward.
func landing(list []*fleet.Move, revision uint64) int {
	return sort.Search(len(list), func(i int) bool { return list[i].To().Revision >= revision })
}

// options are those of an export into a folder in memory.
func options(t *testing.T) (Options, *memfs.FS) {
	t.Helper()
	disk := memfs.New()
	o := Options{Dir: "/export", FS: disk, Ledger: testLedger(), BlocksPerFile: 20,
		Log: slog.New(slog.NewTextHandler(t.Output(), nil))}
	return o.withDefaults(), disk
}

// exported is what the files of a folder say.
type exported struct {
	blocks       []testBlock
	transactions []testTransaction
	rows         []change
}

// read reads the complete files of each table, in the order of their names.
func read(t *testing.T, files *memfs.FS) (x exported) {
	t.Helper()
	x.blocks = readTable[testBlock](t, files, "blocks")
	x.transactions = readTable[testTransaction](t, files, "transactions")
	x.rows = readTable[change](t, files, "rows")
	return x
}

func readTable[T any](t *testing.T, files *memfs.FS, folder string) (all []T) {
	t.Helper()
	for _, path := range complete(files, folder) {
		b := files.Blob(path).Bytes()
		rows, err := parquet.Read[T](bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		all = append(all, rows...)
	}
	return all
}

func complete(files *memfs.FS, folder string) (list []string) {
	for _, path := range files.Paths() {
		if filepath.Dir(path) == "/export/"+folder && strings.HasSuffix(path, ".parquet") {
			list = append(list, path)
		}
	}
	slices.Sort(list)
	return list
}

// wanted is what files of blocks say.
func wanted(list []fleet.Block) (x exported) {
	for i := range list {
		b := &list[i]
		x.blocks = append(x.blocks, testBlock{b.Revision, b.ID.String()})
		for j := range b.Records[0].Data {
			x.transactions = append(x.transactions, testTransactionOf(b, j))
		}
		err := fleet.EachRow(b.Rows, func(table string, key, value []byte, present bool) error {
			row := change{b.Revision, table, key, nil}
			if present {
				row.Value = &value
			}
			x.rows = append(x.rows, row)
			return nil
		})
		if err != nil {
			panic(err)
		}
	}
	return x
}

// same compares what files say with what they should.
func same(t *testing.T, got, want exported) {
	t.Helper()
	if !slices.Equal(got.blocks, want.blocks) {
		t.Fatalf("blocks are\n%v\nand should be\n%v", got.blocks, want.blocks)
	}
	if !slices.EqualFunc(got.transactions, want.transactions, func(a, b testTransaction) bool {
		return a.Block == b.Block && a.Index == b.Index && bytes.Equal(a.Data, b.Data) && slices.Equal(a.Names, b.Names)
	}) {
		t.Fatal("transactions differ")
	}
	if !slices.EqualFunc(got.rows, want.rows, func(a, b change) bool {
		return a.Block == b.Block && a.Table == b.Table && bytes.Equal(a.Key, b.Key) &&
			(a.Value == nil) == (b.Value == nil) &&
			(a.Value == nil || bytes.Equal(*a.Value, *b.Value))
	}) {
		for i := range min(len(got.rows), len(want.rows)) {
			if a, b := got.rows[i], want.rows[i]; !reflect.DeepEqual(a, b) {
				t.Fatalf("row %d is %#v, should be %#v", i, a, b)
			}
		}
		t.Fatalf("there are %d rows, there should be %d", len(got.rows), len(want.rows))
	}
}

// sameFiles compares all complete files, and that there is nothing else.
func sameFiles(t *testing.T, got, want *memfs.FS) {
	t.Helper()
	content := func(files *memfs.FS) map[string]string {
		all := map[string]string{}
		for _, path := range files.Paths() {
			if filepath.Base(path) != "LOCK" {
				all[path] = string(files.Blob(path).Bytes())
			}
		}
		return all
	}
	if a, b := content(got), content(want); !reflect.DeepEqual(a, b) {
		names := func(all map[string]string) (list []string) {
			for name := range all {
				list = append(list, fmt.Sprint(name, " ", len(all[name])))
			}
			slices.Sort(list)
			return list
		}
		t.Fatalf("there are\n%s\nand should be\n%s", strings.Join(names(a), "\n"), strings.Join(names(b), "\n"))
	}
}
