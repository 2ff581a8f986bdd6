package contracts_test

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/difftest"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts"
)

// governor is what bios decides about.
func (n *network) governor(account string) string {
	n.t.Helper()
	g, err := n.Chain.State().Global.Get()
	must(n.t, err)
	must(n.t, n.Chain.Publish())
	v, err := n.Chain.View()
	must(n.t, err)
	defer v.Close()
	m, err := v.Metadata.Get(types.N(account))
	must(n.t, err)
	l, err := v.Limits.Get(types.N(account))
	must(n.t, err)
	return fmt.Sprintf("flags %d limits %d %d %d parameters %s", m.Flags, l.RAMBytes, l.NetWeight, l.CPUWeight,
		g.Configuration.AppendJSON(nil))
}

// decisions are what is done with bios: whose authority, data, and what must come of it.
func decisions(n *network) []struct{ action, actors, data, want string } {
	name := func(s string) string { return string(types.N(s).Append(nil)) }
	limits := func(ram, net, cpu int64) string {
		return string(serial.AppendInt64(serial.AppendInt64(serial.AppendInt64([]byte(name("alice")), ram), net), cpu))
	}
	authority := types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: n.Key.Public(), Weight: 1}}}
	schedule := string(types.ProducerAuthority{Producer: types.N("alice"),
		Authority: authority}.Append(serial.AppendCount(nil, 1)))
	nobody := string(types.ProducerAuthority{Producer: types.N("nobody"),
		Authority: authority}.Append(serial.AppendCount(nil, 1)))
	config := n.Genesis.InitialConfiguration
	config.MaxTransactionLifetime++
	parameters := string(config.AppendV0(nil))
	config.MaxBlockNetUsage = 0
	bad := string(config.AppendV0(nil))
	active := n.Chain.Features().All()[0].Digest
	var unknown types.Checksum256
	return []struct{ action, actors, data, want string }{
		{"reqauth", "alice", name("alice"), ""},
		{"reqauth", "alice", name("bob"), "missing authority of bob"},
		{"reqactivated", "alice", string(active[:]), ""},
		{"reqactivated", "alice", string(unknown[:]), "protocol feature is not activated"},
		{"activate", "alice", string(active[:]), "missing authority of eosio"},
		{"activate", "eosio", string(active[:]), "already activated"},
		{"activate", "eosio", string(unknown[:]), "unrecognized"},
		{"activate", "eosio", "short", "assertion failure"},
		{"setpriv", "alice", name("alice") + "\x01", "missing authority of eosio"},
		{"setpriv", "eosio", name("alice") + "\x01", ""},
		{"setpriv", "eosio", name("nobody") + "\x01", "unknown key"},
		{"setpriv", "eosio", name("alice") + "\x00", ""},
		{"setpriv", "eosio", name("alice"), "assertion failure"},
		{"setalimits", "alice", limits(1, 2, 3), "missing authority of eosio"},
		{"setalimits", "eosio", limits(100_000, 2, 3), ""},
		{"setalimits", "eosio", limits(-1, -1, -1), ""},
		{"setalimits", "eosio", limits(-2, -1, -1), "invalid value for ram resource limit"},
		{"setalimits", "eosio", limits(math.MaxInt64, 0, 0), ""},
		{"setprods", "alice", schedule, "missing authority of eosio"},
		{"setprods", "eosio", nobody, "producer schedule includes a nonexisting account"},
		{"setprods", "eosio", schedule, ""},
		{"setparams", "alice", parameters, "missing authority of eosio"},
		{"setparams", "eosio", bad, "max transaction net usage must be less than"},
		{"setparams", "eosio", parameters, ""},
		{"onerror", "eosio", strings.Repeat("\x00", 17), "the onerror action cannot be called directly"},
		{"nothing", "eosio", "", "assertion failure with error code: 8000000000000000000"},
	}
}

func decide(t *testing.T, code []byte) (results, states, wants []string) {
	n := newNetwork(t)
	_, err := n.Block(n.CreateAccount(types.N("alice")), n.CreateAccount(types.N("bob")),
		chaintest.SetCode(types.N("eosio"), code))
	must(t, err)
	for _, d := range decisions(n) {
		results = append(results,
			d.action+" by "+d.actors+": "+n.try(n.action("eosio", d.action, d.actors, []byte(d.data))))
		states = append(states, n.governor("alice"))
		wants = append(wants, d.want)
	}
	return results, states, wants
}

func TestBiosDecidesOnEosiosAuthority(t *testing.T) {
	results, states, wants := decide(t, contracts.Bios().Code)
	for i, want := range wants {
		failed := strings.ContainsAny(results[i], "0123456789") // a code
		if failed != (want != "") || !strings.Contains(results[i], want) {
			t.Errorf("%s, want %q", results[i], want)
		}
		if i > 0 && failed && states[i] != states[i-1] {
			t.Errorf("%s: it changed\n%s\nto\n%s", results[i], states[i-1], states[i])
		}
	}
	if first, last := states[0], states[len(states)-1]; first == last {
		t.Errorf("nothing has changed: %s", last)
	}
}

// A schedule that was proposed becomes the chain's.
func TestBiosProposesProducers(t *testing.T) {
	n := newNetwork(t)
	_, err := n.Block(n.CreateAccount(types.N("alice")), chaintest.SetCode(types.N("eosio"), contracts.Bios().Code))
	must(t, err)
	for _, d := range decisions(n) {
		if d.action == "setprods" && d.want == "" {
			if got := n.try(n.action("eosio", d.action, d.actors, []byte(d.data))); got != "eosio" {
				t.Fatal(got)
			}
		}
	}
	for range 10 {
		if p := n.Chain.Head().ActiveSchedule.Producers; p[0].Producer == types.N("alice") {
			return
		}
		_, err := n.Block()
		must(t, err)
	}
	t.Errorf("the schedule is %v", n.Chain.Head().ActiveSchedule)
}

// The package's build of the original accepts setprods without doing anything, and, as
// all of that toolchain on eosio, actions that it does not have.
func TestBiosIsLikeTheOriginal(t *testing.T) {
	peer, err := difftest.Find(context.Background())
	if err != nil {
		t.Skip(err)
	}
	code, text, err := peer.Contract("eosio.bios")
	must(t, err)
	ours, ourStates, wants := decide(t, contracts.Bios().Code)
	theirs, theirStates, _ := decide(t, code)
	for i := range ours {
		// What is said of too few data, and of onerror, is everybody's own.
		own := wants[i] == "assertion failure"
		for _, action := range []string{"onerror", "setprods", "nothing"} {
			own = own || strings.HasPrefix(ours[i], action)
		}
		if ours[i] != theirs[i] && !own {
			t.Errorf("ours  %s\ntheirs %s", ours[i], theirs[i])
		}
		if ourStates[i] != theirStates[i] {
			t.Errorf("%s: ours\n%s\ntheirs\n%s", ours[i], ourStates[i], theirStates[i])
		}
	}
	original, err := abi.Parse(string(text))
	must(t, err)
	own, err := abi.Parse(contracts.Bios().ABI)
	must(t, err)
	fields := map[string]string{}
	for _, s := range own.Structs {
		fields[s.Name] = fmt.Sprint(s)
	}
	for _, s := range original.Structs {
		if s.Name != "abi_hash" && fields[s.Name] != fmt.Sprint(s) {
			t.Errorf("struct %v, the original's is %v", fields[s.Name], s)
		}
	}
}
