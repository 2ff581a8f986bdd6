package p2p

import (
	"bytes"
	"errors"
	"math/big"
	"reflect"
	"runtime"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
)

func encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A list of ten million empty items fits a message, and makes others of 24 bytes each.
func TestLongListsAreRefusedBeforeTheyCostMemory(t *testing.T) {
	bomb := append([]byte{0xfa, 0x9f, 0xff, 0xfa}, bytes.Repeat([]byte{0x80}, 0x9ffffa)...)
	list := append([]byte{0xfa, 0x8f, 0xff, 0xfa}, bytes.Repeat([]byte{0x80}, 0x8ffffa)...)
	inChunk := encode(t, []any{uint(1), true, rlp.RawValue{0xc0}, rlp.RawValue(list)})
	var before, later runtime.MemStats
	runtime.ReadMemStats(&before)
	for what, err := range map[string]error{
		"events": second(decodeEvents(bomb)), "ids": second(decodeHashes[inter.EventID](bomb)),
		"hashes": second(decodeHashes[common.Hash](bomb)), "transactions": second(decodeTxs(bomb)),
		"a chunk": second(decodeEventsChunk(inChunk)), "parts of a chunk": second(decodeEventsChunk(bomb)),
	} {
		if err == nil {
			t.Errorf("%s: ten million are allowed", what)
		}
	}
	runtime.ReadMemStats(&later)
	if took := later.TotalAlloc - before.TotalAlloc; took > 64<<10 {
		t.Errorf("refusing took %d bytes", took)
	}
}

func second[T any](_ T, err error) error { return err }

func TestListsOfNothingAreRefused(t *testing.T) {
	for what, err := range map[string]error{
		"events": second(decodeEvents([]byte{0xc0})), "ids": second(decodeHashes[inter.EventID]([]byte{0xc0})),
		"transactions": second(decodeTxs([]byte{0xc0})),
	} {
		if !errors.Is(err, errEmpty) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if c, err := decodeEventsChunk(encode(t, []any{uint(5), true, []any{}, []any{}})); err != nil || !c.Done ||
		c.Session != 5 {
		t.Errorf("a last part without events: %+v, %v", c, err)
	}
	both := encode(t, []any{uint(5), true, [][]byte{make([]byte, 32)}, [][]byte{{1}}})
	if _, err := decodeEventsChunk(both); err == nil {
		t.Error("a part of both kinds is allowed")
	}
}

// What is sent is what the other side reads.
func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	c := &chunk{session: 9, done: true, keys: [][]byte{bytes.Repeat([]byte{7}, 32)},
		items: [][]byte{encode(t, []byte("event"))}}
	got, err := decodeEventsChunk(c.encodeEvents(false))
	if err != nil || got.Session != 9 || !got.Done || len(got.IDs) != 0 ||
		!reflect.DeepEqual(got.Events, [][]byte{[]byte("event")}) {
		t.Errorf("events: %+v, %v", got, err)
	}
	got, err = decodeEventsChunk(c.encodeEvents(true))
	if err != nil || len(got.Events) != 0 || len(got.IDs) != 1 || !bytes.Equal(got.IDs[0][:], c.keys[0]) {
		t.Errorf("ids: %+v, %v", got, err)
	}
	records := new(struct {
		Session uint32
		Done    bool
		Items   [][]byte
	})
	if err := decode(c.encodeRecords(), records); err != nil || string(records.Items[0]) != "event" {
		t.Errorf("records: %+v, %v", records, err)
	}
	tx := types.NewTx(&types.DynamicFeeTx{ChainID: big.NewInt(1), Gas: 21000, V: new(big.Int), R: new(big.Int),
		S: new(big.Int)})
	if txs, err := decodeTxs(encode(t, types.Transactions{tx})); err != nil || txs[0].Hash() != tx.Hash() {
		t.Errorf("transactions: %v", err)
	}
	numbers := &request[inter.Epoch]{Session: session[inter.Epoch]{3, 4, 5}, Limit: limit{6, 7}, MaxChunks: 8}
	a := &answers{o: &Options{Records: none{}}}
	r, _, err := a.records(message{codeRequestEpochPacks, encode(t, numbers)})
	if err != nil || !bytes.Equal(r.Session.Start, []byte{0, 0, 0, 4}) || r.Limit != (limit{6, 7}) || r.MaxChunks != 8 {
		t.Errorf("a request for epochs: %+v, %v", r, err)
	}
}

func FuzzLists(f *testing.F) {
	f.Add([]byte{0xc0})
	f.Add(encode(f, [][]byte{make([]byte, 32), {1}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if list, err := decodeEvents(raw); err == nil {
			if !bytes.Equal(encode(t, list), raw) {
				t.Error("events are another list")
			}
			for _, e := range list {
				_, _ = inter.DecodePayload(e)
			}
		}
		if list, err := decodeHashes[inter.EventID](raw); err == nil && !bytes.Equal(encode(t, list), raw) {
			t.Error("ids are another list")
		}
		if txs, err := decodeTxs(raw); err == nil && !bytes.Equal(encode(t, txs), raw) {
			t.Error("transactions are another list")
		}
	})
}

func FuzzEventsChunk(f *testing.F) {
	f.Add(encode(f, []any{uint(5), true, []any{}, []any{[]byte{1}}}))
	f.Add(encode(f, []any{uint(5), false, [][]byte{make([]byte, 32)}, []any{}}))
	f.Fuzz(func(t *testing.T, raw []byte) {
		if c, err := decodeEventsChunk(raw); err == nil && !bytes.Equal(encode(t, c), raw) {
			t.Error("it is another one")
		}
	})
}

func FuzzRequests(f *testing.F) {
	r := request[[]byte]{Session: session[[]byte]{1, []byte{0, 0, 0, 1}, []byte{0, 0, 0, 2}},
		Limit: limit{500, 512 << 10}, Type: 2, MaxChunks: 6}
	f.Add(uint8(codeRequestEvents), encode(f, &r))
	f.Add(uint8(codeRequestBlockRecords),
		encode(f, &request[inter.BlockNumber]{Session: session[inter.BlockNumber]{1, 2, 3}}))
	f.Add(uint8(codeHandshake), encode(f, &handshake{63, 0, [32]byte{1}}))
	f.Add(uint8(codeProgress), encode(f, &Progress{1, 2, inter.EventID{3}, 4}))
	a := &answers{o: &Options{Records: none{}}}
	f.Fuzz(func(t *testing.T, code uint8, raw []byte) {
		switch code {
		case codeHandshake:
			var h handshake
			if decode(raw, &h) == nil && !bytes.Equal(encode(t, &h), raw) {
				t.Error("it is another handshake")
			}
		case codeProgress:
			var p Progress
			if decode(raw, &p) == nil && !bytes.Equal(encode(t, &p), raw) {
				t.Error("it is another progress")
			}
		case codeRequestEvents:
			r := new(request[[]byte])
			if decode(raw, r) == nil && checkEventsRequest(r) == nil && !bytes.Equal(encode(t, r), raw) {
				t.Error("it is another request")
			}
		default:
			if r, _, err := a.records(message{uint64(code), raw}); err == nil && len(r.Session.Start) > maxVotesKey {
				t.Error("a key is too long")
			}
		}
	})
}
