package epoch

import (
	"bytes"
	"math/big"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/accounts/abi"
	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/inter"
)

// methods are those of the driver contract that nodes call.
const methods = `[
{"type":"function","name":"deactivateValidator","inputs":[{"type":"uint256"},{"type":"uint256"}]},
{"type":"function","name":"sealEpoch","inputs":[{"type":"uint256[]"},{"type":"uint256[]"},{"type":"uint256[]"},{"type":"uint256[]"}]},
{"type":"function","name":"sealEpochValidators","inputs":[{"type":"uint256[]"}]},
{"type":"function","name":"mixed","inputs":[{"type":"address"},{"type":"bytes"},{"type":"uint256"},{"type":"bytes"}]}]`

func pack(t *testing.T, name string, args ...any) []byte {
	t.Helper()
	a, err := abi.JSON(strings.NewReader(methods))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := a.Pack(name, args...)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func numbers(list ...int64) []*big.Int {
	out := []*big.Int{}
	for _, n := range list {
		out = append(out, big.NewInt(n))
	}
	return out
}

func TestTheDriverIsTold(t *testing.T) {
	bs, es := states(t)
	bs.EpochCheaters, bs.CheatersWritten = []inter.ValidatorID{99, 8}, 1
	// The last two were offline: by a block more than the slack, and by just that.
	bs.ValidatorStates[1].LastBlock = 50
	bs.ValidatorStates[2].LastBlock, bs.ValidatorStates[2].LastOnlineTime = 51, start-3*second
	bs.ValidatorStates[1].Uptime = 5*second + 999_999_999
	a := atropos(5)
	a.MedianTime = start + 20*second + 1
	b := begin(t, bs, es, a)
	b.Confirm(Event{ID: inter.EventID{2}, Creator: 5, Seq: 8, MedianTime: start + 12*second})
	b.Decide()
	calls := b.CallsBefore()
	if len(calls) != 2 {
		t.Fatalf("%d calls", len(calls))
	}
	if want := pack(t, "deactivateValidator", big.NewInt(8), big.NewInt(128)); !bytes.Equal(calls[0], want) {
		t.Errorf("%x, want %x", calls[0], want)
	}
	// 5 is cut out as a cheater's index; its last block is 100, within the slack.
	want := pack(t, "sealEpoch", numbers(0, 15, 0), numbers(0, 51, 0), numbers(20, 5, 25), numbers(1000, 1000, 1000))
	if !bytes.Equal(calls[1], want) {
		t.Errorf("%x, want %x", calls[1], want)
	}
	if err := b.Seal(); err != nil {
		t.Fatal(err)
	}
	if after := b.CallsAfter(); len(after) != 1 ||
		!bytes.Equal(after[0], pack(t, "sealEpochValidators", numbers(5, 3, 8))) {
		t.Errorf("after the seal %x", after)
	}
}

// Spans of 292 years and more are negative to go-opera, whose division cuts towards zero.
func TestSecondsHaveASign(t *testing.T) {
	bs, es := states(t)
	bs.ValidatorStates[1].LastBlock = 50
	bs.ValidatorStates[2].Uptime = 10 * second
	a := atropos(5)
	a.MedianTime = 1<<63 + start + 100*second + 7
	b := begin(t, bs, es, a)
	b.Decide()
	call := b.CallsBefore()[0]
	// Offline for 2^63 ns, 95 s and 7 ns; up for that and 5 s or 10 s more.
	minus := func(seconds uint64) *big.Int { return number(-seconds) }
	offline := []*big.Int{number(0), minus(9_223_371_941), number(0)}
	up := []*big.Int{minus(9_223_371_936), number(5), minus(9_223_371_931)}
	want := pack(t, "sealEpoch", offline, numbers(0, 51, 0), up, numbers(1000, 1000, 1000))
	if !bytes.Equal(call, want) {
		t.Errorf("%x, want %x", call, want)
	}
}

func TestABlockInTheMiddleOfAnEpochCallsNobody(t *testing.T) {
	bs, es := states(t)
	b := begin(t, bs, es, atropos(5))
	b.Decide()
	if before, after := b.CallsBefore(), b.CallsAfter(); len(before) != 0 || len(after) != 0 {
		t.Errorf("calls %x, %x", before, after)
	}
}

func TestCallsAreSoliditys(t *testing.T) {
	address := common.Address{1, 19: 2}
	long := bytes.Repeat([]byte{7}, 33)
	got := NewCall(0).Address(address).Bytes(long).Number(1 << 40).Bytes(nil).Encode()
	if want := pack(t, "mixed", address, long, big.NewInt(1<<40), []byte{}); !bytes.Equal(got[4:], want[4:]) {
		t.Errorf("%x, want %x", got[4:], want[4:])
	}
	// A cap on the fee may be of any size, and with it what a validator originated.
	large := new(big.Int).Add(new(big.Int).Lsh(big.NewInt(3), 256), big.NewInt(5))
	if got := NewCall(0).Big(large).Encode(); !bytes.Equal(got, NewCall(0).Number(5).Encode()) {
		t.Errorf("a number of 258 bits is %x", got)
	}
	for selector, signature := range map[uint32]string{deactivateValidator: "deactivateValidator",
		sealEpoch: "sealEpoch", sealEpochValidators: "sealEpochValidators"} {
		a, err := abi.JSON(strings.NewReader(methods))
		if err != nil {
			t.Fatal(err)
		}
		if got := NewCall(selector).Encode(); !bytes.Equal(got, a.Methods[signature].ID) {
			t.Errorf("%s has the selector %x, not %x", signature, a.Methods[signature].ID, got)
		}
	}
}

func TestAnInternalTransactionIsSignedByNobody(t *testing.T) {
	tx := InternalTx(3, Driver(), []byte{1, 2})
	v, r, s := tx.RawSignatureValues()
	if v.Sign() != 0 || r.Sign() != 0 || s.Sign() != 0 || tx.Gas() != 1e10 || tx.GasPrice().Sign() != 0 ||
		tx.Nonce() != 3 || *tx.To() != Driver() {
		t.Errorf("%v %v %v, gas %d", v, r, s, tx.Gas())
	}
}
