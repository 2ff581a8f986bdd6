package state

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/state"
	"github.com/ethereum/go-ethereum/core/tracing"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"
)

// universe is where random work takes place: few addresses and slots, so that much of it
// meets.
const (
	someAddresses = 12
	someSlots     = 8
)

// step is one random call, made on both sides.
func step(r *rand.Rand) (string, func(vm.StateDB)) {
	a, s := address(r.IntN(someAddresses)+1), slot(r.IntN(someSlots))
	n := uint64(r.IntN(3))
	switch r.IntN(12) {
	case 0:
		return fmt.Sprintf("add %d to %x", n, a), func(db vm.StateDB) {
			db.AddBalance(a, uint256.NewInt(n), tracing.BalanceChangeUnspecified)
		}
	case 1:
		return fmt.Sprintf("sub %d from %x", n, a), func(db vm.StateDB) {
			if db.GetBalance(a).CmpUint64(n) >= 0 && db.Exist(a) { // see Block.create
				db.SubBalance(a, uint256.NewInt(n), tracing.BalanceChangeUnspecified)
			}
		}
	case 2:
		return fmt.Sprintf("nonce %d of %x", n, a), func(db vm.StateDB) {
			db.SetNonce(a, n, tracing.NonceChangeUnspecified)
		}
	case 3:
		code := make([]byte, n)
		return fmt.Sprintf("code of %x", a), func(db vm.StateDB) {
			// go-ethereum's does not bring back code that it had not loaded.
			db.GetCode(a)
			db.SetCode(a, code, tracing.CodeChangeUnspecified)
		}
	case 4:
		return fmt.Sprintf("destruct %x", a), func(db vm.StateDB) {
			balance := db.GetBalance(a)
			db.SubBalance(a, balance, tracing.BalanceChangeUnspecified)
			db.SelfDestruct(a)
		}
	case 5:
		return fmt.Sprintf("create %x", a), func(db vm.StateDB) {
			// Where the virtual machine does, and no storage is left of before: there
			// the two differ, see below.
			if db.Exist(a) {
				return
			}
			db.CreateAccount(a)
			db.CreateContract(a)
			db.SetNonce(a, 1, tracing.NonceChangeNewContract)
		}
	case 6:
		return fmt.Sprintf("warm %x %x", a, s), func(db vm.StateDB) { db.AddSlotToAccessList(a, s) }
	case 7:
		return fmt.Sprintf("log of %x", a), func(db vm.StateDB) { db.AddRefund(n); db.AddLog(&types.Log{Address: a}) }
	case 8:
		return fmt.Sprintf("transient %x", a), func(db vm.StateDB) { db.SetTransientState(a, s, slot(int(n))) }
	default:
		return fmt.Sprintf("set %x %x to %d", a, s, n), func(db vm.StateDB) {
			if n != 0 || db.Exist(a) { // see Block.create
				db.SetState(a, s, slot(int(n)))
			}
		}
	}
}

// sight is all that a contract could see of the universe.
func sight(db vm.StateDB) string {
	out := fmt.Sprint("refund ", db.GetRefund(), "\n")
	for i := range someAddresses {
		a := address(i + 1)
		out += fmt.Sprintf("%x: %v %v %v %d %x %x %v %v %v", a, db.Exist(a), db.Empty(a), db.GetBalance(a),
			db.GetNonce(a),
			db.GetCodeHash(a), db.GetCode(a), db.GetCodeSize(a), db.HasSelfDestructed(a), db.AddressInAccessList(a))
		for j := range someSlots {
			now, before := db.GetStateAndCommittedState(a, slot(j))
			_, warm := db.SlotInAccessList(a, slot(j))
			out += fmt.Sprint(" ", now[31], before[31], db.GetState(a, slot(j))[31], warm,
				db.GetTransientState(a, slot(j))[31])
		}
		out += "\n"
	}
	return out
}

// transaction does the same random work on both, and compares what they show.
func transaction(t *testing.T, r *rand.Rand, index int, ours *Block, theirs *state.StateDB) {
	both := []vm.StateDB{ours, theirs}
	var done []string
	for _, db := range both {
		db.SetTxContext(slot(index), index, 0)
		db.Prepare(london, address(1), address(2), nil, []common.Address{address(3)}, nil)
	}
	type mark struct{ ids [2]int }
	var marks []mark
	for range r.IntN(25) {
		switch r.IntN(5) {
		case 0:
			marks = append(marks, mark{[2]int{ours.Snapshot(), theirs.Snapshot()}})
			done = append(done, "snapshot")
			continue
		case 1:
			if len(marks) == 0 {
				continue
			}
			i := r.IntN(len(marks))
			for j, db := range both {
				db.RevertToSnapshot(marks[i].ids[j])
			}
			marks = marks[:i]
			done = append(done, fmt.Sprint("revert to ", i))
		default:
			name, do := step(r)
			done = append(done, name)
			for _, db := range both {
				do(db)
			}
		}
		if o, th := sight(ours), sight(theirs); o != th {
			t.Fatalf("after %q\nours\n%s\ntheirs\n%s", done, o, th)
		}
	}
	for _, db := range both {
		db.Finalise(london)
	}
	if o, th := sight(ours), sight(theirs); o != th {
		t.Fatalf("after the transaction %q\nours\n%s\ntheirs\n%s", done, o, th)
	}
	if o, th := spell(ours.TxLogs()), spell(theirs.GetLogs(slot(index), 0, common.Hash{}, 0)); o != th {
		t.Fatalf("logs: %v, want %v", o, th)
	}
}

func spell(logs []*types.Log) (out string) {
	for _, l := range logs {
		out += fmt.Sprintf("%x %x %d\n", l.Address, l.TxHash, l.TxIndex)
	}
	return out
}

// Where 1.10.8 and 1.17 agree, a block behaves like go-ethereum's StateDB, and leaves the
// same state.
func TestABlockBehavesLikeGoEthereumsState(t *testing.T) {
	r := newRand(t)
	for range 6 {
		s, tables := memory(t)
		db, root := state.NewDatabaseForTesting(), types.EmptyRootHash
		for number := range uint64(8) {
			ours := NewBlock(tables.Flat(s))
			theirs, err := state.New(root, db)
			check(t, err)
			for i := range r.IntN(5) {
				transaction(t, r, i, ours, theirs)
			}
			changes, err := ours.Finish(number)
			check(t, err)
			root, err = theirs.Commit(london, number)
			check(t, err)
			push(t, s, func() error { return tables.Write(s, changes) })
			again, err := state.New(root, db)
			check(t, err)
			if o, th := sight(NewBlock(tables.Flat(s))), sight(again); o != th {
				t.Fatalf("after block %d\nours\n%s\ntheirs\n%s", number, o, th)
			}
		}
	}
}

// 1.10.8 makes an account anew where a contract is created: the balance stays, storage
// does not. An account with storage and neither code nor nonce comes from EvmWriter or a
// genesis.
func TestAContractsCreationDropsStorage(t *testing.T) {
	s, tables := memory(t)
	a := address(1)
	b := NewBlock(tables.Flat(s))
	b.SetState(a, slot(1), slot(7))
	b.SetState(a, slot(2), slot(8))
	b.AddBalance(a, uint256.NewInt(5), 0)
	b.Finalise(london)
	changes, err := b.Finish(1)
	check(t, err)
	push(t, s, func() error { return tables.Write(s, changes) })

	b = NewBlock(tables.Flat(s))
	mark := b.Snapshot()
	b.CreateContract(a)
	if got := b.GetState(a, slot(1)); got != (common.Hash{}) {
		t.Errorf("slot 1 is %x in the new contract", got)
	}
	b.RevertToSnapshot(mark)
	if got := b.GetState(a, slot(1)); got != slot(7) {
		t.Errorf("slot 1 is %x when the creation is taken back", got)
	}
	b.CreateContract(a)
	b.SetState(a, slot(2), slot(8))
	b.Finalise(london)
	changes, err = b.Finish(2)
	check(t, err)
	if c := changes.Accounts[0]; !c.Wiped || len(c.Slots) != 2 {
		t.Errorf("change %+v: want the account wiped, with both slots", c)
	}
	push(t, s, func() error { return tables.Write(s, changes) })
	b = NewBlock(tables.Flat(s))
	if one, two, balance := b.GetState(a, slot(1)), b.GetState(a, slot(2)), b.GetBalance(a); one != (common.Hash{}) ||
		two != slot(8) || balance.Uint64() != 5 {
		t.Errorf("after the block: slots %x and %x, balance %v", one, two, balance)
	}
}

// EvmWriter sets code where there is some, and its caller may fail afterwards.
func TestCodeThatWasReplacedComesBack(t *testing.T) {
	s, tables := memory(t)
	b := NewBlock(tables.Flat(s))
	b.SetCode(address(1), []byte{1}, 0)
	b.Finalise(london)
	changes, err := b.Finish(1)
	check(t, err)
	push(t, s, func() error { return tables.Write(s, changes) })
	b = NewBlock(tables.Flat(s))
	mark := b.Snapshot()
	b.SetCode(address(1), []byte{2}, 0)
	b.RevertToSnapshot(mark)
	if got := b.GetCode(address(1)); len(got) != 1 || got[0] != 1 {
		t.Errorf("code %x", got)
	}
}

func TestSelfDestructTakesTheBalance(t *testing.T) {
	s, tables := memory(t)
	b := NewBlock(tables.Flat(s))
	b.AddBalance(address(1), uint256.NewInt(5), 0)
	mark := b.Snapshot()
	b.SelfDestruct(address(1))
	if got := b.GetBalance(address(1)); !got.IsZero() {
		t.Errorf("%v after the destruction", got)
	}
	b.RevertToSnapshot(mark)
	if got := b.GetBalance(address(1)); got.Uint64() != 5 || b.HasSelfDestructed(address(1)) {
		t.Errorf("%v when it is taken back", got)
	}
}

func TestABlockWithNoChangeLeavesNone(t *testing.T) {
	s, tables := memory(t)
	b := NewBlock(tables.Flat(s))
	b.AddBalance(address(1), uint256.NewInt(5), 0)
	b.SubBalance(address(1), uint256.NewInt(5), 0)
	b.SetState(address(2), slot(1), slot(1))
	b.SetState(address(2), slot(1), common.Hash{})
	b.GetBalance(address(3))
	b.SetCode(address(4), []byte{1}, 0)
	b.SelfDestruct(address(4))
	b.Finalise(london)
	changes, err := b.Finish(1)
	check(t, err)
	if len(changes.Accounts)+len(changes.Codes) != 0 {
		t.Errorf("%+v", changes)
	}
}

// Rows that this package cannot have written are errors, and a block on them fails.
func TestRowsThatAreDamagedAreErrors(t *testing.T) {
	for _, row := range [][]byte{{}, {0xff}, {0}, {0, 0}, {0, 0, 33}, {0, 0, 0, 0}, {hasCode, 0, 0},
		{hasAddress, 0, 0, 1}} {
		s, tables := memory(t)
		a := address(1)
		hash := crypto.Keccak256Hash(a[:])
		push(t, s, func() error { return s.Put(tables.accounts, hash[:], row) })
		b := NewBlock(tables.Flat(s))
		b.GetBalance(a)
		if _, err := b.Finish(1); err == nil {
			t.Errorf("account %x is taken", row)
		}
	}
	for _, row := range [][]byte{{}, {0}, {1}, {1, 1, 1}, {33}, {keyKnown}} {
		if _, _, _, err := decodeSlot(nil, row); err == nil {
			t.Errorf("slot %x is taken", row)
		}
	}
}

// Storage that somebody puts in an account's place is all that it has, also where there is no
// account, and what is written over it can be taken back.
func TestStorageCanBePutInPlace(t *testing.T) {
	s, tables := memory(t)
	there, absent := address(1), address(2)
	b := NewBlock(tables.Flat(s))
	b.SetState(there, slot(1), slot(7))
	b.SetNonce(there, 1, tracing.NonceChangeUnspecified)
	b.Finalise(london)
	changes, err := b.Finish(1)
	check(t, err)
	push(t, s, func() error { return tables.Write(s, changes) })
	for _, a := range []common.Address{there, absent} {
		b := NewBlock(tables.Flat(s))
		b.SetStorage(a, map[common.Hash]common.Hash{slot(2): slot(8)})
		mark := b.Snapshot()
		b.SetState(a, slot(2), slot(9))
		b.SetState(a, slot(1), slot(9))
		b.RevertToSnapshot(mark)
		for n, want := range []common.Hash{{}, {}, slot(8)} {
			if now, before := b.GetStateAndCommittedState(a, slot(n)); now != want || before != want {
				t.Errorf("slot %d of %v is %v, before the call %v", n, a, now, before)
			}
		}
	}
}

// A sum beyond 256 bits is no balance.
func TestABalanceBeyondAWordIsAnError(t *testing.T) {
	s, tables := memory(t)
	b := NewBlock(tables.Flat(s))
	b.AddBalance(address(1), new(uint256.Int).Not(new(uint256.Int)), 0)
	check(t, b.Error())
	b.AddBalance(address(1), uint256.NewInt(1), 0)
	if err := b.Error(); !errors.Is(err, ErrBalance) {
		t.Error("one more: ", err)
	}
	if _, err := b.Finish(1); !errors.Is(err, ErrBalance) {
		t.Error("the block ends with ", err)
	}
}

// The rules of a transaction may be without Berlin's after ones with them: nothing stays warm.
func TestNothingStaysWarmWithoutBerlin(t *testing.T) {
	s, tables := memory(t)
	b := NewBlock(tables.Flat(s))
	b.Prepare(london, address(1), address(2), nil, nil, nil)
	b.AddSlotToAccessList(address(3), slot(1))
	b.Prepare(params.Rules{IsLondon: true}, address(1), address(2), nil, nil, nil)
	for i := range byte(4) {
		if warm, slotWarm := b.SlotInAccessList(address(int(i)), slot(1)); warm || slotWarm {
			t.Errorf("account %d is warm: %v, its slot: %v", i, warm, slotWarm)
		}
	}
}
