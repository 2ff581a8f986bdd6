// Package bench makes chains of a known amount of work with a real go-opera, for measuring
// how long a node takes to import them: transfers of tokens and of money among many
// accounts, and calls of a heavy contract.
//
// It owns the work and its contracts, and drives the node that makes the chain from outside.
// It is a tool of measurements, linked into no program that users get.
package bench

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/opera/oracle"
)

// Work says what transactions a chain is made of.
type Work struct {
	Seed     uint64
	Accounts int // that send
	Tokens   int // transfers of tokens
	Plain    int // transfers of money
	Heavy    int // calls of a heavy contract
	Slots    int // calls that fill SlotsEach fresh slots
}

// all is how many transactions there are once everything is prepared.
func (w *Work) all() int { return w.Tokens + w.Plain + w.Heavy + w.Slots }

// txs is how many transactions there are, those included that prepare the others.
func (w *Work) txs() int { return 3 + 2*w.Accounts + w.all() }

// name is the file of a chain of this work: the same work is the same transactions, in blocks
// that differ from one making to the next.
func (w *Work) name() string {
	return fmt.Sprintf("opera-%d-%d-%d-%d-%d-%d.events", w.Seed, w.Accounts, w.Tokens, w.Plain, w.Heavy, w.Slots)
}

// Events returns the path of the events of a chain of this work, made by a go-opera fakenet
// of one validator if it is not in the folder yet.
func (w *Work) Events(ctx context.Context, peer *oracle.Peer, dir, scratch string, log io.Writer) (string, error) {
	path := filepath.Join(dir, w.name())
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	config := oracle.Config{Dir: filepath.Join(scratch, "maker"), Validators: 1, Validator: 1, Settings: poolSettings}
	node, err := peer.Start(ctx, config)
	if err != nil {
		return "", err
	}
	err = w.drive(ctx, node, log)
	if err := errors.Join(err, node.Stop()); err != nil {
		return "", fmt.Errorf("make a chain for the bench: %w", err)
	}
	half := path + ".part"
	if err := peer.ExportEvents(ctx, config, half, inter.Epoch(1)); err != nil {
		return "", err
	}
	return path, errors.Join(os.Rename(half, path), os.RemoveAll(config.Dir))
}

// poolSettings let the maker's pool take much at once.
const poolSettings = `
[TxPool]
AccountSlots = 64
GlobalSlots = 65536
AccountQueue = 64
GlobalQueue = 65536
`

// sender is an account with its next nonce.
type sender struct {
	key     *ecdsa.PrivateKey
	address common.Address
	nonce   uint64
}

// gasPrice stays above the network's least one, which grows with each busy epoch.
var gasPrice = big.NewInt(5000e9)

func (s *sender) sign(signer types.Signer, to *common.Address, value *big.Int, gas uint64, data []byte) (*types.Transaction, error) {
	tx, err := types.SignNewTx(s.key, signer, &types.LegacyTx{
		Nonce: s.nonce, To: to, Value: value, Gas: gas, GasPrice: gasPrice, Data: data,
	})
	s.nonce++
	return tx, err
}

// drive sends the work's transactions in an order in which all of them succeed.
func (w *Work) drive(ctx context.Context, node *oracle.Node, log io.Writer) error {
	signer := types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))
	key, err := fakenet.Key(1)
	if err != nil {
		return err
	}
	rich := &sender{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
	senders, err := w.senders()
	if err != nil {
		return err
	}
	p := &pusher{node: node, log: log}
	var txs types.Transactions
	for _, code := range [][]byte{token(), worker(), keeper()} {
		tx, err := rich.sign(signer, nil, new(big.Int), createGas, creation(code))
		if err != nil {
			return err
		}
		txs = append(txs, tx)
	}
	var made [3]common.Address
	for i := range made {
		made[i] = crypto.CreateAddress(rich.address, uint64(i))
	}
	fund := new(big.Int).Mul(big.NewInt(20_000_000), gasPrice)
	fund.Mul(fund, big.NewInt(int64(1+w.all()/w.Accounts)))
	for _, s := range senders {
		tx, err := rich.sign(signer, &s.address, fund, 21_000, nil)
		if err != nil {
			return err
		}
		txs = append(txs, tx)
	}
	if err := p.push(ctx, txs); err != nil {
		return err
	}
	if txs, err = each(senders, func(s *sender) (*types.Transaction, error) {
		return s.sign(signer, &made[0], new(big.Int), mintGas, []byte{1, 2, 3, 4})
	}); err != nil {
		return err
	}
	if err := p.push(ctx, txs); err != nil {
		return err
	}
	return w.mix(ctx, p, signer, senders, made)
}

// mix sends the transfers and calls, shuffled, one of each account in turn.
func (w *Work) mix(ctx context.Context, p *pusher, signer types.Signer, senders []*sender, made [3]common.Address) error {
	r := rand.New(rand.NewPCG(w.Seed, 1))
	kinds := make([]byte, 0, w.all())
	for kind, n := range []int{w.Tokens, w.Plain, w.Heavy, w.Slots} {
		kinds = append(kinds, bytes.Repeat([]byte{byte(kind)}, n)...)
	}
	r.Shuffle(len(kinds), func(i, j int) { kinds[i], kinds[j] = kinds[j], kinds[i] })
	for from := 0; from < len(kinds); from += len(senders) {
		part := kinds[from:min(len(kinds), from+len(senders))]
		others := make([]common.Address, len(part))
		for i := range others {
			others[i] = senders[r.IntN(len(senders))].address
		}
		i := 0
		txs, err := each(senders[:len(part)], func(s *sender) (*types.Transaction, error) {
			at := i
			i++
			switch part[at] {
			case 0:
				return s.sign(signer, &made[0], new(big.Int), transferGas, transferCall(others[at], 1+uint64(at)))
			case 1:
				return s.sign(signer, &others[at], big.NewInt(1+int64(at)), 21_000, nil)
			case 2:
				return s.sign(signer, &made[1], new(big.Int), workGas, nil)
			}
			first := new(big.Int).SetUint64(uint64(from+at) * SlotsEach)
			return s.sign(signer, &made[2], new(big.Int), slotsGas, common.LeftPadBytes(first.Bytes(), 32))
		})
		if err != nil {
			return err
		}
		if err := p.push(ctx, txs); err != nil {
			return err
		}
	}
	return nil
}

func each(senders []*sender, do func(*sender) (*types.Transaction, error)) (types.Transactions, error) {
	txs := make(types.Transactions, len(senders))
	for i, s := range senders {
		var err error
		if txs[i], err = do(s); err != nil {
			return nil, err
		}
	}
	return txs, nil
}

// senders makes the work's accounts.
func (w *Work) senders() ([]*sender, error) {
	list := make([]*sender, w.Accounts)
	for i := range list {
		seed := binary.BigEndian.AppendUint64([]byte("an account of the bench"), w.Seed)
		key, err := crypto.ToECDSA(crypto.Keccak256(binary.BigEndian.AppendUint64(seed, uint64(i))))
		if err != nil {
			return nil, err
		}
		list[i] = &sender{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
	}
	return list, nil
}

// pusher sends transactions to a node and waits until they are in blocks.
type pusher struct {
	node *oracle.Node
	log  io.Writer
	sent int
}

const (
	batch = 200
)

// push sends transactions in batches, all processors at once but for those of one sender, and
// waits until the node's pool is empty.
func (p *pusher) push(ctx context.Context, txs types.Transactions) error {
	work := make(chan types.Transactions)
	errs := make(chan error, runtime.NumCPU())
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var all sync.WaitGroup
	for range runtime.NumCPU() {
		all.Go(func() {
			for part := range work {
				if err := p.send(ctx, part); err != nil {
					errs <- err
					cancel()
					return
				}
			}
		})
	}
	for from := 0; from < len(txs) && ctx.Err() == nil; from += batch {
		select {
		case work <- txs[from:min(len(txs), from+batch)]:
		case <-ctx.Done():
		}
	}
	close(work)
	all.Wait()
	select {
	case err := <-errs:
		return err
	default:
	}
	p.sent += len(txs)
	fmt.Fprintf(p.log, "%d transactions sent\n", p.sent)
	return p.drain(ctx)
}

// send sends a batch, and again what the pool has no room for.
func (p *pusher) send(ctx context.Context, txs types.Transactions) error {
	for len(txs) != 0 {
		left, err := p.post(ctx, txs)
		if err != nil {
			return err
		}
		if txs = left; len(txs) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return nil
}

// post sends a batch once and returns what was refused for lack of room.
func (p *pusher) post(ctx context.Context, txs types.Transactions) (left types.Transactions, err error) {
	type call struct {
		Version string `json:"jsonrpc"`
		ID      int    `json:"id"`
		Method  string `json:"method"`
		Params  []any  `json:"params"`
	}
	calls := make([]call, len(txs))
	for i, tx := range txs {
		raw, err := tx.MarshalBinary()
		if err != nil {
			return nil, err
		}
		calls[i] = call{"2.0", i, "eth_sendRawTransaction", []any{hexutil.Encode(raw)}}
	}
	body, err := json.Marshal(calls)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.node.URL(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var answers []struct {
		ID    int
		Error *struct{ Message string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&answers); err != nil {
		return nil, fmt.Errorf("send transactions: %w", err)
	}
	for _, a := range answers {
		switch {
		case a.Error == nil || a.Error.Message == "already known":
		case a.Error.Message == "txpool is full":
			left = append(left, txs[a.ID])
		default:
			return nil, fmt.Errorf("send transaction %v: %s", txs[a.ID].Hash(), a.Error.Message)
		}
	}
	return left, nil
}

// drain waits until the pool is empty.
func (p *pusher) drain(ctx context.Context) error {
	for {
		var status struct{ Pending, Queued hexutil.Uint64 }
		if err := p.node.Call(ctx, &status, "txpool_status"); err != nil {
			return err
		}
		if status.Pending == 0 && status.Queued == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}
