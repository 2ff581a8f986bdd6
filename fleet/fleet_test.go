package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"tarn/store"
)

// point is a block's on a branch.
func point(revision uint64, branch byte) (p Point) {
	p.Revision, p.ID = revision, ID{branch, byte(revision), byte(revision >> 8)}
	return p
}

// someBlock is a block with rows and records of random sizes, which compress badly.
func someBlock(r *rand.Rand, parent, at Point) Block {
	random := func(n int) []byte {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return b
	}
	b := Block{Parent: parent, Point: at}
	for i := range r.IntN(3) {
		b.Records = append(b.Records, Record{uint8(i), random(r.IntN(2000))})
	}
	var rows Rows
	for i := range r.IntN(20) {
		_ = rows.Add(store.Table(1+r.IntN(2)), []byte(fmt.Sprint("key", i)), random(r.IntN(500)), r.IntN(4) > 0)
	}
	b.Rows, _ = rows.Append(nil, []store.TableInfo{{ID: 1, Name: "first"}, {ID: 2, Name: "second"}})
	return b
}

// someMoves are moves of a line that begins at revision 0, with forks.
func someMoves(r *rand.Rand, n int) (list []*Move) {
	branch := []Point{{}}
	for i := range n {
		m := &Move{}
		if back := r.IntN(3); r.IntN(4) == 0 && back < len(branch) {
			branch = branch[:len(branch)-back]
		}
		for range 1 + r.IntN(3) {
			head := branch[len(branch)-1]
			next := point(head.Revision+1+uint64(r.IntN(2)), byte(i))
			m.Blocks = append(m.Blocks, someBlock(r, head, next))
			branch = append(branch, next)
		}
		m.Final = branch[max(0, len(branch)-4)]
		list = append(list, m)
	}
	return list
}

func same(a, b *Move) bool { return bytes.Equal(a.Append(nil), b.Append(nil)) }

func TestRowsAreEncodedByTable(t *testing.T) {
	names := []store.TableInfo{{ID: 1, Name: "first"}, {ID: 2, Name: "second"}, {ID: 3, Name: "third"}}
	type row struct {
		table, key, value string
		present           bool
	}
	rows := (&Rows{}).Like()
	for range 2 { // the second one has room for what the first one had
		for _, x := range []struct {
			table      store.Table
			key, value string
			present    bool
		}{{3, "c", "1", true}, {1, "b", "", true}, {1, "a", "", false}, {3, "a", "22", true}} {
			if err := rows.Add(x.table, []byte(x.key), []byte(x.value), x.present); err != nil {
				t.Fatal(err)
			}
		}
		b, err := rows.Append(nil, names)
		if err != nil || rows.Len() != 4 {
			t.Fatal(rows.Len(), err)
		}
		var got []row
		if err := EachRow(b, func(table string, key, value []byte, present bool) error {
			got = append(got, row{table, string(key), string(value), present})
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		want := []row{
			{"first", "b", "", true}, {"first", "a", "", false}, {"third", "c", "1", true}, {"third", "a", "22", true},
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		rows = rows.Like()
	}
	if err := rows.Add(2, []byte("a"), nil, true); err != nil {
		t.Fatal(err)
	}
	if b, err := rows.Append(nil, names[:1]); !errors.Is(err, store.ErrNoTable) {
		t.Fatalf("rows of a table that is not there: %x, %v", b, err)
	}
	if b, err := rows.Like().Like().Append(nil, nil); err != nil || len(b) > 0 {
		t.Fatalf("no rows: %x, %v", b, err)
	}
}

// messages are those of moves, each move's in a list.
func messages(t *testing.T, w *Writer, moves []*Move) (list [][][]byte) {
	t.Helper()
	for _, m := range moves {
		parts, err := w.Write(m)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, slices.Clone(parts))
	}
	return list
}

func TestMovesComeAsTheyWereSent(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	for _, size := range []int{headerSize + 1, 300, 1000, 1_000_000} {
		moves := someMoves(r, 30)
		reader := NewReader(Limits{Message: size})
		got := 0
		for _, parts := range messages(t, NewWriter(Header{Line: 7}, Limits{Message: size}), moves) {
			for i, part := range parts {
				if len(part) > size {
					t.Fatalf("a message of %d bytes, the limit is %d", len(part), size)
				}
				for range 1 + r.IntN(2) { // some come twice
					m, err := reader.Read(part)
					if err != nil {
						t.Fatal(err)
					}
					if m == nil {
						continue
					}
					if i+1 != len(parts) || !same(m, moves[got]) {
						t.Fatalf("messages of %d bytes: move %d is another", size, got)
					}
					got++
				}
			}
		}
		if got != len(moves) {
			t.Fatalf("messages of %d bytes: %d moves came, %d were sent", size, got, len(moves))
		}
	}
}

// digestAt is where a header has its move's digest.
const digestAt = 1 + 8 + 8 + 4 + 4 + 32

// A reader that gets anything but the next message says so, and goes on with the one that it waits for.
func TestWhatDoesNotFollowIsRefused(t *testing.T) {
	for _, size := range []int{400, 1_000_000} {
		t.Run(fmt.Sprint("messages of ", size), func(t *testing.T) { refuseWhatDoesNotFollow(t, size) })
	}
}

func refuseWhatDoesNotFollow(t *testing.T, size int) {
	r := rand.New(rand.NewPCG(2, 1))
	moves := someMoves(r, 12)
	list := messages(t, NewWriter(Header{Line: 7}, Limits{Message: size}), moves)
	other := messages(t, NewWriter(Header{Line: 8}, Limits{Message: size}), moves)
	twin := messages(t, NewWriter(Header{Line: 7}, Limits{Message: size}), append(someMoves(r, 5), moves[5:]...))
	reader := NewReader(Limits{Message: size})
	for i, parts := range list {
		for j, part := range parts {
			refuse := func(what string, message []byte, want error) {
				t.Helper()
				if m, err := reader.Read(message); m != nil || !errors.Is(err, want) {
					t.Fatalf("move %d, part %d: %s: %v, %v; should be %v", i, j, what, m, err, want)
				}
			}
			if i > 0 && j == 0 {
				refuse("another line", other[i][0], ErrLine)
				if i == 5 {
					refuse("a move that follows another", twin[i][0], ErrDamaged)
				}
			}
			if i > 0 && i+1 < len(list) {
				refuse("the move after", list[i+1][0], ErrGap)
			}
			if j+1 < len(parts) && i > 0 {
				refuse("the part after", parts[j+1], ErrGap)
			}
			refuse("half a header", part[:headerSize/2], ErrDamaged)
			if j > 0 || len(parts) == 1 {
				other := bytes.Clone(part)
				other[digestAt] ^= 1
				refuse("the digest of another move", other, ErrDamaged)
			}
			last := j+1 == len(parts)
			if last && len(part) > headerSize {
				broken := bytes.Clone(part)
				broken[headerSize+r.IntN(len(part)-headerSize)] ^= 1 << r.IntN(8)
				refuse("a flipped bit", broken, ErrDamaged)
				for _, p := range parts[:j] { // it begins again
					if _, err := reader.Read(p); err != nil {
						t.Fatal(err)
					}
				}
			}
			m, err := reader.Read(part)
			if err != nil || (m != nil) != last || last && !same(m, moves[i]) {
				t.Fatalf("move %d, part %d of %d: %v, %v", i, j, len(parts), m != nil, err)
			}
		}
	}
}

// A publisher that died in the middle of a move leaves parts; who takes over sends another move with its number.
func TestAMoveThatWasNotEndedIsDropped(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	moves := someMoves(r, 6)
	w := NewWriter(Header{Line: 7}, Limits{Message: 300})
	list := messages(t, w, moves)
	reader := NewReader(Limits{Message: 300})
	for _, parts := range list[:3] {
		for _, part := range parts {
			if _, err := reader.Read(part); err != nil {
				t.Fatal(err)
			}
		}
	}
	last := reader.Last()
	if len(list[3]) < 2 {
		t.Fatal("the move has one part only")
	}
	for _, part := range list[3][:len(list[3])-1] {
		if _, err := reader.Read(part); err != nil {
			t.Fatal(err)
		}
	}
	another := &Move{Blocks: []Block{someBlock(r, last.To, point(last.To.Revision+1, 99))}}
	var got *Move
	for _, parts := range messages(t, NewWriter(last, Limits{Message: 300}), []*Move{another}) {
		for _, part := range parts {
			m, err := reader.Read(part)
			if err != nil {
				t.Fatal(err)
			}
			got = m
		}
	}
	if got == nil || !same(got, another) {
		t.Fatal("the move of who took over did not come")
	}
}

func TestLimitsHold(t *testing.T) {
	r := rand.New(rand.NewPCG(4, 1))
	big := &Move{Blocks: []Block{{Point: point(1, 0), Rows: make([]byte, 10_000)}}}
	w := NewWriter(Header{Line: 1}, Limits{Move: 9000})
	if _, err := w.Write(big); !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a move above the limit: %v", err)
	}
	small := someMoves(r, 1)
	if list := messages(t, w, small); len(list) != 1 || w.Last().To != small[0].To() {
		t.Fatal("the writer does not go on after a move that was too large")
	}
	// Ten kilobytes of zeros are some bytes; the reader's bound is of what they become.
	zeros := messages(t, NewWriter(Header{Line: 1}, Limits{Message: 0}), []*Move{big})
	if _, err := NewReader(Limits{Move: 9000}).Read(zeros[0][0]); err == nil {
		t.Fatal("a move that decompresses beyond the limit was read")
	}
	random := &Move{Blocks: []Block{someBlock(r, Point{}, point(1, 0))}}
	random.Blocks[0].Records = []Record{{0, bytesOf(r, 5000)}}
	reader := NewReader(Limits{Message: 1000, Compressed: 3000})
	var err error
	for _, part := range messages(t, NewWriter(Header{Line: 1}, Limits{Message: 1000}), []*Move{random})[0] {
		if _, err = reader.Read(part); err != nil {
			break
		}
	}
	if !errors.Is(err, ErrTooLarge) {
		t.Fatalf("a move of more bytes than the limit: %v", err)
	}
}

func bytesOf(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// FuzzMove decodes anything: what is decoded has the same encoding again, and its rows can be walked.
func FuzzMove(f *testing.F) {
	for _, m := range someMoves(rand.New(rand.NewPCG(5, 1)), 5) {
		f.Add(m.Append(nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := DecodeMove(b)
		if err != nil {
			if !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
			return
		}
		again, err := DecodeMove(m.Append(nil))
		if err != nil || !same(m, again) {
			t.Fatalf("the encoding of what was decoded is another: %v", err)
		}
		for _, x := range m.Blocks {
			if err := EachRow(x.Rows, func(string, []byte, []byte, bool) error { return nil }); err != nil &&
				!errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzMessage reads anything after a first move.
func FuzzMessage(f *testing.F) {
	moves := someMoves(rand.New(rand.NewPCG(6, 1)), 4)
	w := NewWriter(Header{Line: 7}, Limits{Message: 400})
	var first [][]byte
	for i, m := range moves {
		parts, err := w.Write(m)
		if err != nil {
			f.Fatal(err)
		}
		if i == 0 {
			first = slices.Clone(parts)
			continue
		}
		for _, p := range parts {
			f.Add(p)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		r := NewReader(Limits{Move: 1 << 20, Compressed: 1 << 20})
		for _, part := range first {
			if _, err := r.Read(part); err != nil {
				t.Fatal(err)
			}
		}
		for range 2 {
			if _, err := r.Read(b); err != nil && !errors.Is(err, ErrDamaged) && !errors.Is(err, ErrGap) &&
				!errors.Is(err, ErrLine) && !errors.Is(err, ErrTooLarge) {
				t.Fatal(err)
			}
		}
	})
}
