package wire

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"

	"tarn/antelope/abi"
)

// Checker tells whether contents of the logs can be decoded by the ABI that clients get.
// One goroutine uses it.
type Checker struct {
	codec *abi.Codec
	text  []byte // of the value that was decoded last
	buf   []byte
}

// NewChecker reads the ABI.
func NewChecker() (*Checker, error) {
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(Spring.ABI(), &parts); err != nil { // it has all of Leap's
		return nil, fmt.Errorf("read the ABI of state history: %w", err)
	}
	delete(parts, "tables") // their names are not names of the chain; they are those of the types
	text, err := json.Marshal(parts)
	if err != nil {
		return nil, err
	}
	def, err := abi.Parse(string(text))
	if err != nil {
		return nil, fmt.Errorf("read the ABI of state history: %w", err)
	}
	codec, err := abi.New(def, nil)
	if err != nil {
		return nil, fmt.Errorf("read the ABI of state history: %w", err)
	}
	return &Checker{codec: codec}, nil
}

// mostTraces bounds the traces of one block, in bytes.
const mostTraces = 1 << 30

// Traces decodes the content of an entry of traces.
func (c *Checker) Traces(r io.Reader) error { return c.whole(r, "transaction_trace[]", mostTraces) }

// whole decodes a value that is all of an entry, of so many bytes at most.
func (c *Checker) whole(r io.Reader, typ string, most int64) error {
	b, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return err
	}
	if int64(len(b)) > most {
		return fmt.Errorf("more than %d bytes of %s", most, typ)
	}
	return c.value(typ, b)
}

func (c *Checker) value(typ string, b []byte) error {
	text, err := c.codec.DecodeAll(c.text[:0], typ, b, nil)
	c.text = text[:0]
	if cap(c.text) > 16<<20 {
		c.text = nil
	}
	if err != nil {
		return fmt.Errorf("decode %s: %w", typ, err)
	}
	return nil
}

// finalityData is the type of an entry of finality data, mostFinality bounds one in bytes: it names
// at most 65536 finalizers.
const (
	finalityData = "finality_data"
	mostFinality = 64 << 20
)

// Finality decodes the content of an entry of finality data.
func (c *Checker) Finality(r io.Reader) error { return c.whole(r, finalityData, mostFinality) }

// Deltas decodes the content of an entry of changes. A whole state may be large: a row at
// a time is in memory.
func (c *Checker) Deltas(from io.Reader) error {
	r := bufio.NewReaderSize(from, 64<<10)
	tables, err := count(r)
	for i := uint64(0); i < tables && err == nil; i++ {
		err = c.table(r)
	}
	if err != nil {
		return err
	}
	if n, err := io.Copy(io.Discard, r); err != nil || n > 0 {
		return errors.Join(err, fmt.Errorf("%d bytes follow the last table", n))
	}
	return nil
}

func (c *Checker) table(r *bufio.Reader) error {
	version, err := count(r)
	if err != nil {
		return err
	}
	if version != 0 {
		return fmt.Errorf("table_delta of version %d", version)
	}
	if err := c.bytes(r); err != nil {
		return err
	}
	name := string(c.buf)
	if !c.codec.IsType(name) {
		return fmt.Errorf("a table %q, which the ABI does not have", name)
	}
	rows, err := count(r)
	if err != nil {
		return err
	}
	for i := range rows {
		present, err := r.ReadByte()
		if err == nil && present > 1 {
			err = fmt.Errorf("present is %d", present)
		}
		if err == nil {
			err = c.bytes(r)
		}
		if err == nil {
			err = c.value(name, c.buf)
		}
		if err != nil {
			return fmt.Errorf("row %d of table %s: %w", i, name, ended(err))
		}
	}
	return nil
}

// bytes reads bytes behind their length. It takes memory only for those that are there.
func (c *Checker) bytes(r *bufio.Reader) error {
	n, err := count(r)
	if err != nil {
		return err
	}
	if n > mostTraces {
		return fmt.Errorf("a value of %d bytes", n)
	}
	c.buf = c.buf[:0]
	for left := int(n); left > 0; {
		piece := min(left, 1<<20)
		at := len(c.buf)
		c.buf = append(c.buf, make([]byte, piece)...)
		if _, err := io.ReadFull(r, c.buf[at:]); err != nil {
			return ended(err)
		}
		left -= piece
	}
	return nil
}

func count(r *bufio.Reader) (uint64, error) {
	n, err := binary.ReadUvarint(r)
	if err == nil && n > math.MaxUint32 {
		err = fmt.Errorf("a count of %d", n)
	}
	return n, ended(err)
}

// ended is an error of what ends within a value.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
