package bench

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"time"

	"tarn/internal/figures"
)

// produced is a block as the log has it.
type produced struct {
	num  int
	said time.Time // when the line was written
	slot time.Time // the block's own time
	trxs int
}

// logReader reads a node's log while it grows.
type logReader struct {
	file   *os.File
	rest   []byte
	blocks []produced
}

// Of both versions: 4.1 has a second number, and another word for who signed.
var producedLine = regexp.MustCompile(`(\S+T\S+) .*Produced block \S+ #(\d+)(?: \d+)? @ (\S+) .*\[trxs: (\d+),`)

// watch begins at the log's present end.
func (n *node) watch() (*logReader, error) {
	f, err := os.Open(n.LogFile())
	if err != nil {
		return nil, err
	}
	_, err = f.Seek(0, io.SeekEnd)
	return &logReader{file: f}, err
}

func (w *logReader) close() { w.file.Close() }

// read takes what has been written since.
func (w *logReader) read() error {
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

func (w *logReader) line(line []byte) (err error) {
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
	w.blocks = append(w.blocks, b)
	return nil
}

// accepted counts the transactions in the blocks.
func (w *logReader) accepted() (sum int) {
	for _, b := range w.blocks {
		sum += b.trxs
	}
	return sum
}

// full is how many transactions there are in a second of blocks, those in the first
// and the last block that have some left out: it was being filled for a part of its
// time only. It is 0 if there are no others.
func (w *logReader) full() float64 {
	busy := figures.Only(w.blocks, func(b produced) bool { return b.trxs > 0 })
	if len(busy) < 3 {
		return 0
	}
	sum := 0
	for _, b := range busy[1 : len(busy)-1] {
		sum += b.trxs
	}
	return float64(sum) / busy[len(busy)-2].slot.Sub(busy[0].slot).Seconds()
}
