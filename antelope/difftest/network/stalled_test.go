package network

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/p2p"
	"tarn/antelope/p2p/lightpeer"
	"tarn/antelope/types"
	"tarn/internal/freeport"
)

// A chain of Spring that stands still answers who sends transactions, as nodeos does, also in irreversible
// mode; and listeners for transactions say so to those who connect.
func TestAChainThatStandsStillAnswersAlike(t *testing.T) {
	ours, theirs := spring(t)
	irreversible := []string{"--read-mode", "irreversible"}
	q := newQuorum(t, Place{Program: theirs, Finalizes: 1}, Place{Program: theirs}, Place{Program: ours},
		Place{Program: theirs, Extra: irreversible}, Place{Program: ours, Extra: irreversible})
	change(t, q)
	told := map[string]string{}
	for _, m := range q.Members()[1:] { // what they are is found out at their start
		must(t, m.Stop())
		address := freeport.Address(t)
		must(t, q.Again(t.Context(), m, "--p2p-listen-endpoint", address+":trx:1MiB/s"))
		told[m.Name] = strings.Replace(saysAt(t, q, m, address), address, "HOST:PORT", 1)
	}
	must(t, q.blocks(t.Context(), 6))
	must(t, q.Members()[0].Pause(t.Context()))
	time.Sleep(8 * time.Second) // Leap's nodes wait for blocks then
	first := map[bool]string{}
	for i, m := range q.Members()[1:] {
		is := fmt.Sprintf("listens %s, %s", told[m.Name], answer(t, q, m, i))
		t.Logf("%s: %s", m.Name, is)
		mode := i >= 2
		if before, ok := first[mode]; ok && before != is {
			t.Errorf("%s: %s; the other: %s", m.Name, is, before)
		}
		first[mode] = is
	}
}

// saysAt is the address that a node says to who connects to one of its listeners.
func saysAt(t *testing.T, q *Quorum, m *Member, address string) string {
	t.Helper()
	info, err := m.Info(t.Context())
	must(t, err)
	p, err := lightpeer.Dial(t.Context(), address, q.Genesis.ChainID())
	must(t, err)
	defer p.Close()
	must(t, p.SetDeadline(time.Now().Add(15*time.Second)))
	p.Hello.HeadNum, p.Hello.LIBNum = info.HeadNum, info.Irreversible
	p.Hello.HeadID, err = types.ParseChecksum256(info.HeadID)
	must(t, err)
	p.Hello.LIBID, err = types.ParseChecksum256(info.LIBID)
	must(t, err)
	must(t, p.SendHandshake())
	h, err := lightpeer.Until[p2p.Handshake](p)
	must(t, err)
	says, _, _ := strings.Cut(h.P2PAddress, " - ")
	return says
}

// answer is what becomes of a transaction, and how many slots after the head its block would be.
func answer(t *testing.T, q *Quorum, m *Member, number int) string {
	t.Helper()
	info, err := m.Info(t.Context())
	must(t, err)
	lib, err := types.ParseChecksum256(info.LIBID)
	must(t, err)
	x := &types.Transaction{Actions: []types.Action{q.NewAccount(types.N("sent" + string(rune('a'+number))))}}
	x.Expiration = types.TimePointSec(time.Now().Add(time.Minute).Unix())
	x.SetRefBlock(lib)
	s, err := q.Key.Sign(x.SigningDigest(q.Genesis.ChainID(), nil))
	must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	status, body, err := m.Ask(ctx, "/v1/chain/send_transaction2", fmt.Sprintf(`{"return_failure_trace":true,`+
		`"retry_trx":false,"transaction":{"signatures":[%q],"compression":"none","packed_context_free_data":"",`+
		`"packed_trx":"%x"}}`, s.String(), x.Append(nil)))
	if err != nil {
		return err.Error()
	}
	var a struct {
		Processed struct {
			Num  uint32 `json:"block_num"`
			Time string `json:"block_time"`
		}
	}
	if err := json.Unmarshal(body, &a); err != nil {
		t.Fatalf("%s: %v: %s", m.Name, err, body)
	}
	return fmt.Sprintf("answers %d, in block %d after the head, %s", status, a.Processed.Num-info.HeadNum,
		a.Processed.Time)
}
