package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tarn/antelope/types"
)

// BenchChains are the chains that replays are measured with: transfers of
// eosio.token among 5000 accounts.
func BenchChains() []Workload {
	limits := func(g *types.Genesis) { g.InitialConfiguration.MinTransactionCPUUsage = 1 }
	return []Workload{
		{Name: "single", Doc: "250,000 transfers, one action and one signature each", Genesis: limits,
			Run: func(d *Driver, _ time.Time) error { return d.bench(250_000, 1, 8000) }},
		{Name: "many", Doc: "200,000 transfers in transactions of 50 actions", Genesis: limits,
			Run: func(d *Driver, _ time.Time) error { return d.bench(4000, 50, 250) }},
	}
}

// bench makes the accounts, then sends so many transactions of so many transfers,
// at a rate per second, as a peer.
func (d *Driver) bench(transactions, transfers, rate int) error {
	if err := d.bootAll(); err != nil {
		return err
	}
	if err := d.mint("SYS"); err != nil {
		return err
	}
	users, err := d.benchUsers(5000)
	if err != nil {
		return err
	}
	ref, err := d.reference()
	if err != nil {
		return err
	}
	l, err := dialPeer(d.ctx, d.P2P(), d.chain)
	if err != nil {
		return err
	}
	defer l.close()
	queue := make(chan *types.PackedTransaction, 4096)
	failed := make(chan error, 1)
	go func() {
		defer close(queue)
		failed <- d.benchTransactions(queue, users, ref, transactions, transfers)
	}()
	sent, err := l.transactions(d.ctx, queue, rate)
	if err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	d.ok += sent
	return d.Blocks(6)
}

// benchUsers makes accounts with one key for all, and tokens.
func (d *Driver) benchUsers(n int) ([]types.Name, error) {
	auth := types.KeyAuthority(d.Key(system).Public())
	var users []types.Name
	var makes, funds []types.Action
	for i := range n {
		u := account("bench", i)
		users = append(users, u)
		makes = append(makes, newAccount(system, u, auth, auth))
		funds = append(funds, transfer(system, u, tokens(100_000_0000, "SYS"), ""))
	}
	for batch := range slices.Chunk(makes, 100) {
		if err := d.Must(batch...); err != nil {
			return nil, err
		}
	}
	for batch := range slices.Chunk(funds, 40) {
		if err := d.Must(batch...); err != nil {
			return nil, err
		}
	}
	return users, d.Blocks(2)
}

// benchTransactions signs them.
func (d *Driver) benchTransactions(out chan<- *types.PackedTransaction, users []types.Name, ref types.Checksum256, transactions, transfers int) error {
	r := rand.New(rand.NewPCG(d.Seed, 2))
	key := d.Key(system)
	expiration := time.Now().Add(50 * time.Minute).Unix()
	for i := range transactions {
		t := &types.Transaction{TransactionHeader: types.TransactionHeader{Expiration: types.TimePointSec(expiration)}}
		t.SetRefBlock(ref)
		for j := range transfers {
			from := r.IntN(len(users))
			to := (from + 1 + r.IntN(len(users)-1)) % len(users)
			t.Actions = append(t.Actions, transfer(users[from], users[to], tokens(1+r.Int64N(100), "SYS"), fmt.Sprint(i, " ", j)))
		}
		signature, err := key.Sign(t.SigningDigest(d.chain, nil))
		if err != nil {
			return err
		}
		p, err := types.Pack(t, []types.Signature{signature}, nil, types.CompressionNone)
		if err != nil {
			return err
		}
		select {
		case out <- p:
		case <-d.ctx.Done():
			return d.ctx.Err()
		}
	}
	return nil
}
