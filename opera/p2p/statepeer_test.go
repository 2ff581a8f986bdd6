package p2p

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/p2p/fsnap"
)

// newTestPeer is a giver and the other side of its connection. What the giver's side reads goes on until the
// test ends; read is told how that ended.
func newTestPeer(t *testing.T) (g *statePeer, other *p2p.MsgPipeRW, read chan error) {
	t.Helper()
	own, other := p2p.MsgPipe()
	ctx, cancel := context.WithCancelCause(context.Background())
	g = newStatePeer(ctx, "test", own, func(error) {})
	read = make(chan error, 1)
	go func() {
		in := &requesting{own, g, newBudget(10, 32<<20)}
		for {
			m, err := in.ReadMsg()
			if err != nil {
				read <- err
				cancel(errGone)
				return
			}
			_ = m.Discard()
		}
	}()
	t.Cleanup(func() { _ = own.Close() })
	return g, other, read
}

// readRequest reads a request for codes.
func readRequest(t *testing.T, from p2p.MsgReader) *fsnap.GetCodes {
	t.Helper()
	m, err := from.ReadMsg()
	r := new(fsnap.GetCodes)
	if err == nil {
		err = m.Decode(r)
	}
	if err != nil {
		t.Error(err)
	}
	return r
}

// Answers find their requests by their numbers, in whatever order they come, and what nobody asked for is
// passed over.
func TestAnswersOfAStateFindTheirRequests(t *testing.T) {
	g, other, _ := newTestPeer(t)
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			codes, err := g.Codes(t.Context(), []common.Hash{{byte(i)}}, 1000)
			if err != nil || len(codes) != 1 || codes[0][0] != byte(i) {
				t.Errorf("code %d is %x, %v", i, codes, err)
			}
		})
	}
	var requests []*fsnap.GetCodes
	for range 3 {
		requests = append(requests, readRequest(t, other))
	}
	send := func(m fsnap.Message) {
		if err := p2p.Send(other, m.Code(), m); err != nil {
			t.Error(err)
		}
	}
	send(&fsnap.CodesOf{ID: 77, Codes: [][]byte{{1}}})
	for i := range requests {
		r := requests[len(requests)-1-i]
		send(&fsnap.CodesOf{ID: r.ID, Codes: [][]byte{r.Hashes[0][:1]}})
		send(&fsnap.CodesOf{ID: r.ID, Codes: [][]byte{{99}}}) // once more
	}
	all.Wait()
	if n := len(g.waiting); n != 0 {
		t.Errorf("%d requests wait", n)
	}
}

// An answer that is none ends the connection, and with it what was asked.
func TestAWrongAnswerOfAStateEndsTheConnection(t *testing.T) {
	for name, answer := range map[string]func(id uint64) (code uint64, m any){
		"of another kind": func(id uint64) (uint64, any) { return fsnap.CodeAccounts, &fsnap.Accounts{ID: id} },
		"too large":       func(id uint64) (uint64, any) { return fsnap.CodeCodes, make([]byte, fsnap.MaxAnswer) },
		"without number":  func(id uint64) (uint64, any) { return fsnap.CodeCodes, "?" },
		"malformed":       func(id uint64) (uint64, any) { return fsnap.CodeCodes, []any{id, "?"} },
	} {
		g, other, read := newTestPeer(t)
		asked := make(chan error, 1)
		go func() {
			_, err := g.Codes(t.Context(), []common.Hash{{1}}, 1000)
			asked <- err
		}()
		code, m := answer(readRequest(t, other).ID)
		raw, err := rlp.EncodeToBytes(m)
		if err == nil {
			err = writeMessage(other, message{code, raw})
		}
		if ended := <-read; ended == nil || err != nil && !errors.Is(err, p2p.ErrPipeClosed) {
			t.Errorf("%s: %v, %v", name, ended, err)
		}
		if err := <-asked; !errors.Is(err, errGone) {
			t.Errorf("%s: who asked is told %v", name, err)
		}
	}
}

// Who gives no answer is waited for no longer than the asker says.
func TestAnAnswerOfAStateIsWaitedForAsLongAsTheAskerSays(t *testing.T) {
	g, other, _ := newTestPeer(t)
	late := fmt.Errorf("late")
	ctx, cancel := context.WithTimeoutCause(t.Context(), 20*time.Millisecond, late)
	defer cancel()
	go readRequest(t, other)
	if _, err := g.Codes(ctx, []common.Hash{{1}}, 1000); !errors.Is(err, late) {
		t.Errorf("it ends with %v", err)
	}
}
