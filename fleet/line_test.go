package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"tarn/store"
)

func oneTable() []store.TableInfo { return []store.TableInfo{{ID: 1, Name: "rows"}} }

func rowsOf(key string, value int) *Rows {
	r := &Rows{}
	_ = r.Add(1, []byte(key), fmt.Append(nil, value), true)
	return r
}

// Random work of a chain with forks, whose publisher comes now and then: what it publishes leads a replica that
// begins at the start to the chain's head, over no block that readers did not see.
func TestALineLeadsToTheHead(t *testing.T) {
	for seed := range uint64(200) {
		if err := lineWork(seed); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	}
}

func lineWork(seed uint64) error {
	r := rand.New(rand.NewPCG(seed, 2))
	l := NewLine(Point{}, oneTable, 1<<20)
	chain := []Point{{}}   // the writer's
	var shown []Point      // what readers see
	replica := []Point{{}} // what was published
	for step := range 300 {
		switch n := r.IntN(10); {
		case n < 6:
			if r.IntN(5) == 0 {
				chain = chain[:len(chain)-r.IntN(min(len(chain), 5))]
			}
			head := chain[len(chain)-1]
			next := point(head.Revision+1, byte(r.IntN(256)))
			next.ID[3], next.ID[4] = byte(step), byte(step>>8)
			l.Add(Block{Parent: head, Point: next}, Later{Rows: rowsOf(fmt.Sprint(step), step)})
			chain = append(chain, next)
		case n < 8:
			l.Show(chain[max(0, len(chain)-6)], time.Now())
			shown = slices.Clone(chain)
		default:
			at := replica[len(replica)-1]
			m, err := l.Next(at, 1+r.Int64N(3000))
			if err != nil {
				return err
			}
			if m == nil {
				continue
			}
			i := slices.Index(replica, m.Base())
			if i < 0 {
				return fmt.Errorf("step %d: the move begins at a block that was not published", step)
			}
			replica = replica[:i+1]
			for _, b := range m.Blocks {
				replica = append(replica, b.Point)
				if len(b.Rows) == 0 {
					return errors.New("a block has no rows")
				}
				if !slices.Contains(shown, b.Point) {
					return fmt.Errorf("step %d: block %d was not shown", step, b.Revision)
				}
			}
		}
	}
	l.Show(Point{}, time.Now())
	for {
		m, err := l.Next(replica[len(replica)-1], 1<<20)
		if err != nil {
			return err
		}
		if m == nil {
			break
		}
		replica = append(replica[:slices.Index(replica, m.Base())+1], m.To())
	}
	if got, want := replica[len(replica)-1], chain[len(chain)-1]; got != want {
		return fmt.Errorf("it leads to %v, the head is %v", got, want)
	}
	return nil
}

// What does not fit into memory is forgotten, oldest first; who needs it is told.
func TestALineForgetsWhatDoesNotFit(t *testing.T) {
	l := NewLine(Point{}, oneTable, 100_000)
	at := Point{}
	for i := range uint64(50) {
		next := point(i+1, 0)
		l.Add(Block{Parent: at, Point: next, Records: []Record{{0, bytes.Repeat([]byte{1}, 9000)}}},
			Later{Rows: rowsOf("a", int(i))})
		at = next
	}
	l.Show(point(40, 0), time.Now())
	if _, err := l.Next(Point{}, 1<<20); !errors.Is(err, ErrGap) {
		t.Fatalf("the first block is still told: %v", err)
	}
	if l.Knows(Point{}) || !l.Knows(point(45, 0)) {
		t.Fatal("it does not know what it has")
	}
	m, err := l.Next(point(45, 0), 1<<20)
	if err != nil || m == nil || len(m.Blocks) != 5 || m.Final != point(40, 0) {
		t.Fatalf("the last five blocks: %+v, %v", m, err)
	}
	if head, final := l.Head(); head != point(50, 0) || final != point(40, 0) {
		t.Fatalf("head %v, final %v", head, final)
	}
	// A larger block than all the memory is told all the same.
	l.Add(Block{Parent: at, Point: point(51, 0), Records: []Record{{0, make([]byte, 200_000)}}},
		Later{Rows: rowsOf("a", 0)})
	l.Show(at, time.Now())
	if m, err := l.Next(at, 1); err != nil || m == nil || len(m.Blocks) != 1 {
		t.Fatalf("a block larger than the memory: %v, %v", m, err)
	}
}

// The room of rows that were encoded is used again, but that of a large block does not count for those after it.
func TestRoomOfRowsIsUsedAgain(t *testing.T) {
	l := NewLine(Point{}, oneTable, 64<<20)
	rows, at := &Rows{}, Point{}
	for i := range uint64(12) {
		size := 1000
		if i == 2 {
			size = 1 << 20
		}
		if err := rows.Add(1, []byte("a"), make([]byte, size), true); err != nil {
			t.Fatal(err)
		}
		if i > 8 && rows.Size() > 10_000 {
			t.Fatalf("block %d counts for %d bytes", i, rows.Size())
		}
		next := point(i+1, 0)
		l.Add(Block{Parent: at, Point: next}, Later{Rows: rows})
		given := rows
		rows = l.RowsLike(rows)
		l.Show(at, time.Now())
		m, err := l.Next(at, 1)
		if err != nil || m == nil {
			t.Fatal(m, err)
		}
		if again := l.RowsLike(&Rows{}); i == 1 && again != given {
			t.Error("the room of a block is not used again")
		} else if again == given {
			l.giveBack(again)
		}
		at = next
	}
}

// What becomes of a block is known though memory has passed it: it is irreversible, or another one has its place, and it
// may come back.
func TestALineTellsTheFateOfABlock(t *testing.T) {
	l := NewLine(Point{}, oneTable, 1)
	add := func(parent Point, n uint64, branch byte) Point {
		at := point(n, branch)
		l.Add(Block{Parent: parent, Point: at}, Later{Rows: rowsOf("a", int(n))})
		return at
	}
	want := func(what string, final, gone bool) {
		t.Helper()
		if isFinal, isGone := l.Fate(); isFinal != final || isGone != gone {
			t.Errorf("%s: irreversible %t, gone %t", what, isFinal, isGone)
		}
	}
	one := add(Point{}, 1, 0)
	two := add(one, 2, 0)
	l.Watch(two)
	three := add(two, 3, 0)
	add(three, 4, 0)
	l.Show(one, time.Now())
	if l.Has(two) {
		t.Fatal("the block is still in memory")
	}
	want("followed by others", false, false)
	add(two, 3, 1)
	want("followed by a fork", false, false)
	other := add(one, 2, 1)
	want("another in its place", false, true)
	l.Show(other, time.Now())
	want("another irreversible", false, true)
	add(Point{}, 5, 2) // a revision of several blocks, of which it is none
	want("within a revision", false, true)
	l.Show(one, time.Now())
	add(one, 2, 0)
	want("back again", false, false)
	l.Show(two, time.Now())
	want("irreversible", true, false)
	l.Watch(point(9, 9))
	want("a block that never was", false, true)
}
