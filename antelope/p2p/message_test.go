package p2p

import (
	"bytes"
	"encoding/hex"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"tarn/antelope/types"
	"tarn/internal/recordedcalls"
)

func randomID(r *rand.Rand) (id types.Checksum256) {
	for i := range id {
		id[i] = byte(r.Uint32())
	}
	return id
}

func randomIDs(r *rand.Rand) IDs {
	v := IDs{Mode: Mode(r.Uint32N(5)), Pending: r.Uint32()}
	for range r.IntN(4) {
		v.IDs = append(v.IDs, randomID(r))
	}
	return v
}

// randomMessages is one of each kind.
func randomMessages(r *rand.Rand) []Message {
	h := Handshake{NetworkVersion: uint16(r.Uint32()), ChainID: randomID(r), NodeID: randomID(r), Time: r.Int64(),
		Token:      randomID(r),
		P2PAddress: "example.com:9876 - 1234567", LIBNum: r.Uint32(), LIBID: randomID(r), HeadNum: r.Uint32(),
		HeadID: randomID(r),
		OS:     "linux", Agent: "agent", Generation: int16(r.Uint32())}
	b := genesisBlock()
	b.Previous = randomID(r)
	b.Transactions = []types.TransactionReceipt{{ID: randomID(r)}, {Packed: randomTransaction(r)}}
	return []Message{h, ChainSize{r.Uint32(), randomID(r), r.Uint32(), randomID(r)},
		GoAway{Reason(r.Uint32N(13)), randomID(r)},
		Time{r.Int64(), r.Int64(), r.Int64(), r.Int64()}, Notice{randomIDs(r), randomIDs(r)},
		Request{randomIDs(r), randomIDs(r)},
		SyncRequest{r.Uint32(), r.Uint32()}, b, randomTransaction(r)}
}

func TestMessagesComeBackAsTheyWere(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	for range 100 {
		for i, m := range randomMessages(r) {
			frame, err := AppendFrame([]byte("before"), m)
			if err != nil {
				t.Fatal(err)
			}
			frame = frame[len("before"):]
			if size := int(frame[0]) | int(frame[1])<<8; size != len(frame)-4 {
				t.Fatalf("length %d of a frame of %d", size, len(frame))
			}
			if int(frame[4]) != i {
				t.Fatalf("%T has type %d", m, frame[4])
			}
			got, err := Decode(frame[4:])
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, m) {
				again, _ := AppendFrame(nil, got)
				t.Fatalf("%+v came back as %+v\n%x\n%x", m, got, frame, again)
			}
			for n := range len(frame) - 4 { // every message needs all of its bytes
				if m, err := Decode(frame[4 : 4+n]); err == nil {
					t.Fatalf("%d of %d bytes of %T were enough: %+v", n, len(frame)-4, m, m)
				}
			}
		}
	}
}

func TestMessagesOfNodeosAreUnderstood(t *testing.T) {
	said, err := recordedcalls.Read("testdata/nodeos.txt")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range said {
		b, err := hex.DecodeString(v.Answers[0])
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(b)
		if err != nil {
			t.Fatalf("%s: %v", v.Comment, err)
		}
		again, err := AppendFrame(nil, m)
		if err != nil || !bytes.Equal(again[4:], b) {
			t.Errorf("%s: %+v\nis encoded as %x\nnot           %x", v.Comment, m, again[4:], b)
		}
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	gossip := Gossip{[]Record{{Version: 1, Producer: 1, Info: Place{"h:1", "::1", 7}.Append(nil)}}}
	for _, m := range append(randomMessages(r), gossip) {
		frame, err := AppendFrame(nil, m)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame[4:])
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := Decode(b)
		if err != nil {
			return
		}
		frame, err := AppendFrame(nil, m)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(frame[4:])
		if err != nil {
			t.Fatalf("%+v: %v", m, err)
		}
		if !reflect.DeepEqual(m, again) {
			t.Fatalf("%+v came back as %+v", m, again)
		}
	})
}

// The id that is found without decoding is that of the transaction, or of none.
func FuzzPeekID(f *testing.F) {
	f.Add(randomTransaction(rand.New(rand.NewPCG(1, 1))).Append(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		id, compression, ok := peek(b)
		ok = ok && compression == types.CompressionNone
		m, err := Decode(append([]byte{byte(TypeTransaction)}, b...))
		if err != nil {
			return
		}
		trx, err := NewTransaction(m.(*types.PackedTransaction))
		if err != nil || !ok {
			return
		}
		if raw := trx.Packed.PackedTrx; bytes.Equal(trx.Trx.Append(nil), raw) && id != trx.ID {
			t.Fatalf("peeked %v, is %v", id, trx.ID)
		}
	})
}
