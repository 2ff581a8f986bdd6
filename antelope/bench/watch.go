package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tarn/internal/figures"
)

// produced is a block as the log has it.
type produced struct {
	num    int
	said   time.Time // when the line was written
	slot   time.Time // the block's own time
	trxs   int
	making time.Duration // what the node took for it, as it says
}

// collection is one of Go's garbage collections, as GODEBUG=gctrace=1 has it.
type collection struct {
	pauses        [2]time.Duration // the world stood still
	before, after int64            // heap at its begin; live at its end; in bytes, of whole MB
	accepted      int              // transactions in the blocks before it
}

// watcher reads a node's log while it grows.
type watcher struct {
	file        *os.File
	rest        []byte
	blocks      []produced
	collections []collection
}

// Of both versions: 4.1 has a second number, and another word for who signed.
var (
	producedLine  = regexp.MustCompile(`(\S+T\S+) .*Produced block \S+ #(\d+)(?: \d+)? @ (\S+) .*\[trxs: (\d+),.* time: (\d+)`)
	collectedLine = regexp.MustCompile(`^gc \d+ @.*: ([0-9.]+)\+[0-9.]+\+([0-9.]+) ms clock,.* (\d+)->\d+->(\d+) MB`)
)

// watch begins at the log's present end.
func (n *node) watch() (*watcher, error) {
	f, err := os.Open(n.LogFile())
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return &watcher{file: f}, err
}

func (w *watcher) close() { w.file.Close() }

// read takes what has been written since.
func (w *watcher) read() error {
	more, err := io.ReadAll(w.file)
	if err != nil {
		return err
	}
	w.rest = append(w.rest, more...)
	for {
		line, rest, whole := bytes.Cut(w.rest, []byte("\n"))
		if !whole {
			return nil
		}
		w.rest = rest
		if err := w.line(line); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
}

func (w *watcher) line(line []byte) (err error) {
	if m := collectedLine.FindSubmatch(line); m != nil {
		var c collection
		for i := range c.pauses {
			ms, _ := strconv.ParseFloat(string(m[i+1]), 64) // digits and a point
			c.pauses[i] = time.Duration(ms * 1e6)
		}
		before, _ := strconv.Atoi(string(m[3]))
		after, _ := strconv.Atoi(string(m[4]))
		c.before, c.after = int64(before)<<20, int64(after)<<20
		c.accepted = w.accepted()
		w.collections = append(w.collections, c)
		return nil
	}
	m := producedLine.FindSubmatch(line)
	if m == nil {
		return nil
	}
	var b produced
	const layout = "2006-01-02T15:04:05.999"
	if b.said, err = time.Parse(layout, string(m[1])); err != nil {
		return err
	}
	if b.slot, err = time.Parse(layout, string(m[3])); err != nil {
		return err
	}
	b.num, _ = strconv.Atoi(string(m[2]))
	b.trxs, _ = strconv.Atoi(string(m[4]))
	us, err := strconv.Atoi(string(m[5]))
	b.making = time.Duration(us) * time.Microsecond
	w.blocks = append(w.blocks, b)
	return err
}

// accepted counts the transactions in the blocks.
func (w *watcher) accepted() (sum int) {
	for _, b := range w.blocks {
		sum += b.trxs
	}
	return sum
}

// full is how many transactions there are in a second of blocks, those in the first
// and the last block that have some left out: it was being filled for a part of its
// time only. It is 0 if there are no others.
func (w *watcher) full() float64 {
	busy := only(w.blocks, func(b produced) bool { return b.trxs > 0 })
	if len(busy) < 3 {
		return 0
	}
	sum := 0
	for _, b := range busy[1 : len(busy)-1] {
		sum += b.trxs
	}
	return float64(sum) / busy[len(busy)-2].slot.Sub(busy[0].slot).Seconds()
}

// Pace is how a node's blocks went. Times are in nanoseconds.
type Pace struct {
	Blocks          int     // that came after another
	P50, P99, Worst float64 // between two blocks
	Making          float64 // longest that a block took, as the node says
}

func (w *watcher) pace() Pace {
	gaps := w.gaps()
	p := Pace{Blocks: int(gaps.Count), P50: gaps.Quantile(0.5), P99: gaps.Quantile(0.99), Worst: gaps.Quantile(1 - 1e-9)}
	for _, x := range w.blocks {
		p.Making = max(p.Making, float64(x.making))
	}
	return p
}

// gaps are the times between two blocks.
func (w *watcher) gaps() *figures.Latencies {
	var l figures.Latencies
	for i := 1; i < len(w.blocks); i++ {
		l.Add(w.blocks[i].said.Sub(w.blocks[i-1].said))
	}
	return &l
}

// garbage is what was allocated for each transaction, in bytes, while the last two thirds
// of them came: by then what a node remembers of its users is there. It is 0 if there
// were too few collections to tell.
func (w *watcher) garbage() float64 {
	from := slices.IndexFunc(w.collections, func(c collection) bool { return 3*c.accepted >= w.accepted() })
	if from < 0 || from == len(w.collections)-1 {
		return 0
	}
	late := w.collections[from:]
	n := late[len(late)-1].accepted - late[0].accepted
	if n == 0 {
		return 0
	}
	sum := int64(0)
	for i := 1; i < len(late); i++ {
		sum += late[i].before - late[i-1].after
	}
	return float64(sum) / float64(n)
}
