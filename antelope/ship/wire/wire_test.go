package wire_test

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/blocklog"
	"tarn/antelope/chain"
	"tarn/antelope/serial"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/store/page"
	"tarn/store/revision"
)

// sample is the folder of a chain with the histories that a real nodeos made of it,
// which is not part of the project: TARN_REFERENCE_DATA or a folder shared/data beside
// the checkout.
func sample(t testing.TB) string {
	for _, dir := range []string{os.Getenv("TARN_REFERENCE_DATA"), "../../../../shared/data", "../../../../../shared/data"} {
		path := filepath.Join(dir, "history-sample")
		if _, err := os.Stat(path); dir != "" && err == nil {
			return path
		}
	}
	t.Skip("no reference data; TARN_REFERENCE_DATA names its folder")
	return ""
}

// entries are the payloads of a state-history log, by block.
func entries(t testing.TB, path string) map[uint32][]byte {
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := make(map[uint32][]byte)
	const header = 8 + 32 + 8
	for len(b) > 0 {
		num := binary.BigEndian.Uint32(b[8:])
		size := binary.LittleEndian.Uint64(b[40:])
		payload := b[header : header+size]
		z, err := zlib.NewReader(bytes.NewReader(payload[12:]))
		if err != nil {
			t.Fatal(err)
		}
		if out[num], err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
		b = b[header+size+8:]
	}
	return out
}

// replay calls begin with the chain at its first block, and each with every block of the
// sample's block log after it.
func replay(t testing.TB, dir string, begin func(*chain.Chain), each func(*chain.Executed) error) {
	work := t.TempDir()
	raw, err := os.ReadFile(filepath.Join(dir, "blocks.log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "blocks.log"), raw, 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := blocklog.Open(blocklog.Options{Dir: work})
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	rows, err := page.OpenVolatile(64 << 20)
	if err != nil {
		t.Fatal(err)
	}
	st, err := revision.Open(rows)
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	c, err := chain.Open(st, chain.Options{Blocks: log, Hooks: chain.Hooks{Changes: true, Record: each}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var p blocklog.Preamble
	p.Read(serial.NewReader(raw))
	if err := c.Genesis(p.Genesis); err != nil {
		t.Fatal(err)
	}
	begin(c)
	if err := c.Resume(t.Context(), nil, nil); err != nil {
		t.Fatal(err)
	}
}

func TestTheHistoriesOfASampleAreNodeosOwn(t *testing.T) {
	dir := sample(t)
	traces := entries(t, filepath.Join(dir, "state-history", "trace_history.log"))
	deltas := entries(t, filepath.Join(dir, "state-history", "chain_state_history.log"))
	blocks, wrong := 0, 0
	replay(t, dir, func(c *chain.Chain) {
		if err := c.Publish(); err != nil {
			t.Fatal(err)
		}
		v, err := c.View()
		if err != nil {
			t.Fatal(err)
		}
		defer v.Close()
		var got bytes.Buffer
		if err := wire.WriteState(&got, v); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got.Bytes(), deltas[1]) {
			t.Errorf("the first state differs\n got %s\nwant %s", describe(got.Bytes()), describe(deltas[1]))
		}
	}, func(x *chain.Executed) error {
		num := x.Block.BlockNum
		blocks++
		got, err := wire.AppendTraces(nil, x.Transactions, false)
		if err != nil {
			return err
		}
		if want, ok := traces[num]; ok && !bytes.Equal(got, want) {
			t.Errorf("block %d: traces differ\n got %x\nwant %x", num, got, want)
			wrong++
		}
		if got, want := wire.AppendDeltas(nil, x.Changes), deltas[num]; !bytes.Equal(got, want) {
			t.Errorf("block %d: rows differ\n got %s\nwant %s", num, describe(got), describe(want))
			wrong++
		}
		if wrong > 5 {
			return fmt.Errorf("that is enough")
		}
		return nil
	})
	if blocks < 500 { // the logs have the reversible blocks too
		t.Errorf("%d blocks of the log, %d entries", blocks, len(deltas))
	}
}

// describe lists the rows of encoded deltas.
func describe(b []byte) string {
	var s bytes.Buffer
	r := serial.NewReader(b)
	for range r.Varuint32() {
		r.Varuint32()
		fmt.Fprintf(&s, "\n %s", r.String())
		for range r.Varuint32() {
			sign := "-"
			if r.Bool() {
				sign = "+"
			}
			row := r.Bytes()
			var name [8]byte
			copy(name[:], row[1:])
			fmt.Fprintf(&s, "\n  %s %s %x", sign, types.Name(binary.LittleEndian.Uint64(name[:])), row)
		}
	}
	if err := r.End(); err != nil {
		fmt.Fprintf(&s, "\n %v", err)
	}
	return s.String()
}

func TestTheFirstFrameIsNodeosOwn(t *testing.T) {
	want, err := os.ReadFile(filepath.Join(sample(t), "abi-frame.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(wire.ABI, want) {
		t.Error("it differs")
	}
}

// FuzzRequest: whatever comes is a request or an error, and costs no more than it has
// bytes.
func FuzzRequest(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 1, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 1, 1})
	f.Add([]byte{2, 7, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := wire.DecodeRequest(b)
		if err == nil && !q.Status && q.Blocks == nil && q.Ack == nil {
			t.Error("nothing is asked")
		}
	})
}
