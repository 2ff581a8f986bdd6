package state

import (
	"flag"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/params"

	"tarn/store"
	"tarn/store/page"
	"tarn/store/revision"
)

var seedFlag = flag.Uint64("state.seed", 1, "seed of the random tests; 0 takes the clock")

func newRand(t testing.TB) *rand.Rand {
	seed := *seedFlag
	if seed == 0 {
		seed = uint64(time.Now().UnixNano())
	}
	t.Logf("-state.seed=%d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// london are the rules of today's Opera.
var london = params.Rules{IsHomestead: true, IsEIP150: true, IsEIP155: true, IsEIP158: true, IsByzantium: true,
	IsConstantinople: true, IsPetersburg: true, IsIstanbul: true, IsBerlin: true, IsEIP2929: true, IsLondon: true}

// memory is a store of which nothing is ever durable.
func memory(t testing.TB) (store.Store, *Tables) {
	t.Helper()
	e, err := page.OpenVolatile(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	s, err := revision.Open(e)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	tables, err := Open(s)
	if err != nil {
		t.Fatal(err)
	}
	return s, tables
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// push makes a revision of what write writes, and publishes it.
func push(t testing.TB, s store.Store, write func() error) {
	t.Helper()
	check(t, s.Begin())
	check(t, write())
	check(t, s.Push())
	check(t, s.Commit(s.Head()))
	check(t, s.Publish())
}

func address(i int) common.Address { return common.BytesToAddress([]byte{byte(i >> 8), byte(i), 0xaa}) }
func slot(i int) common.Hash       { return common.BytesToHash([]byte{byte(i >> 8), byte(i)}) }
