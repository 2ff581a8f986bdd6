package wire_test

import (
	"bufio"
	"bytes"
	"compress/flate"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/serial"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// slices are nodeos' files of one kind, inflated, by name.
func slices(t testing.TB, dir, kind string) map[string][]byte {
	names, err := filepath.Glob(filepath.Join(dir, "traces", kind+"_0*"))
	if err != nil || len(names) == 0 {
		t.Fatalf("no files of %s: %v", kind, err)
	}
	out := make(map[string][]byte)
	for _, name := range names {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".clog") {
			if b, err = io.ReadAll(flate.NewReader(bytes.NewReader(b))); err != nil {
				t.Fatal(err)
			}
		}
		out[strings.TrimSuffix(strings.TrimPrefix(filepath.Base(name), kind), filepath.Ext(name))] = b
	}
	return out
}

// own makes nodeos' files from entries: those of traces, index and ids, by the slice.
type own struct{ traces, index, ids map[string][]byte }

func sliceOf(num uint32) string {
	const stride = 20
	return fmt.Sprintf("_%010d-%010d", num/stride*stride, num/stride*stride+stride)
}

func (o *own) add(b *wire.Block, ids *wire.Transactions) {
	name := sliceOf(b.Number)
	o.ids[name] = wire.Entry{Transactions: ids}.Append(o.ids[name])
	at := &wire.Position{ID: b.ID, Number: b.Number, Offset: uint64(len(o.traces[name]))}
	o.traces[name] = b.Append(o.traces[name])
	o.index[name] = wire.Entry{Block: at}.Append(o.index[name])
}

// What is recorded of a chain is what nodeos recorded of it. The sample's node produced
// the blocks itself, so it knew no id of them when it executed what is in them; and when
// it learned what is irreversible is its own affair.
func TestTheTracesOfASampleAreNodeosOwn(t *testing.T) {
	dir := refdata.Path(t, "history-sample")
	o := own{map[string][]byte{}, map[string][]byte{}, map[string][]byte{}}
	blocks := 0
	record := func(x *chain.Executed) error {
		b, ids, err := wire.Record(x)
		if err != nil {
			return err
		}
		for i := range b.Transactions {
			if p := b.Transactions[i].Place; p.Producer == nil || *p.Producer != b.ID {
				return fmt.Errorf("block %d: a received transaction is of block %v", b.Number, p.Producer)
			}
			b.Transactions[i].Place.Producer = nil
		}
		blocks++
		o.add(b, ids)
		return nil
	}
	if err := chaintest.Replay(t.Context(), dir, t.TempDir(), chain.Hooks{Record: record}, nil); err != nil {
		t.Fatal(err)
	}
	if blocks < 500 {
		t.Errorf("only %d blocks", blocks)
	}
	// The last blocks were reversible, and are in nodeos' files only.
	same(t, "trace", o.traces, slices(t, dir, "trace"), func(b []byte) []byte { return b })
	same(t, "trace_index", o.index, slices(t, dir, "trace_index"), func(b []byte) []byte {
		if len(b) < 4 || binary.LittleEndian.Uint32(b) != wire.IndexVersion {
			t.Fatalf("an index begins with %x", b[:min(4, len(b))])
		}
		return withoutIrreversible(t, b[4:])
	})
	same(t, "trace_trx_id", o.ids, slices(t, dir, "trace_trx_id"),
		func(b []byte) []byte { return withoutIrreversible(t, b) })
}

// same compares all slices that we have with nodeos', which may go on in the last.
func same(t *testing.T, kind string, got, want map[string][]byte, cleaned func([]byte) []byte) {
	last := ""
	for name := range got {
		last = max(last, name)
	}
	for name, b := range got {
		w := cleaned(want[name])
		if !bytes.Equal(b, w) && (name != last || !bytes.HasPrefix(w, b)) {
			t.Errorf("%s%s differs\n got %x\nwant %x", kind, name, b, w)
		}
	}
}

// withoutIrreversible leaves out the entries that tell what is irreversible.
func withoutIrreversible(t *testing.T, b []byte) (out []byte) {
	for r := serial.NewReader(b); r.Len() > 0; {
		var e wire.Entry
		at := r.Offset()
		if e.Read(r); r.Err() != nil {
			t.Fatalf("the entry at %d: %v", at, r.Err())
		}
		if !bytes.Equal(e.Append(nil), b[at:r.Offset()]) {
			t.Errorf("the entry at %d is not written as it was read", at)
		}
		if e.Irreversible == nil {
			out = append(out, b[at:r.Offset()]...)
		}
	}
	return out
}

// example is a block with one of everything.
func example() *wire.Block {
	id := types.Checksum256{1}
	return &wire.Block{
		ID: types.Checksum256{0, 0, 0, 7}, Number: 7, Previous: types.Checksum256{0, 0, 0, 6},
		Timestamp: 8, Producer: 9,
		Roots: &wire.Roots{Transactions: types.Checksum256{2}, Actions: types.Checksum256{3}, ScheduleVersion: 4},
		Transactions: []wire.Transaction{{
			ID: id,
			Actions: []wire.Action{{
				GlobalSequence: 5, Receiver: 6, Account: 7, Name: 8,
				Authorization: []types.PermissionLevel{{Actor: 9, Permission: 10}}, Data: []byte("data"),
				ReturnValue: []byte("value"),
			}},
			Receipt: &wire.Receipt{Status: types.StatusSoftFail, CPUUsageUS: 100, NetUsageWords: 300,
				Signatures: make([]types.Signature, 1),
				Header:     types.TransactionHeader{RefBlockNum: 11}},
			Place: &wire.Place{Number: 7, Time: 8, Producer: &id},
		}},
	}
}

// old is the example as versions before wrote it: of blocks, and of their transactions.
func old(block, transactions byte) []byte {
	x := example()
	b := binary.LittleEndian.AppendUint32(x.ID.Append([]byte{block}), x.Number)
	b = x.Producer.Append(x.Timestamp.Append(x.Previous.Append(b)))
	trx := &x.Transactions[0]
	action := func(b []byte) []byte {
		a := &trx.Actions[0]
		b = a.Receiver.Append(binary.LittleEndian.AppendUint64(append(b, 1), a.GlobalSequence))
		b = a.Authorization[0].Append(append(a.Name.Append(a.Account.Append(b)), 1))
		return serial.AppendBytes(b, a.Data)
	}
	receipt := func(b []byte) []byte {
		r := trx.Receipt
		b = binary.LittleEndian.AppendUint32(append(b, byte(r.Status)), r.CPUUsageUS)
		return r.Header.Append(r.Signatures[0].Append(append(b, 0xac, 2, 1)))
	}
	roots := func(b []byte) []byte {
		return binary.LittleEndian.AppendUint32(x.Roots.Actions.Append(x.Roots.Transactions.Append(b)),
			x.Roots.ScheduleVersion)
	}
	switch block {
	case 0:
		return action(trx.ID.Append(append(b, 1)))
	case 1:
		return receipt(action(trx.ID.Append(append(roots(append(b, 0)), 1))))
	}
	b = action(append(trx.ID.Append(append(roots(b), transactions, 1)), 0))
	return receipt(serial.AppendBytes(b, trx.Actions[0].ReturnValue))
}

// Entries of every version say the same, as far as they say it.
func TestAllVersionsAreRead(t *testing.T) {
	for _, c := range []struct {
		name                    string
		data                    []byte
		roots, receipt, returns bool
		place                   bool
	}{
		{name: "v0", data: old(0, 0)},
		{name: "v1", data: old(1, 0), roots: true, receipt: true},
		{name: "v2 with transactions v2", data: old(2, 0), roots: true, receipt: true, returns: true},
		{name: "v2 with transactions v3", data: example().Append(nil), roots: true, receipt: true, returns: true, place: true},
	} {
		want := example()
		if !c.roots {
			want.Roots = &wire.Roots{}
		}
		x := &want.Transactions[0]
		if !c.receipt {
			x.Receipt = &wire.Receipt{}
		}
		if !c.place {
			x.Place = &wire.Place{}
		}
		if !c.returns {
			x.Actions[0].ReturnValue = nil
		}
		var got wire.Block
		if err := types.Decode(c.data, &got); err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if (got.Roots != nil) != c.roots || (got.Transactions[0].Receipt != nil) != c.receipt ||
			(got.Transactions[0].Place != nil) != c.place {
			t.Errorf("%s: it has parts that the version does not have, or lacks some: %+v", c.name, got)
		}
		complete(&got)
		if !bytes.Equal(got.Append(nil), want.Append(nil)) {
			t.Errorf("%s:\n got %+v\nwant %+v", c.name, got, want)
		}
	}
}

// complete gives a block what its version does not have, so that it can be written.
func complete(b *wire.Block) {
	if b.Roots == nil {
		b.Roots = &wire.Roots{}
	}
	for i := range b.Transactions {
		x := &b.Transactions[i]
		if x.Receipt == nil {
			x.Receipt = &wire.Receipt{}
		}
		if x.Place == nil {
			x.Place = &wire.Place{}
		}
	}
}

// Whatever the bytes are, they are refused, or what was read is written and read again.
func FuzzBlock(f *testing.F) {
	for _, b := range [][]byte{old(0, 0), old(1, 0), old(2, 0), example().Append(nil)} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x, again wire.Block
		if types.Decode(data, &x) != nil {
			return
		}
		complete(&x)
		b := x.Append(nil)
		if err := types.Decode(b, &again); err != nil {
			t.Fatalf("what was written is not read: %v", err)
		}
		if !bytes.Equal(again.Append(nil), b) {
			t.Fatal("it is not what was written")
		}
	})
}

// FuzzSkim: an entry that is skimmed is as long as one that is read, and is refused or too short
// where that is: what one finds is not whole the other cuts off.
func FuzzSkim(f *testing.F) {
	lib := uint32(7)
	for _, e := range []wire.Entry{
		{Block: &wire.Position{Number: 7, Offset: 8}}, {Irreversible: &lib},
		{Transactions: &wire.Transactions{IDs: make([]types.Checksum256, 2), Number: 7}},
	} {
		b := e.Append(nil)
		f.Add(b)
		f.Add(b[:len(b)-1])
		f.Add(append([]byte{b[0] | 0x80, 0}, b[1:]...))
	}
	for _, b := range [][]byte{nil, {0xf2, 0xfb}, {3}, {0x82, 2}, {0x81, 0x80, 0x80, 0x80, 0x80, 7, 0, 0, 0},
		{2, 0xff, 0xff, 0xff, 0xff, 0xff}} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x wire.Entry
		r := serial.NewReader(data)
		x.Read(r)
		h, err := wire.Skim(bufio.NewReader(bytes.NewReader(data)))
		switch {
		case len(data) == 0:
			if err != io.EOF {
				t.Fatalf("of nothing %v is skimmed", err)
			}
		case r.Err() == nil:
			whole := err == nil && h.Bytes == int64(r.Offset())
			switch {
			case x.Block != nil:
				whole = whole && h.Kind == wire.BlockKind && h.Number == x.Block.Number && h.ID == x.Block.ID &&
					h.Offset == x.Block.Offset
			case x.Irreversible != nil:
				whole = whole && h.Kind == wire.IrreversibleKind && h.Number == *x.Irreversible
			default:
				whole = whole && h.Kind == wire.IDsKind && h.Number == x.Transactions.Number
			}
			if !whole {
				t.Fatalf("%d bytes are an entry, and %+v, %v is skimmed", r.Offset(), h, err)
			}
		case errors.Is(r.Err(), serial.ErrValue):
			if !errors.Is(err, serial.ErrValue) {
				t.Fatalf("it is read with %v, and skimmed with %v", r.Err(), err)
			}
		default: // more ids than any entry may have are more than are there
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Fatalf("it is read with %v, and skimmed with %v", r.Err(), err)
			}
		}
	})
}

// FuzzEntry is the same for the entries of the other files.
func FuzzEntry(f *testing.F) {
	lib := uint32(7)
	for _, e := range []wire.Entry{
		{Block: &wire.Position{Number: 7, Offset: 8}}, {Irreversible: &lib},
		{Transactions: &wire.Transactions{IDs: make([]types.Checksum256, 2), Number: 7}},
	} {
		f.Add(e.Append(nil))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var x, again wire.Entry
		if types.Decode(data, &x) != nil {
			return
		}
		b := x.Append(nil)
		if err := types.Decode(b, &again); err != nil || !bytes.Equal(again.Append(nil), b) {
			t.Fatalf("it is not what was written: %v", err)
		}
	})
}
