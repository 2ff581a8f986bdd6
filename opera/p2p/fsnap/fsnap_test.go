package fsnap

import (
	"bytes"
	"errors"
	"flag"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"
	"github.com/holiman/uint256"
)

var seedFlag = flag.Uint64("fsnap.seed", 1, "of random messages")

func encode(t testing.TB, v any) []byte {
	t.Helper()
	raw, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func randomHash(r *rand.Rand) (h common.Hash) {
	for i := range h {
		h[i] = byte(r.Uint32())
	}
	return h
}

func randomBytes(r *rand.Rand, most int) []byte {
	b := make([]byte, r.IntN(most+1))
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func some[T any](r *rand.Rand, most int, make func() T) []T {
	var list []T
	for range r.IntN(most + 1) {
		list = append(list, make())
	}
	return list
}

// randomAccount is an account in slim RLP, with and without storage and code.
func randomAccount(r *rand.Rand) rlp.RawValue {
	a := types.StateAccount{Nonce: r.Uint64() >> r.IntN(64), Balance: new(uint256.Int).SetBytes(randomBytes(r, 32)),
		Root: types.EmptyRootHash, CodeHash: types.EmptyCodeHash[:]}
	if r.IntN(2) == 0 {
		a.Root = randomHash(r)
	}
	if r.IntN(2) == 0 {
		a.CodeHash = randomHash(r).Bytes()
	}
	return types.SlimAccountRLP(a)
}

func randomMessage(r *rand.Rand, code uint64) Message {
	id := r.Uint64() >> r.IntN(64)
	nodes := func() [][]byte { return some(r, 5, func() []byte { return randomBytes(r, 40) }) }
	hashes := func() []common.Hash { return some(r, 5, func() common.Hash { return randomHash(r) }) }
	switch code {
	case CodeGetAccounts:
		return &GetAccounts{id, randomHash(r), randomHash(r), randomHash(r), r.Uint64()}
	case CodeAccounts:
		accounts := some(r, 5, func() Account { return Account{randomHash(r), randomAccount(r)} })
		slices.SortFunc(accounts, func(a, b Account) int { return a.Hash.Cmp(b.Hash) })
		return &Accounts{id, accounts, nodes()}
	case CodeGetSlots:
		m := &GetSlots{ID: id, Root: randomHash(r), Accounts: hashes(), Bytes: r.Uint64()}
		if r.IntN(2) == 0 {
			m.From, m.To = randomHash(r).Bytes(), randomHash(r).Bytes()
		}
		return m
	case CodeSlots:
		return &Slots{id, some(r, 3, func() []Slot {
			slots := some(r, 4, func() Slot { return Slot{randomHash(r), randomBytes(r, 33)} })
			slices.SortFunc(slots, func(a, b Slot) int { return a.Hash.Cmp(b.Hash) })
			return slots
		}), nodes()}
	case CodeGetCodes:
		return &GetCodes{id, hashes(), r.Uint64()}
	case CodeCodes:
		return &CodesOf{id, nodes()}
	case CodeGetNodes:
		return &GetNodes{id, randomHash(r),
			some(r, 4, func() Paths { return append(Paths{randomBytes(r, 33)}, nodes()...) }), r.Uint64()}
	}
	return &Nodes{id, nodes()}
}

// What is sent is what the other side reads, and has one encoding.
func TestMessagesAreReadAsTheyWereWritten(t *testing.T) {
	r := rand.New(rand.NewPCG(*seedFlag, 0))
	for code := range uint64(Codes) {
		for range 200 {
			m := randomMessage(r, code)
			raw := encode(t, m)
			got, err := Decode(code, raw)
			if err != nil {
				t.Fatalf("-fsnap.seed=%d, code %d: %v\n%x", *seedFlag, code, err, raw)
			}
			if m.Code() != code || got.Code() != code || got.Number() != m.Number() ||
				!bytes.Equal(encode(t, got), raw) {
				t.Fatalf("-fsnap.seed=%d, code %d: %+v, not %+v", *seedFlag, code, got, m)
			}
		}
	}
}

// bomb is a list of millions of empty items.
func bomb(item byte, count int) rlp.RawValue {
	raw, err := rlp.EncodeToBytes(rlp.RawValue(bytes.Repeat([]byte{item}, count)))
	if err != nil {
		panic(err)
	}
	return append([]byte{0xfa, byte(count >> 16), byte(count >> 8), byte(count)}, raw...)
}

// A list of millions of empty items fits an answer, and makes others of 24 bytes each and more.
func TestLongListsAreRefusedBeforeTheyCostMemory(t *testing.T) {
	const many = 9 << 20
	none := rlp.RawValue{0xc0}
	paths := encode(t, []any{uint64(1), common.Hash{}, []any{bomb(0x80, MaxRequest-100)}, uint64(1)})
	var before, later runtime.MemStats
	for what, m := range map[string]struct {
		code uint64
		raw  []byte
	}{
		"accounts":         {CodeAccounts, encode(t, []any{uint64(1), bomb(0xc0, many), none})},
		"a proof":          {CodeAccounts, encode(t, []any{uint64(1), none, bomb(0x80, many)})},
		"lists of slots":   {CodeSlots, encode(t, []any{uint64(1), bomb(0xc0, many), none})},
		"slots of a list":  {CodeSlots, encode(t, []any{uint64(1), []any{bomb(0xc0, many)}, none})},
		"a proof of slots": {CodeSlots, encode(t, []any{uint64(1), none, bomb(0x80, many)})},
		"codes":            {CodeCodes, encode(t, []any{uint64(1), bomb(0x80, many)})},
		"nodes":            {CodeNodes, encode(t, []any{uint64(1), bomb(0x80, many)})},
		"paths":            {CodeGetNodes, encode(t, []any{uint64(1), common.Hash{}, bomb(0xc0, MaxRequest-100), uint64(1)})},
		"paths of a list":  {CodeGetNodes, paths},
		"a large request":  {CodeGetCodes, make([]byte, MaxRequest+1)},
		"a large answer":   {CodeCodes, make([]byte, MaxAnswer+1)},
	} {
		runtime.ReadMemStats(&before)
		_, err := Decode(m.code, m.raw)
		runtime.ReadMemStats(&later)
		if !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: millions are allowed: %v", what, err)
		}
		if took := later.TotalAlloc - before.TotalAlloc; took > 16<<10 {
			t.Errorf("%s: refusing took %d bytes: %v", what, took, err)
		}
	}
}

// What no honest peer sends is refused.
func TestMessagesThatMakeNoSenseAreRefused(t *testing.T) {
	body := randomAccount(rand.New(rand.NewPCG(1, 1)))
	rooted := func(bytes int) []Account {
		b, err := rlp.EncodeToBytes(&types.SlimAccount{Balance: new(uint256.Int), Root: make([]byte, bytes)})
		if err != nil {
			t.Fatal(err)
		}
		return []Account{{common.Hash{1}, b}}
	}
	for what, m := range map[string]Message{
		"accounts out of order": &Accounts{1, []Account{{common.Hash{2}, body}, {common.Hash{1}, body}}, nil},
		"an account twice":      &Accounts{1, []Account{{common.Hash{2}, body}, {common.Hash{2}, body}}, nil},
		"slots out of order":    &Slots{1, [][]Slot{nil, {{common.Hash{2}, []byte{1}}, {common.Hash{1}, []byte{1}}}}, nil},
		"a path of nothing":     &GetNodes{1, common.Hash{}, []Paths{{}}, 1},
		"a root of 31 bytes":    &Accounts{1, rooted(31), nil},
		"a root of 33 bytes":    &Accounts{1, rooted(33), nil},
		"a bound of 33 bytes":   &GetSlots{1, common.Hash{}, nil, make([]byte, 33), nil, 1},
	} {
		if _, err := Decode(m.Code(), encode(t, m)); !errors.Is(err, ErrMalformed) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if _, err := Decode(Codes, encode(t, &Nodes{})); !errors.Is(err, ErrMalformed) {
		t.Errorf("an unknown code: %v", err)
	}
}

func FuzzDecode(f *testing.F) {
	r := rand.New(rand.NewPCG(1, 1))
	for code := range uint64(Codes) {
		f.Add(code, encode(f, randomMessage(r, code)))
	}
	f.Fuzz(func(t *testing.T, code uint64, raw []byte) {
		m, err := Decode(code, raw)
		if err != nil {
			return
		}
		again, err := rlp.EncodeToBytes(m)
		if err != nil {
			t.Fatal(err)
		}
		second, err := Decode(code, again)
		if err != nil || !reflect.DeepEqual(m, second) {
			t.Fatalf("%+v is read as %+v, %v", m, second, err)
		}
	})
}
