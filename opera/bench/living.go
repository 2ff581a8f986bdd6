package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/bench/watcher"
	"tarn/internal/figures"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
)

// Living is what a validator of a fakenet of one came to, that some transactions a second were
// sent to, that had nothing to do, and that was killed after its last receipt.
type Living struct {
	Subject   string
	Busy      float64 // bytes written a second, with transactions
	Idle      float64 // the same, without
	Told      int     // transactions that had receipts when it was killed
	Lost      int     // of those, without one after the next start
	Again     float64 // seconds until the first answer of that start
	Refused   string  // why it does not start again; empty if it does
	Processor float64 // share of one processor, with transactions
}

// livingRate is transactions a second.
const livingRate = 10

// lives lets all subjects live at once: bytes do not depend on who else uses the processor.
func (m *measurement) lives() (*Section, error) {
	s := &Section{}
	type result struct {
		living *Living
		err    error
	}
	folders := map[string]string{}
	for _, subject := range m.subjects() {
		var err error
		if folders[subject], err = m.folder(subject); err != nil {
			return nil, err
		}
	}
	ended := make(chan result)
	for subject, dir := range folders {
		go func() {
			l, err := m.live(subject, dir)
			if err != nil {
				err = fmt.Errorf("%s: %w", subject, err)
			}
			ended <- result{l, err}
		}()
	}
	found := map[string]Living{}
	var errs []error
	for range m.subjects() {
		r := <-ended
		if errs = append(errs, r.err); r.err == nil {
			found[r.living.Subject] = *r.living
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	for _, subject := range m.subjects() {
		s.Lives = append(s.Lives, found[subject])
	}
	m.tellLives(s)
	return s, nil
}

// live is the life of one validator, and the beginning of its second.
func (m *measurement) live(subject, dir string) (*Living, error) {
	node, err := m.serve(subject, dir, life{validator: 1})
	if err != nil {
		return nil, err
	}
	defer node.Kill()
	p := &payer{url: node.at(), signer: types.NewLondonSigner(new(big.Int).SetUint64(inter.FakeNetwork))}
	l := &Living{Subject: subject}
	// The first epoch ends at once.
	time.Sleep(3 * time.Second)
	busy, cpu, err := m.written(node, func(end time.Time) error { return p.pay(end) })
	if err != nil {
		return nil, err
	}
	l.Busy, l.Processor = busy, cpu
	if l.Idle, _, err = m.written(node, func(end time.Time) error { time.Sleep(time.Until(end)); return nil }); err != nil {
		return nil, err
	}
	for range 6 { // each in a block of its own
		hash, err := p.send()
		if err == nil {
			err = p.await(hash)
		}
		if err != nil {
			return nil, err
		}
	}
	node.Kill()
	l.Told = len(p.sent)
	if err := m.revive(l, p, dir); err != nil {
		return nil, fmt.Errorf("after the kill: %w", err)
	}
	if l.Refused != "" {
		m.logf("%s: %.0f B/s busy, %.0f B/s idle, after the kill: %s", subject, l.Busy, l.Idle, l.Refused)
	} else {
		m.logf("%s: %.0f B/s busy, %.0f B/s idle, %d of %d transactions lost", subject, l.Busy, l.Idle, l.Lost, l.Told)
	}
	return l, nil
}

// fallTime is how long a node that has failed to answer may take to end.
const fallTime = 10 * time.Second

// revive starts a validator that was killed, and counts what it has lost. A go-opera that has lost
// events of its own ends: before its first answer, or when it is about to say something, which may
// be after some answers. That is a result; ours must go on.
func (m *measurement) revive(l *Living, p *payer, dir string) error {
	again, err := m.serve(l.Subject, dir, life{validator: 1})
	if err != nil && !ours(l.Subject) && m.ctx.Err() == nil {
		l.Refused = err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	defer again.Kill()
	l.Again = again.took.Seconds()
	p.url = again.at()
	if l.Lost, err = p.lost(); err == nil {
		return nil
	}
	if why := fallen(m.ctx, again.Child, fallTime); !ours(l.Subject) && why != nil {
		l.Refused, l.Lost, l.Again = fmt.Sprintf("it answered, and ended: %v", why), 0, 0
		return nil
	}
	return err
}

// fallen returns how a node ended that does so within some time, nil for one that goes on.
func fallen(ctx context.Context, node *watcher.Child, within time.Duration) error {
	select {
	case <-node.Done():
		if err := node.Wait(ctx); err != nil {
			return err
		}
		return errors.New("without an error")
	case <-time.After(within):
	case <-ctx.Done():
	}
	return nil
}

// lost counts the transactions that have no receipt.
func (p *payer) lost() (count int, err error) {
	for _, hash := range p.sent {
		found, err := p.has(hash)
		if err != nil {
			return count, err
		}
		if !found {
			count++
		}
	}
	return count, nil
}

// written is what a node writes a second while something is done until the given time, and how
// much of a processor it uses.
func (m *measurement) written(node *serving, do func(end time.Time) error) (bytes, cpu float64, err error) {
	before, err := node.Now()
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	if err := do(begun.Add(m.config.Living)); err != nil {
		return 0, 0, err
	}
	after, err := node.Now()
	if err != nil {
		return 0, 0, err
	}
	took := time.Since(begun).Seconds()
	return float64(after.Disk.Net()-before.Disk.Net()) / took, (after.CPU() - before.CPU()).Seconds() / took, nil
}

// payer sends transfers of the account that has everything.
type payer struct {
	url    string
	signer types.Signer
	sender *sender
	sent   []common.Hash
}

// pay sends at a rate until a time, and waits until the last is in a block.
func (p *payer) pay(end time.Time) error {
	last := common.Hash{}
	for tick := time.Now(); tick.Before(end); tick = tick.Add(time.Second / livingRate) {
		time.Sleep(time.Until(tick))
		hash, err := p.send()
		if err != nil {
			return err
		}
		last = hash
	}
	return p.await(last)
}

func (p *payer) send() (common.Hash, error) {
	if p.sender == nil {
		key, err := fakenet.Key(1)
		if err != nil {
			return common.Hash{}, err
		}
		p.sender = &sender{key: key, address: crypto.PubkeyToAddress(key.PublicKey)}
	}
	to := common.BigToAddress(big.NewInt(int64(1000 + len(p.sent)%1000)))
	tx, err := p.sender.sign(p.signer, &to, big.NewInt(1), 21_000, nil)
	if err != nil {
		return common.Hash{}, err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return common.Hash{}, err
	}
	var hash common.Hash
	err = ask(p.url, &hash, "eth_sendRawTransaction", strconv.Quote(hexutil.Encode(raw)))
	p.sent = append(p.sent, hash)
	return hash, err
}

func (p *payer) has(hash common.Hash) (bool, error) {
	var receipt *struct{ Status hexutil.Uint64 }
	err := ask(p.url, &receipt, "eth_getTransactionReceipt", strconv.Quote(hash.Hex()))
	return receipt != nil, err
}

func (p *payer) await(hash common.Hash) error {
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		if found, err := p.has(hash); err != nil || found {
			return err
		}
	}
	return fmt.Errorf("transaction %v is in no block", hash)
}

// ask asks a node on a connection of its own, and reads the result.
func ask(url string, result any, method, params string) (err error) {
	req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(call(method, params)))
	if err != nil {
		return err
	}
	// A server may have closed a connection that was kept while nothing was asked.
	req.Close = true
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	var answer struct {
		Result json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer.Error != nil {
		return errors.Join(err, fmt.Errorf("%s: %s", method, text))
	}
	return json.Unmarshal(answer.Result, result)
}

// tellLives makes the table.
func (m *measurement) tellLives(s *Section) {
	t := figures.Table{
		Title: "A validator of a fakenet of one",
		How:   fmt.Sprintf("%d transfers a second for %s, then nothing for as long; what checkpoints write is in it as far as they fall into that time. Then six transfers one after the other, each with its receipt, kill -9, a start: how many of all transactions that had receipts have none.", livingRate, m.config.Living),
		Head:  []string{"", "busy, B/s", "idle, B/s", "busy, share of a processor", "had receipts", "lost", "start after the kill, s"},
	}
	least := func(of func(Living) float64) float64 {
		x := 0.0
		for _, l := range s.Lives {
			if !ours(l.Subject) && (x == 0 || of(l) < x) {
				x = of(l)
			}
		}
		return x
	}
	busy, idle := least(func(l Living) float64 { return l.Busy }), least(func(l Living) float64 { return l.Idle })
	for _, l := range s.Lives {
		name := l.Subject
		lost, again := figures.Count(float64(l.Lost)), figures.Significant(l.Again)
		if l.Refused != "" {
			lost, again = "–", "does not start"
		}
		if ours(name) {
			if busy > 0 {
				s.Targets.AtMost("bytes with transactions, "+name+", by the better go-opera's", l.Busy/busy, 0.1, "times")
			}
			if idle > 0 {
				s.Targets.AtMost("bytes idle, "+name+", by the better go-opera's", l.Idle/idle, 0.1, "times")
			}
			s.Targets.AtMost("transactions lost, "+name, float64(l.Lost), 0, "")
		} else {
			name = "go-opera " + name
		}
		t.Add(name, figures.Count(l.Busy), figures.Count(l.Idle), figures.Percent(l.Processor), figures.Count(float64(l.Told)), lost, again)
	}
	s.Tables = append(s.Tables, t)
}
