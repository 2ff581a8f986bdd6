package producer

import (
	"context"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/state"
)

// exists tells whether a view that is taken now has an account.
func exists(t *testing.T, n *node, account string) bool {
	t.Helper()
	v, err := n.chain.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var a *state.Account
	if a, err = v.Accounts.Get(name(account)); err != nil {
		t.Fatal(err)
	}
	return a != nil
}

func TestWhoHasAnAnswerFindsTheTransactionInTheState(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx := context.Background()
		producing := newNode(t, chain.Options{}, produces("eosio"))
		speculative := newNode(t, chain.Options{Options: execute.Options{Speculative: true}}, nil)
		following := newNode(t, chain.Options{}, nil)
		nodes := []*node{producing, speculative, following}
		connect(t.Context(), producing, speculative, 0)
		connect(t.Context(), producing, following, 0)
		for _, n := range nodes {
			n.run()
		}
		time.Sleep(5*time.Second + 10*time.Millisecond)
		before := producing.Head()
		clean := producing.hash(t)

		p, err := producing.sign(producing.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		for i, n := range nodes {
			if _, err := n.Transaction(ctx, p, execute.TransactionOptions{API: true}); err != nil {
				t.Fatal(err)
			}
			// What a follower executes is undone: the block is somebody else's.
			if got, want := exists(t, n, "alice"), n != following; got != want {
				t.Errorf("node %d: its account is shown: %t", i, got)
			}
		}
		if id, hash, err := producing.IntegrityHash(ctx); err != nil || id != before.ID || hash != clean {
			t.Errorf("the hash of block %s is %s, %v, want that of %s, %s", id, hash, err, before.ID, clean)
		}
		if exists(t, producing, "alice") {
			t.Error("the block was given up, and its account is still shown")
		}
		time.Sleep(2 * time.Second)
		count := 0
		for _, b := range producing.chainBlocks() {
			count += len(b.Transactions)
		}
		if count != 1 {
			t.Errorf("the transaction is in blocks %d times", count)
		}
		sameState(t, nodes)
	})
}

// Readers of a speculative node see what its peers have sent, too.
func TestASpeculativeNodeShowsWhatPeersSend(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		producing := newNode(t, chain.Options{}, produces("eosio"))
		speculative := newNode(t, chain.Options{Options: execute.Options{Speculative: true}}, nil)
		connect(t.Context(), producing, speculative, 0)
		producing.run()
		speculative.run()
		time.Sleep(5*time.Second + 10*time.Millisecond)
		p, err := producing.sign(producing.maker.CreateAccount(name("alice")))
		if err != nil {
			t.Fatal(err)
		}
		head := speculative.Head().Num
		if _, err := speculative.Transaction(context.Background(), p, execute.TransactionOptions{}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(5 * time.Millisecond)
		if !exists(t, speculative, "alice") || speculative.Head().Num != head {
			t.Errorf("what a peer has sent is not shown after block %d, at %d", head, speculative.Head().Num)
		}
	})
}
