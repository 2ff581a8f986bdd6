package fakenet

import (
	"bytes"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/epoch"
	"tarn/opera/genesis"
	"tarn/opera/genesis/genesistest"
	"tarn/opera/state"
	"tarn/store/page"
	"tarn/store/revision"
)

// What is made by executing a block, and written, read and taken apart, is the state
// that go-opera's snapshot counts: 10 accounts and 74 slots.
func TestAGenesisBecomesAState(t *testing.T) {
	g, err := New(Options{Validators: 3})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if _, err := genesistest.Write(&out, g, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	f, err := genesis.NewFile("x.g", bytes.NewReader(out.Bytes()), int64(out.Len()), genesis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	engine, err := page.OpenVolatile(1 << 30)
	if err != nil {
		t.Fatal(err)
	}
	s, err := revision.Open(engine)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	tables, err := state.Open(s)
	if err != nil {
		t.Fatal(err)
	}
	i := tables.Import(s)
	for item, err := range f.Items() {
		if err == nil {
			err = i.Put(item.Key, item.Value)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := i.Finish(1, common.Hash(g.block.Block.Root)); err != nil {
		t.Fatal(err)
	}
	counted, err := tables.Check(s, func(err error) { t.Error(err) }, nil)
	if err != nil || counted.Accounts != 10 || counted.Slots != 74 || counted.Codes != 6 {
		t.Errorf("%+v: %v", counted, err)
	}
	driver, err := tables.Flat(s).Account(crypto.Keccak256Hash(epoch.Driver().Bytes()))
	if err != nil || driver == nil || driver.Address != epoch.Driver() {
		t.Errorf("the driver contract: %+v, %v", driver, err)
	}
	first, err := tables.Flat(s).Account(crypto.Keccak256Hash(initializer().Bytes()))
	if err != nil || first != nil {
		t.Errorf("the contract that destructs itself: %+v, %v", first, err)
	}
	nobody, err := tables.Flat(s).Account(crypto.Keccak256Hash(make([]byte, 20)))
	if err != nil || nobody == nil || nobody.Nonce != 1+3+3+1+1 {
		t.Errorf("the address that calls: %+v, %v", nobody, err)
	}
}
