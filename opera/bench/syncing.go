package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/bench/load"
	"tarn/internal/figures"
	"tarn/opera/genesis/fakenet"
)

// Syncing is what a node came to that was asked while it got a chain from another one.
type Syncing struct {
	Subject   string
	Seconds   float64 // while it was asked and had not all of the chain
	Lives     int     // the times that it began with nothing, to come to so many seconds
	Txs       int     // that it executed meanwhile
	Processor float64 // seconds that it used meanwhile
	Asked     int
	Failed    int     // of these, without an answer
	Longest   float64 // seconds
	Most      float64 // seconds, within which 99 % were answered
}

// each is the processor's time for a transaction, what was asked meanwhile included.
func (x Syncing) each() float64 { return x.Processor / float64(max(x.Txs, 1)) }

// syncingRate is requests a second.
const syncingRate = 50

// syncingLives bounds how often a node begins again that has the chain before it was asked for long
// enough.
const syncingLives = 50

// syncings is the section "syncing".
func (m *measurement) syncings() (*Section, error) {
	events, err := m.chain(&m.config.Work)
	if err != nil {
		return nil, err
	}
	questions, err := m.syncingQuestions()
	if err != nil {
		return nil, err
	}
	f, err := m.feed(events)
	if err != nil {
		return nil, err
	}
	defer f.Kill()
	s := &Section{}
	for range m.config.Rounds {
		for _, subject := range m.subjects() {
			x, err := m.askSyncing(f, subject, questions)
			if err != nil {
				return s, fmt.Errorf("%s: %w", subject, err)
			}
			s.Syncing = append(s.Syncing, *x)
		}
	}
	m.tellSyncing(s)
	return s, nil
}

// syncingQuestions are about the chain's end: its head, balances, nonces, whole blocks, calls of
// the token.
func (m *measurement) syncingQuestions() ([][]byte, error) {
	senders, err := (&Work{Seed: m.config.Work.Seed, Accounts: min(m.config.Work.Accounts, 100)}).senders()
	if err != nil {
		return nil, err
	}
	key, err := fakenet.Key(1)
	if err != nil {
		return nil, err
	}
	token := crypto.CreateAddress(crypto.PubkeyToAddress(key.PublicKey), 0)
	var all [][]byte
	for _, s := range senders {
		account := hexutil.Encode(s.address.Bytes())
		all = append(all, call("eth_blockNumber", ""), call("eth_getBalance", fmt.Sprintf(`"%s","latest"`, account)),
			call("eth_getBlockByNumber", `"latest",true`), call("eth_getTransactionCount", fmt.Sprintf(`"%s","latest"`, account)),
			call("eth_call", fmt.Sprintf(`{"from":"%s","to":"%s","data":"%s"},"latest"`, account, hexutil.Encode(token.Bytes()),
				hexutil.Encode(transferCall(common.Address{1}, 0)))))
	}
	return all, nil
}

// answersAll takes whatever is no error of the server's: the token is not there from the beginning.
func answersAll(status int, answer []byte) error {
	if status != http.StatusOK {
		return fmt.Errorf("status %d: %.200s", status, answer)
	}
	if !bytes.Contains(answer, []byte(`"result":`)) && !bytes.Contains(answer, []byte("revert")) {
		return fmt.Errorf("no result: %.200s", answer)
	}
	return nil
}

// askSyncing asks nodes that begin with nothing until they were asked for long enough.
func (m *measurement) askSyncing(f *feeder, subject string, questions [][]byte) (*Syncing, error) {
	x, all := &Syncing{Subject: subject}, &load.Result{}
	for left := m.config.Syncing; left > 0; left = m.config.Syncing - time.Duration(x.Seconds*1e9) {
		if x.Lives++; x.Lives > syncingLives {
			return nil, fmt.Errorf("it has the chain too soon: asked for %.2f s in %d lives", x.Seconds, syncingLives)
		}
		if err := m.askSyncingLife(f, x, all, questions, left); err != nil {
			return nil, err
		}
	}
	x.Asked, x.Failed, x.Longest, x.Most = all.Answers+all.Failures, all.Failures, all.Longest().Seconds(), all.Latencies.Quantile(0.99)/1e9
	m.logf("%s: %.1f s of syncing in %d lives, %d transactions, processor %.2f s, longest of %d requests %.0f ms, 99 %% within %.1f ms, %d failed (%v)",
		subject, x.Seconds, x.Lives, x.Txs, x.Processor, x.Asked, x.Longest*1e3, x.Most*1e3, x.Failed, all.Failure)
	return x, nil
}

// askSyncingLife asks one node from its first block on until it has the chain, or so long.
func (m *measurement) askSyncingLife(f *feeder, x *Syncing, all *load.Result, questions [][]byte, length time.Duration) error {
	dir, err := m.folder(x.Subject)
	if err != nil {
		return err
	}
	node, err := m.serve(x.Subject, dir, life{peer: f.url})
	if err != nil {
		return err
	}
	defer node.Kill()
	at, err := node.number()
	if err == nil {
		at, err = m.follow(node, at+1)
	}
	if err != nil {
		return err
	}
	before, err := node.Now()
	if err != nil {
		return err
	}
	begun := time.Now()
	ctx, cancel := context.WithTimeout(m.ctx, length)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- m.until(ctx, node, f.head, cancel) }()
	requests := make([]load.Request, len(questions))
	for i, body := range questions {
		requests[i] = load.Request{URL: node.at(), Body: body}
	}
	done, err := load.Until(m.ctx, ctx.Done(), syncingRate, length, load.Again(requests), answersAll, nil)
	err = errors.Join(err, <-ended)
	took := time.Since(begun)
	if err != nil {
		return err
	}
	after, err := node.Now()
	if err != nil {
		return err
	}
	to, err := node.number()
	if err != nil {
		return err
	}
	all.Add(done)
	x.Seconds += took.Seconds()
	x.Txs += f.txs[min(to, f.head)] - f.txs[min(at, f.head)]
	x.Processor += (after.CPU() - before.CPU()).Seconds()
	node.Kill()
	return os.RemoveAll(dir)
}

// until ends the questions when a node has a block.
func (m *measurement) until(ctx context.Context, node *serving, wanted uint64, end func()) error {
	defer end()
	for {
		n, err := node.number()
		if err != nil || n >= wanted {
			return err
		}
		select {
		case <-time.After(lookEvery):
		case <-ctx.Done():
			return m.ctx.Err()
		}
	}
}

// tellSyncing makes the table, and compares with what is wanted.
func (m *measurement) tellSyncing(s *Section) {
	t := figures.Table{
		Title: "Requests to a node that syncs",
		How: fmt.Sprintf("A node on an empty folder gets the chain from a peer, a node of ours on the same processors, and is asked %d times a second from its first block until its last: for its last block, balances, nonces, its last block with whole transactions, calls of the token. What it has not answered yet does not delay the next question; a time counts from when the question was due. Who has the chain before %v of this begins again with nothing. The processor's time has the execution and the answers in it.",
			syncingRate, m.config.Syncing),
		Head: []string{"", "asked for, s", "lives", "transactions", "processor, share", "processor, us a transaction", "by the better go-opera's", "longest, ms", "by the better go-opera's", "99 % within, ms", "failed"},
	}
	of := func(subject string, value func(Syncing) float64) float64 {
		return figures.Median(figures.Only(s.Syncing, func(x Syncing) bool { return x.Subject == subject }), value)
	}
	best := func(value func(Syncing) float64) float64 { return min(of(presets[0], value), of(presets[1], value)) }
	longest := func(x Syncing) float64 { return x.Longest }
	for _, subject := range m.subjects() {
		name := subject
		cpu, long := of(subject, Syncing.each)/best(Syncing.each), of(subject, longest)/best(longest)
		failed := of(subject, func(x Syncing) float64 { return float64(x.Failed) })
		if ours(subject) {
			s.Targets.AtMost("processor for a transaction while asked, "+subject+", by the better go-opera's", cpu, 0.5, "times")
			s.Targets.AtMost("longest request while syncing, "+subject+", by the better go-opera's", long, 0.5, "times")
			s.Targets.AtMost("requests without an answer, "+subject, failed, 0, "")
		} else {
			name = "go-opera " + name
		}
		t.Add(name, figures.Significant(of(subject, func(x Syncing) float64 { return x.Seconds })), strconv.Itoa(int(of(subject, func(x Syncing) float64 { return float64(x.Lives) }))),
			figures.Count(of(subject, func(x Syncing) float64 { return float64(x.Txs) })), figures.Percent(of(subject, func(x Syncing) float64 { return x.Processor / x.Seconds })),
			figures.Significant(1e6*of(subject, Syncing.each)), figures.Ratio(cpu), figures.Significant(1e3*of(subject, longest)), figures.Ratio(long),
			figures.Significant(1e3*of(subject, func(x Syncing) float64 { return x.Most })), figures.Count(failed))
	}
	s.Tables = append(s.Tables, t)
}
