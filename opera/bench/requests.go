package bench

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/bench/watcher"
	"tarn/internal/figures"
	"tarn/internal/loopback"
)

// Asked is what requests of one kind came to, in one round.
type Asked struct {
	Subject, Kind string
	Rate          float64 // answers a second
	Half, Most    float64 // seconds, within which half and 99 % are answered
	Processor     float64 // seconds of the node's, for an answer
	Clients       float64 // the same of the clients'
}

// Served is a node's second start, with data, until its first answer, and its end.
type Served struct {
	Subject     string
	Start, Stop float64 // seconds
}

// clientConnections is how many clients ask at once.
const clientConnections = 30

// logBlocks is over how many blocks logs are searched for.
const logBlocks = 1000

// kind is a kind of requests.
type kind struct {
	name   string
	target float64 // how many times the better go-opera's rate is wanted
	ask    func(r *readable, random *rand.Rand) []byte
}

func call(method string, params string) []byte {
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":1,"method":%q,"params":[%s]}`, method, params)
}

func kinds() []kind {
	some := func(list []common.Address, random *rand.Rand) common.Address { return list[random.IntN(len(list))] }
	transferred := crypto.Keccak256Hash([]byte("Transfer(address,address,uint256)"))
	return []kind{
		{"eth_getBalance", 3, func(r *readable, random *rand.Rand) []byte {
			return call("eth_getBalance", fmt.Sprintf(`"%s","latest"`, hexutil.Encode(some(r.accounts, random).Bytes())))
		}},
		{"eth_getBlockByNumber", 3, func(r *readable, random *rand.Rand) []byte {
			n := uint64(r.first) + random.Uint64N(uint64(r.last-r.first-5))
			return call("eth_getBlockByNumber", fmt.Sprintf(`"%#x",true`, n))
		}},
		{"eth_call", 2, func(r *readable, random *rand.Rand) []byte {
			return call("eth_call", fmt.Sprintf(`{"from":"%s","to":"%s","data":"0x01"},"latest"`,
				hexutil.Encode(some(r.accounts, random).Bytes()), hexutil.Encode(r.reader.Bytes())))
		}},
		{"eth_getLogs", 3, func(r *readable, random *rand.Rand) []byte {
			from := uint64(r.first) + random.Uint64N(max(1, uint64(r.last-r.first)-min(logBlocks, uint64(r.last-r.first))))
			to := common.BytesToHash(some(r.accounts, random).Bytes())
			return call("eth_getLogs", fmt.Sprintf(`{"fromBlock":"%#x","toBlock":"%#x","topics":["%s",null,"%s"]}`, from, min(from+logBlocks-1, uint64(r.last)), transferred.Hex(), to.Hex()))
		}},
		{"eth_getTransactionReceipt", 3, func(r *readable, random *rand.Rand) []byte {
			return call("eth_getTransactionReceipt", fmt.Sprintf(`"%s"`, r.txs[random.IntN(len(r.txs))].Hex()))
		}},
	}
}

// hasResult refuses answers without one. The beginning of one says so.
func hasResult(answer []byte) error {
	_, result, found := bytes.Cut(answer[:min(len(answer), 100)], []byte(`"result":`))
	if !found || bytes.HasPrefix(result, []byte("null")) {
		return errors.New("no result")
	}
	return nil
}

// serving is a node that answers.
type serving struct {
	*watcher.Child
	address string        // of JSON-RPC
	peers   string        // its address among peers
	took    time.Duration // until its first answer
}

// life says how a node is started.
type life struct {
	validator int      // 0 makes nothing
	peer      string   // the node that it connects to; empty for none
	more      []string // arguments
}

// serve starts a subject's node over a folder.
func (m *measurement) serve(subject, dir string, l life) (*serving, error) {
	at, err := loopback.Addresses(2)
	if err != nil {
		return nil, err
	}
	// Nothing but the file can bind the peers' port to one address.
	file := filepath.Join(dir, "bench.toml")
	text := fmt.Sprintf("[Node.P2P]\nListenAddr = %q\n", at[0])
	if l.peer != "" {
		text += fmt.Sprintf("StaticNodes = [%q]\n", l.peer)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		return nil, err
	}
	c := m.command(subject, dir, append([]string{"--config", file, "--nodiscover", "--nat", "none", "--ipcdisable", "--lightkdf",
		"--http", "--http.addr", "127.0.0.1", "--http.port", strconv.Itoa(loopback.Port(at[1])), "--http.api", "eth,txpool"}, l.more...)...)
	for i, a := range c.Args {
		if a == "0/1" {
			c.Args[i] = fmt.Sprintf("%d/1", l.validator)
		}
	}
	c.Every = 200 * time.Millisecond
	begun := time.Now()
	child, err := watcher.Start(c)
	if err != nil {
		return nil, err
	}
	s := &serving{Child: child, address: at[1], peers: at[0]}
	for {
		first := loop{address: s.address, connections: 1, questions: [][]byte{call("eth_blockNumber", "")}, good: hasResult}
		a, failed := first.run(m.ctx, 20*time.Millisecond)
		if err = failed; err == nil && a.count > 0 {
			s.took = time.Since(begun) - a.took // which is of the answers after the first, too
			return s, nil
		}
		select {
		case <-child.Done():
			return nil, fmt.Errorf("%s does not serve: %w", subject, child.Wait(m.ctx))
		case <-m.ctx.Done():
			child.Kill()
			return nil, m.ctx.Err()
		case <-time.After(5 * time.Millisecond):
		}
		if time.Since(begun) > time.Minute {
			child.Kill()
			return nil, fmt.Errorf("%s does not answer within a minute: %w", subject, err)
		}
	}
}

// requests is the section of that name.
func (m *measurement) requests() (*Section, error) {
	dir, err := m.folder("readable")
	if err != nil {
		return nil, err
	}
	r, err := m.config.Readable.make(dir)
	if err != nil {
		return nil, err
	}
	m.logf("a chain of %d blocks, asked about from %d on", r.last, r.first)
	folders := map[string]string{}
	for _, subject := range m.subjects() {
		if folders[subject], err = m.folder(subject); err != nil {
			return nil, err
		}
		child, err := watcher.Start(m.command(subject, folders[subject], "import", "events", r.events))
		if err == nil {
			err = child.Wait(m.ctx)
		}
		if err != nil {
			return nil, err
		}
	}
	s := &Section{}
	for range m.config.Rounds {
		for _, subject := range m.subjects() {
			if err := m.askAll(s, r, subject, folders[subject]); err != nil {
				return s, fmt.Errorf("%s: %w", subject, err)
			}
		}
	}
	m.tellRequests(s, r)
	return s, nil
}

// askAll is one life of a node that is asked.
func (m *measurement) askAll(s *Section, r *readable, subject, dir string) error {
	node, err := m.serve(subject, dir, life{})
	if err != nil {
		return err
	}
	defer node.Kill()
	for _, k := range kinds() {
		random := rand.New(rand.NewPCG(m.config.Readable.Seed, 1))
		l := loop{address: node.address, connections: clientConnections, good: hasResult}
		for range 10_000 {
			l.questions = append(l.questions, k.ask(r, random))
		}
		if _, err := l.run(m.ctx, m.config.Asking/5); err != nil { // to warm up
			return err
		}
		before, err := node.Now()
		if err != nil {
			return err
		}
		a, err := l.run(m.ctx, m.config.Asking)
		if err != nil {
			return err
		}
		after, err := node.Now()
		if err != nil {
			return err
		}
		asked := Asked{Subject: subject, Kind: k.name, Rate: a.rate(), Half: a.latencies.Quantile(0.5) / 1e9, Most: a.latencies.Quantile(0.99) / 1e9,
			Processor: (after.CPU() - before.CPU()).Seconds() / float64(a.count), Clients: a.processor.Seconds() / float64(a.count)}
		s.Asked = append(s.Asked, asked)
		m.logf("%s: %s: %.0f a second, 99 %% within %.2f ms, processor %.1f us, of clients %.1f us", subject, k.name, asked.Rate, asked.Most*1e3, asked.Processor*1e6, asked.Clients*1e6)
	}
	begun := time.Now()
	if err := node.Stop(m.ctx, time.Minute); err != nil {
		return err
	}
	s.Served = append(s.Served, Served{Subject: subject, Start: node.took.Seconds(), Stop: time.Since(begun).Seconds()})
	return nil
}

// of are those of a subject and a kind.
func of(all []Asked, subject, kind string) []Asked {
	return figures.Only(all, func(a Asked) bool { return a.Subject == subject && a.Kind == kind })
}

// tellRequests makes the tables, and compares with what is wanted.
func (m *measurement) tellRequests(s *Section, r *readable) {
	t := figures.Table{
		Title: "Requests",
		How: fmt.Sprintf("%d connections, each asks as soon as it is answered, %s of each kind in a round; clients on the same processors. A chain of %d blocks with %d transactions each among %d accounts; nothing is executed meanwhile. eth_getBlockByNumber with whole transactions, eth_call reads 20 slots and writes one, eth_getLogs searches %d blocks by two topics.",
			clientConnections, m.config.Asking, r.last, 2*eachBlock+1, len(r.accounts), logBlocks),
		Head: []string{"", "request", "answers a second", "by the better go-opera's", "half within, ms", "99 % within, ms", "processor, us"},
	}
	rate := func(a Asked) float64 { return a.Rate }
	most := func(a Asked) float64 { return a.Most }
	for _, k := range kinds() {
		bestRate, bestMost := 0.0, 0.0
		for _, p := range presets {
			if x := figures.Median(of(s.Asked, p, k.name), rate); x > bestRate {
				bestRate, bestMost = x, figures.Median(of(s.Asked, p, k.name), most)
			}
		}
		for _, subject := range m.subjects() {
			list := of(s.Asked, subject, k.name)
			name := subject
			if !ours(subject) {
				name = "go-opera " + subject
			}
			t.Add(name, k.name, figures.Count(figures.Median(list, rate)), figures.Ratio(figures.Median(list, rate)/bestRate),
				figures.Significant(1e3*figures.Median(list, func(a Asked) float64 { return a.Half })), figures.Significant(1e3*figures.Median(list, most)),
				figures.Significant(1e6*figures.Median(list, func(a Asked) float64 { return a.Processor })))
			if ours(subject) {
				s.Targets.AtLeast(k.name+", "+subject+", by the better go-opera's", figures.Median(list, rate)/bestRate, k.target, "times")
				s.Targets.AtMost(k.name+", "+subject+": 99 % within, by go-opera's", figures.Median(list, most)/bestMost, 1, "times")
			}
		}
	}
	s.Tables = append(s.Tables, t, m.servedTable(s))
}

func (m *measurement) servedTable(s *Section) figures.Table {
	t := figures.Table{
		Title: "A start with data, and an end", How: "From the beginning of the process to its first answer, and from SIGTERM to its end.",
		Head: []string{"", "start, s", "stop, s"},
	}
	least := 0.0
	for _, subject := range m.subjects() {
		own := figures.Only(s.Served, func(x Served) bool { return x.Subject == subject })
		start, stop := figures.Median(own, func(x Served) float64 { return x.Start }), figures.Median(own, func(x Served) float64 { return x.Stop })
		name := subject
		if ours(subject) {
			s.Targets.AtMost("start with data, "+subject, start, 1, "s")
			s.Targets.AtMost("stop, "+subject+", by the faster go-opera's", stop/least, 1, "times")
		} else {
			name = "go-opera " + subject
			if least == 0 || stop < least {
				least = stop
			}
		}
		t.Add(name, figures.Significant(start), figures.Significant(stop))
	}
	return t
}
