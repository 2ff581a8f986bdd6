package inter

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"testing"

	"github.com/ethereum/go-ethereum/rlp"
)

func encode(t *testing.T, v any) []byte {
	t.Helper()
	b, err := rlp.EncodeToBytes(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestRulesAreOneItemOrThree(t *testing.T) {
	type around struct {
		Before uint64
		Rules  Rules
		After  uint64
	}
	for _, r := range []Rules{DefaultRules("main", MainNetwork), DefaultRules("test", TestNetwork), FakeRules()} {
		items, err := rlp.CountValues(must(rlp.SplitList(encode(t, &around{1, r, 2}))))
		want := 3
		if r.Upgrades != (Upgrades{}) {
			want = 5
		}
		if err != nil || items != want {
			t.Errorf("%s: %d items in a list of three fields, want %d: %v", r.Name, items, want, err)
		}
		var again around
		if err := rlp.DecodeBytes(encode(t, &around{1, r, 2}), &again); err != nil {
			t.Fatal(err)
		}
		if again.Rules.String() != r.String() || again.After != 2 {
			t.Errorf("%s, decoded %s", r, again.Rules)
		}
	}
}

// must drops what is beside the content of a list.
func must(content, _ []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return content
}

func TestPricesThatCameLaterAreWrittenOnlyIfThereAreSome(t *testing.T) {
	for _, c := range []struct {
		gas  GasRules
		want string
	}{
		{GasRules{MaxEventGas: 1, EventGas: 2, ParentGas: 3, ExtraDataGas: 4}, "c401020304"},
		{GasRules{MaxEventGas: 1, EventGas: 2, ParentGas: 3, ExtraDataGas: 4, EpochVoteGas: 5}, "01c80102030480800580"},
	} {
		b := encode(t, c.gas)
		if got := hex.EncodeToString(b); got != c.want {
			t.Errorf("%+v is %s, want %s", c.gas, got, c.want)
		}
		var again GasRules
		if err := rlp.NewStream(bytes.NewReader(b), 0).Decode(&again); err != nil || again != c.gas {
			t.Errorf("%s decoded as %+v: %v", c.want, again, err)
		}
	}
	for _, bad := range []string{"02c80102030480800580", "00c401020304", "01c401020304", "c3010203"} {
		b, _ := hex.DecodeString(bad)
		var g GasRules
		if err := rlp.NewStream(bytes.NewReader(b), 0).Decode(&g); err == nil {
			t.Errorf("%s is decoded as %+v", bad, g)
		}
	}
}

func TestUpgradesAreABitEach(t *testing.T) {
	for u, want := range map[Upgrades]string{
		{}: "c180", {Berlin: true}: "c101", {London: true}: "c102", {Llr: true}: "c104", {true, true, true}: "c107",
	} {
		if got := hex.EncodeToString(encode(t, u)); got != want {
			t.Errorf("%+v is %s, want %s", u, got, want)
		}
	}
}

func TestRulesAreMergedWithAJSONObject(t *testing.T) {
	r := FakeRules()
	got, err := r.Update(
		[]byte(
			`{"Name":"other","NetworkID":1,"Dag":{"MaxParents":5},"Economy":{"MinGasPrice":7},` +
				`"upgrades":{"london":false},"unknown":[]}`))
	if err != nil {
		t.Fatal(err)
	}
	want := r.Copy()
	want.Dag.MaxParents, want.Economy.MinGasPrice, want.Upgrades.London = 5, big.NewInt(7), false
	if got.String() != want.String() {
		t.Errorf("%s, want %s", got, want)
	}
	if r.String() != FakeRules().String() {
		t.Errorf("the rules before were changed: %s", r)
	}
	for _, bad := range []string{`}{`, ``, `[]`, `{"Dag":{"MaxParents":-1}}`, `{"Dag":{"MaxParents":5},"Epochs":3}`,
		`{"Economy":{"MinGasPrice":null}}`, `{"Economy":{"MinGasPrice":-1}}`} {
		if got, err := r.Update([]byte(bad)); err == nil || got.String() != r.String() {
			t.Errorf("%q changes the rules to %s: %v", bad, got, err)
		}
	}
}
