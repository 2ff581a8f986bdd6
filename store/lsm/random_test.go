package lsm

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

var seedFlag = flag.Uint64("seed", 0, "seed of the random tests; 0 takes one from the clock")

// random returns a source whose seed is printed with a failure.
func random(t *testing.T) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("repeat with -run '^%s$' -seed=%d", t.Name(), seed)
		}
	})
	return rand.New(rand.NewPCG(seed, 1))
}

// listCursor walks rows in memory.
type listCursor struct {
	rows [][2][]byte
	i    int
}

func (c *listCursor) at(key []byte) int {
	i, _ := slices.BinarySearchFunc(c.rows, key, func(r [2][]byte, k []byte) int { return bytes.Compare(r[0], k) })
	return i
}
func (c *listCursor) to(i int) bool          { c.i = i; return c.Valid() }
func (c *listCursor) First() bool            { return c.to(0) }
func (c *listCursor) Last() bool             { return c.to(len(c.rows) - 1) }
func (c *listCursor) Seek(key []byte) bool   { return c.to(c.at(key)) }
func (c *listCursor) SeekLT(key []byte) bool { return c.to(c.at(key) - 1) }
func (c *listCursor) Next() bool             { return c.Valid() && c.to(c.i+1) }
func (c *listCursor) Prev() bool             { return c.Valid() && c.to(c.i-1) }
func (c *listCursor) Valid() bool            { return c.i >= 0 && c.i < len(c.rows) }
func (c *listCursor) Key() []byte            { return c.rows[c.i][0] }
func (c *listCursor) Value() []byte          { return c.rows[c.i][1] }
func (c *listCursor) Err() error             { return nil }
func (c *listCursor) Close() error           { return nil }
