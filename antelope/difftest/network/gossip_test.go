package network

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain/chaintest"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts/wat"
)

// peerKeys is a contract for eosio that has one action, getpeerkeys, and answers with the same key for all members.
func peerKeys(t *testing.T, q *Quorum) []byte {
	t.Helper()
	answer := serial.AppendCount(nil, len(q.Members()))
	for _, m := range q.Members() {
		answer = q.Key.Public().Append(serial.AppendBool(serial.AppendUint64(answer, uint64(m.Producer())), true))
	}
	var text strings.Builder
	for _, b := range answer {
		fmt.Fprintf(&text, "\\%02x", b)
	}
	code, err := wat.Assemble(fmt.Sprintf(`(module
  (import "env" "set_action_return_value" (func $answer (param $at i32) (param $size i32)))
  (memory 1)
  (global $keys i32 (i32.const 16)) (data (i32.const 16) "%s")
  (func (export "apply") (param $self i64) (param $contract i64) (param $action i64)
    (if (i64.eq (local.get $action) (i64.const %#x)) (then (call $answer (global.get $keys) (i32.const %d))))))`,
		text.String(), uint64(types.N("getpeerkeys")), len(answer)))
	must(t, err)
	return code
}

// gossipers starts members that gossip, and of whom each knows the first one alone.
func gossipers(t *testing.T, places ...Place) *Quorum {
	t.Helper()
	q, err := NewQuorum(t.Context(), nil, t.TempDir(), lines{t})
	t.Cleanup(q.Close)
	must(t, err)
	dir := t.TempDir()
	for i, p := range places {
		m, err := q.Join(p, dir)
		must(t, err)
		var first []string
		if i > 0 {
			first = append(first, q.Members()[0].link.Address())
		}
		m.config.Extra = slices.Concat(arguments(first...), []string{"--plugin", "eosio::net_api_plugin",
			"--p2p-bp-gossip-endpoint", fmt.Sprintf("%v,%s,127.0.0.1", m.Producer(), m.link.Address())})
		must(t, q.Start(t.Context(), m))
	}
	must(t, q.Found(t.Context()))
	return q
}

// gossiped is what a member has heard of producers, as text, and with how many of their nodes it is connected.
func gossiped(t *testing.T, m *Member) (heard string, connected int) {
	t.Helper()
	var peers []struct {
		Producer   string `json:"producer_name"`
		Server     string `json:"server_endpoint"`
		Outbound   string `json:"outbound_ip_address"`
		Expiration string
	}
	must(t, m.Call(t.Context(), "/v1/net/bp_gossip_peers", struct{}{}, &peers))
	for _, p := range peers {
		heard += fmt.Sprintln(p.Producer, p.Server, p.Outbound, p.Expiration)
	}
	var connections []struct {
		Gossip    bool `json:"is_bp_gossip_peer"`
		Producer  bool `json:"is_bp_peer"`
		Open      bool `json:"is_socket_open"`
		Handshake struct {
			Node string `json:"node_id"`
		} `json:"last_handshake"`
	}
	must(t, m.Call(t.Context(), "/v1/net/connections", struct{}{}, &connections))
	nodes := map[string]bool{}
	for _, c := range connections {
		if c.Gossip && c.Producer && c.Open {
			nodes[c.Handshake.Node] = true
		}
	}
	return heard, len(nodes)
}

// Producers of both programs that know one of them find the others by gossip, and connect: each takes what the
// other has signed.
func TestProducersFindEachOtherByGossip(t *testing.T) {
	ours, theirs := spring(t)
	q := gossipers(t, Place{Program: theirs, Produces: true}, Place{Program: ours, Produces: true},
		Place{Program: theirs, Produces: true})
	must(t, q.Schedule(t.Context(), q.Members()...))
	must(t, q.blocks(t.Context(), 30))
	must(t, q.Push(t.Context(), q.Members()[0], chaintest.SetCode(eosio, peerKeys(t, q))))
	must(t, q.blocks(t.Context(), 30)) // all have received blocks since
	for _, m := range q.Members()[1:] {
		must(t, m.Stop())
		must(t, q.Again(t.Context(), m)) // who greets the first one now is greeted by it
	}
	var heard []string
	err := await(t.Context(), "producers that are connected", 2*time.Minute, func() (bool, error) {
		heard = nil
		all := true
		for _, m := range q.Members() {
			text, connected := gossiped(t, m)
			heard = append(heard, fmt.Sprintf("%s is connected with %d, and knows\n%s", m.Name, connected, text))
			all = all && connected == 2 && strings.Count(text, "\n") == 3
		}
		return all, nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Log(strings.Join(heard, ""))
	must(t, q.blocks(t.Context(), 8))
}
