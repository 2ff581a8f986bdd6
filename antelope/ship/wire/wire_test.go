package wire_test

import (
	"bytes"
	"compress/zlib"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/serial"
	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

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

func TestTheHistoriesOfASampleAreNodeosOwn(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	traces := entries(t, filepath.Join(dir, "state-history", "trace_history.log"))
	deltas := entries(t, filepath.Join(dir, "state-history", "chain_state_history.log"))
	blocks, wrong := 0, 0
	begin := func(c *chain.Chain) error {
		if err := c.Publish(); err != nil {
			return err
		}
		v, err := c.View()
		if err != nil {
			return err
		}
		defer v.Close()
		var got bytes.Buffer
		if err := wire.WriteState(&got, v); err != nil {
			return err
		}
		if !bytes.Equal(got.Bytes(), deltas[1]) {
			t.Errorf("the first state differs\n got %s\nwant %s", describe(got.Bytes()), describe(deltas[1]))
		}
		return nil
	}
	record := func(x *chain.Executed) error {
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
	}
	if err := chaintest.Replay(t.Context(), dir, t.TempDir(), chain.Hooks{Changes: true, Record: record},
		begin); err != nil {
		t.Fatal(err)
	}
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
	want, err := os.ReadFile(filepath.Join(refdata.Path(t, "history-sample"), "abi-frame.json"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(wire.Leap.ABI(), want) {
		t.Error("it differs")
	}
}

// Spring 1.2.2's first frame has this hash.
func TestTheFirstFrameOfSpringIsItsOwn(t *testing.T) {
	const want = "f17a3bc91db1baa017c78ed31ed82eb52a4f4f12b661d59d15815bc9fab0e12e"
	b := wire.Spring.ABI()
	if got := sha256.Sum256(b); hex.EncodeToString(got[:]) != want {
		t.Errorf("%d bytes with the hash %x", len(b), got)
	}
}

// Who speaks as Leap does refuses what only Spring knows.
func TestOnlySpringKnowsTheNewRequests(t *testing.T) {
	for _, b := range [][]byte{{3, 1, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 1, 1, 1}, {4}} {
		if q, err := wire.Leap.DecodeRequest(b); err == nil {
			t.Errorf("Leap takes % x for %+v", b, q)
		}
		q, err := wire.Spring.DecodeRequest(b)
		if err != nil || (q.Blocks == nil || !q.Blocks.V1 || !q.Blocks.Finality) && (q.Status == nil || !q.Status.V1) {
			t.Errorf("Spring takes % x for %+v, %v", b, q, err)
		}
	}
	if _, err := wire.Spring.DecodeRequest([]byte{5}); err == nil {
		t.Error("Spring takes an unknown request")
	}
}

// FuzzRequest: whatever comes is a request or an error, and costs no more than it has
// bytes.
func FuzzRequest(f *testing.F) {
	f.Add([]byte{0})
	f.Add([]byte{1, 1, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 1, 1})
	f.Add([]byte{2, 7, 0, 0, 0})
	f.Add([]byte{3, 1, 0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 0, 0, 1, 1, 1, 1})
	f.Add([]byte{4})
	f.Fuzz(func(t *testing.T, b []byte) {
		q, err := wire.Spring.DecodeRequest(b)
		if _, older := wire.Leap.DecodeRequest(b); older == nil && err != nil {
			t.Errorf("Leap knows the request, and Spring says %v", err)
		}
		if err == nil && q.Status == nil && q.Blocks == nil && q.Ack == nil {
			t.Error("nothing is asked")
		}
	})
}

// FuzzOlder: what a replica or a node sends is taken, and is the same when it is packed again, or is an error.
func FuzzOlder(f *testing.F) {
	f.Add(new(wire.OlderRequest{IDs: []uint32{1, 2}, Start: 3, End: 4, Offset: 5, Most: 6}).Append(nil))
	f.Add(new(wire.Older{First: 1, IDs: []wire.Position{{Num: 2}}, Blocks: []wire.OlderBlock{{Data: []byte{1}}}}).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if q, err := wire.DecodeOlderRequest(b); err == nil {
			if again, err := wire.DecodeOlderRequest(q.Append(nil)); err != nil || !reflect.DeepEqual(q, again) {
				t.Errorf("%+v becomes %+v, %v", q, again, err)
			}
		}
		if a, err := wire.DecodeOlder(b); err == nil {
			if again, err := wire.DecodeOlder(a.Append(nil)); err != nil || !reflect.DeepEqual(a, again) {
				t.Errorf("%+v becomes %+v, %v", a, again, err)
			}
		}
	})
}
