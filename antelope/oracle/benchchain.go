package oracle

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/types"
)

// BenchChains are the chains that replays are measured with: transfers of
// eosio.token among 5000 accounts.
func BenchChains() []Workload {
	single, many := Transfers(250_000, 1, 8000), Transfers(4000, 50, 250)
	single.Name, single.Doc = "single", "250,000 transfers, one action and one signature each"
	many.Name, many.Doc = "many", "200,000 transfers in transactions of 50 actions"
	return []Workload{single, many}
}

// benchAccounts is how many accounts send each other tokens.
const benchAccounts = 5000

// Transfers is a workload on a chain with all features: so many transactions of so
// many transfers of eosio.token each, from one of 5000 accounts to others, sent as a
// peer at a rate per second. Each account has a key of its own. Its genesis lets blocks be
// as full as they can be made; three megabytes are full before their time.
func Transfers(transactions, each, rate int) Workload {
	return Workload{
		Name: "transfers", Doc: fmt.Sprintf("%d transactions of %d transfers", transactions, each),
		Genesis: func(g *types.Genesis) {
			c := &g.InitialConfiguration
			c.MinTransactionCPUUsage, c.MaxBlockNetUsage = 1, 8<<20
		},
		Run: func(d *Driver, _ time.Time) error { return d.bench(transactions, each, rate) },
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
	if err := d.benchUsers(); err != nil {
		return err
	}
	ref, err := d.ground.reference(d.ctx)
	if err != nil {
		return err
	}
	l, err := DialPeer(d.ctx, d.P2P(), d.chain)
	if err != nil {
		return err
	}
	defer l.Close()
	source := NewTransferSource(d.Seed, d.chain, ref, transfers)
	queue := make(chan *types.PackedTransaction, 4096)
	failed := make(chan error, 1)
	go func() {
		defer close(queue)
		for range transactions {
			p, err := source.Next()
			if err != nil {
				failed <- err
				return
			}
			select {
			case queue <- p:
			case <-d.ctx.Done():
				failed <- d.ctx.Err()
				return
			}
		}
		failed <- nil
	}()
	sent, err := l.Transactions(d.ctx, queue, rate)
	if err != nil {
		return err
	}
	if err := <-failed; err != nil {
		return err
	}
	d.ok += sent
	return d.Blocks(6)
}

// benchKey is the key of an account of a bench chain.
func benchKey(seed uint64, user types.Name) crypto.PrivateKey { return NewKey(seed, user.String()) }

// benchUsers makes accounts with keys and tokens.
func (d *Driver) benchUsers() error {
	var makes, funds []types.Action
	for i := range benchAccounts {
		u := account("bench", i)
		auth := types.KeyAuthority(benchKey(d.Seed, u).Public())
		makes = append(makes, newAccount(system, u, auth, auth))
		funds = append(funds, transfer(system, u, tokens(100_000_0000, "SYS"), ""))
	}
	for batch := range slices.Chunk(makes, 100) {
		if err := d.Must(batch...); err != nil {
			return err
		}
	}
	for batch := range slices.Chunk(funds, 40) {
		if err := d.Must(batch...); err != nil {
			return err
		}
	}
	return d.Blocks(2)
}

// TransferSource makes signed transactions for a chain that [Transfers] began: no two
// of one source are the same, nor of two with different references. It is for one
// goroutine.
type TransferSource struct {
	chain types.Checksum256
	ref   types.Checksum256
	keys  []crypto.PrivateKey // by account
	rand  *rand.Rand
	each  int
	count int
}

// NewTransferSource makes one. The seed is that of the chain, ref a recent block of
// it; each transaction has so many transfers, and 50 minutes until it expires.
func NewTransferSource(seed uint64, chain, ref types.Checksum256, each int) *TransferSource {
	s := &TransferSource{chain: chain, ref: ref, rand: rand.New(rand.NewPCG(seed, 2)), each: each}
	for i := range benchAccounts {
		s.keys = append(s.keys, benchKey(seed, account("bench", i)))
	}
	return s
}

// Next returns the next transaction.
func (s *TransferSource) Next() (*types.PackedTransaction, error) {
	expiration := time.Now().Add(50 * time.Minute).Unix()
	t := &types.Transaction{TransactionHeader: types.TransactionHeader{Expiration: types.TimePointSec(expiration)}}
	t.SetRefBlock(s.ref)
	from := s.rand.IntN(benchAccounts)
	for j := range s.each {
		to := (from + 1 + s.rand.IntN(benchAccounts-1)) % benchAccounts
		t.Actions = append(t.Actions, transfer(account("bench", from), account("bench", to), tokens(1+s.rand.Int64N(100), "SYS"), fmt.Sprint(s.count, " ", j)))
	}
	s.count++
	signature, err := s.keys[from].Sign(t.SigningDigest(s.chain, nil))
	if err != nil {
		return nil, err
	}
	return types.Pack(t, []types.Signature{signature}, nil, types.CompressionNone)
}
