package difftest

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/big"
	"math/rand/v2"
	"net"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/gorilla/websocket"

	"tarn/internal/cgrouptest"
	"tarn/internal/freeport"
)

var (
	hostileFor  = flag.Duration("difftest.hostile", 0, "how long each attack on a node lasts; 0 is for no attacks")
	hostileMany = flag.Int("difftest.strangers", 100, "how many connections an attack has")
	hostileOnly = flag.String("difftest.attack", "", "a regular expression of the names of attacks, for some of them")
)

// containerBytes is the memory that the besieged node has, all of its container.
const containerBytes = 4 << 30

// besieged is a validator by itself, whose API strangers may ask anything.
type besieged struct {
	*Network
	ws   string
	ctx  context.Context
	rich *Account // honest
	poor *Account // the strangers'; one goroutine of an attack uses it

	logger common.Address // a contract that makes as many logs as its gas is enough for

	busy sync.WaitGroup // with attacks

	mu      sync.Mutex
	answers []time.Duration // of cheap calls of an honest client
	blocks  []time.Duration // from a payment to its receipt
	asked   time.Time       // when the call began that has no answer yet
	paid    time.Time       // the same of the payment
	refused int             // honest calls that failed
	why     error
}

// stranger is a client at an address of its own.
type stranger struct {
	b    *besieged
	http *http.Client
	from *net.Dialer
}

func (b *besieged) stranger(n int) *stranger {
	d := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 3, byte(n/250), byte(1+n%250))},
		Timeout: 5 * time.Second}
	return &stranger{b, &http.Client{Transport: &http.Transport{DialContext: d.DialContext}, Timeout: time.Minute}, d}
}

// ask sends a request as it is, and leaves the answer.
func (s *stranger) ask(ctx context.Context, body string) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.b.Nodes[0].URL(), strings.NewReader(body))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := s.http.Do(req)
	if err != nil {
		return
	}
	defer resp.Body.Close()
	io.Copy(io.Discard, resp.Body) //nolint:errcheck // a stranger takes what comes
}

// open opens a WebSocket.
func (s *stranger) open(ctx context.Context) (*websocket.Conn, error) {
	d := websocket.Dialer{NetDialContext: s.from.DialContext}
	c, resp, err := d.DialContext(ctx, s.b.ws, nil)
	if resp != nil && resp.Body != nil {
		resp.Body.Close()
	}
	return c, err
}

// asked is the text of a request.
func asked(method, params string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"` + method + `","params":[` + params + `]}`
}

// each has many strangers do something until the attack is over.
func (b *besieged) each(ctx context.Context, do func(context.Context, *stranger)) {
	for n := range *hostileMany {
		b.busy.Go(func() {
			for s := b.stranger(n); ctx.Err() == nil; {
				do(ctx, s)
			}
		})
	}
}

// asking is an attack of many strangers that ask the same.
func asking(body string) func(*besieged, context.Context) {
	return func(b *besieged, ctx context.Context) {
		b.each(ctx, func(ctx context.Context, s *stranger) { s.ask(ctx, body) })
	}
}

// greedy is a call of a contract that takes 256 KiB and calls itself.
const greedy = `{"to":"0x00000000000000000000000000000000000000aa","gas":"0x2faf080"},"latest",` +
	`{"0x00000000000000000000000000000000000000aa":{"code":"0x5b60006203ffe05260006000600060006000305af150600056"}}`

// endless is a call of a contract that does nothing for ever.
const endless = `{"to":"0x00000000000000000000000000000000000000aa","gas":"0x2faf080"},"latest",` +
	`{"0x00000000000000000000000000000000000000aa":{"code":"0x5b600056"}}`

// topics are so many that no log has, another list for each salt.
func topics(count, salt int) string {
	list := make([]string, count)
	for i := range list {
		list[i] = fmt.Sprintf(`"0x%064x"`, 1<<40+salt*100_000+i)
	}
	return strings.Join(list, ",")
}

// attacks are what strangers do. Each is over when its context is.
func attacks() map[string]func(*besieged, context.Context) {
	quoted := `"debug_traceCall","params":[{"to":"0x1111111111111111111111111111111111111111"},"latest",{"tracer":"`
	tracer := func(text string) string { return `{"jsonrpc":"2.0","id":1,"method":` + quoted + text + `"}]}` }
	return map[string]func(*besieged, context.Context){
		"filters with many topics":        (*besieged).manyTopics,
		"subscriptions that are not read": (*besieged).unread,
		"unfinished frames":               (*besieged).unfinished,
		"a pool behind a gap":             (*besieged).gap,
		"replacements":                    (*besieged).replacements,
		"large transactions":              (*besieged).large,
		"connections that say nothing":    (*besieged).idle,
		"calls that take memory":          asking(asked("eth_call", greedy)),
		"calls that do not end":           asking(asked("eth_call", endless)),
		"estimates that do not end":       asking(asked("eth_estimateGas", endless)),
		"lists of empty topics":           asking(asked("eth_newFilter", `{"topics":[`+strings.Repeat("[],", 1_000_000)+`[]]}`)),
		"logs of all blocks":              asking(asked("eth_getLogs", `{"fromBlock":"0x0","toBlock":"latest"}`)),
		"blocks traced":                   asking(asked("debug_traceBlockByNumber", `"latest"`)),
		"calls of blocks filtered":        asking(asked("trace_filter", `{"fromBlock":"0x0","toBlock":"latest"}`)),
		"fees of many blocks":             asking(asked("eth_feeHistory", `"0x400","latest",[`+strings.Repeat("1,", 99)+`1]`)),
		"batches of dear calls":           asking("[" + strings.Repeat(asked("eth_call", endless)+",", 999) + asked("eth_call", greedy) + "]"),
		"a tracer that loops in setup":    asking(tracer(`{setup:function(){while(true){}},step:function(){},fault:function(){},result:function(){}}`)),
		"a tracer that loops in result":   asking(tracer(`{step:function(){},fault:function(){},result:function(){while(true){}}}`)),
		"packets of discovery":            (*besieged).discovery,
		"text that is not JSON":           asking(strings.Repeat("[", 5<<20)),
	}
}

// manyTopics installs filters with topics, while blocks are full of logs.
func (b *besieged) manyTopics(ctx context.Context) {
	var salt atomic.Int64
	b.each(ctx, func(ctx context.Context, s *stranger) {
		s.ask(ctx, asked("eth_newFilter", `{"topics":[[`+topics(1999, int(salt.Add(1)))+`]]}`))
	})
	b.logs(ctx)
}

// logs fills blocks with logs, until the attack is over.
func (b *besieged) logs(ctx context.Context) {
	b.busy.Go(func() {
		for ctx.Err() == nil {
			//nolint:errcheck // the next try comes
			b.send(ctx, b.stranger(9999), &Deed{From: b.poor, To: &b.logger, Gas: 7_000_000, Price: gwei(2000)})
			pause(ctx, 2*time.Second)
		}
	})
}

// send signs a deed with its account's next nonce, and sends it as a stranger.
func (b *besieged) send(ctx context.Context, s *stranger, d *Deed) error {
	if err := s.offer(ctx, d, d.From.nonce); err != nil {
		return err
	}
	d.From.nonce++
	return nil
}

// offer signs a deed with a nonce, and sends it.
func (s *stranger) offer(ctx context.Context, d *Deed, nonce uint64) error {
	tx, err := d.Sign(nonce)
	if err != nil {
		return err
	}
	raw, err := tx.MarshalBinary()
	if err != nil {
		return err
	}
	s.ask(ctx, asked("eth_sendRawTransaction", `"`+hexutil.Encode(raw)+`"`))
	return nil
}

// unread subscribes to all logs many times, and reads nothing.
func (b *besieged) unread(ctx context.Context) {
	b.each(ctx, func(ctx context.Context, s *stranger) {
		c, err := s.open(ctx)
		for i := 0; err == nil && i < 100; i++ {
			err = c.WriteMessage(websocket.TextMessage, []byte(asked("eth_subscribe", `"logs",{}`)))
		}
		<-ctx.Done()
		if c != nil {
			c.Close()
		}
	})
	b.logs(ctx)
}

// unfinished sends nearly all of a frame of 15 MiB over each of many WebSockets.
func (b *besieged) unfinished(ctx context.Context) {
	frame := append([]byte{0x81, 0x80 | 127, 0, 0, 0, 0, 0, 0xf0, 0, 0, 0, 0, 0, 0},
		bytes.Repeat([]byte("a"), 15<<20-100)...)
	b.each(ctx, func(ctx context.Context, s *stranger) {
		c, err := s.open(ctx)
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			return
		}
		defer c.Close()
		if _, err := c.UnderlyingConn().Write(frame); err == nil {
			pause(ctx, 10*time.Second)
		}
		pause(ctx, time.Second) // more would be a line of 10 Gbit/s that does nothing else
	})
}

// gap sends what cannot be executed, from an account with nothing.
func (b *besieged) gap(ctx context.Context) {
	nobody, err := otherAccount(7)
	if err != nil {
		return
	}
	var nonce atomic.Uint64
	b.each(ctx, func(ctx context.Context, s *stranger) {
		d := Deed{From: nobody, To: &nobody.Address, Gas: 21_000, Price: gwei(1100)}
		_ = s.offer(ctx, &d, nonce.Add(1)) // the next try comes
	})
}

// replacements replaces one transaction again and again by one that pays more.
func (b *besieged) replacements(ctx context.Context) {
	var price atomic.Int64
	price.Store(1000)
	b.each(ctx, func(ctx context.Context, s *stranger) {
		d := Deed{From: b.poor, To: &b.poor.Address, Gas: 21_000, Price: gwei(price.Add(price.Load() / 8))}
		if price.Load() > 1_000_000 {
			price.Store(1000)
		}
		_ = s.offer(ctx, &d, b.poor.nonce+5) // the next try comes
	})
}

// large sends transactions as large as a pool takes, which cannot be executed yet.
func (b *besieged) large(ctx context.Context) {
	var nonce atomic.Uint64
	nonce.Store(1000)
	data := bytes.Repeat([]byte{1}, 120<<10)
	b.each(ctx, func(ctx context.Context, s *stranger) {
		d := Deed{From: b.poor, To: &b.poor.Address, Gas: 9_000_000, Price: gwei(1100), Data: data}
		_ = s.offer(ctx, &d, b.poor.nonce+nonce.Add(1)) // the next try comes
	})
}

// idle holds connections open that have said the beginning of a request.
func (b *besieged) idle(ctx context.Context) {
	address := strings.TrimPrefix(b.Nodes[0].URL(), "http://")
	b.each(ctx, func(ctx context.Context, s *stranger) {
		c, err := s.from.DialContext(ctx, "tcp", address)
		if err != nil {
			pause(ctx, 50*time.Millisecond)
			return
		}
		defer c.Close()
		fmt.Fprintf(c,
			"POST / HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 5000000\r\n\r\n[",
			address)
		pause(ctx, time.Minute)
	})
}

func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// watch is what an honest client does until ctx ends: it asks for the newest block ten times a
// second, and sends a payment and waits for its receipt, again and again.
func (b *besieged) watch(ctx context.Context) {
	again := func(begun *time.Time, list *[]time.Duration, do func() error) {
		for ctx.Err() == nil {
			b.mu.Lock()
			*begun = time.Now()
			b.mu.Unlock()
			err := do()
			b.mu.Lock()
			*list = append(*list, time.Since(*begun))
			*begun = time.Time{}
			if err != nil && ctx.Err() == nil {
				b.refused++
				b.why = err
			}
			b.mu.Unlock()
			pause(ctx, 100*time.Millisecond)
		}
	}
	go again(&b.asked, &b.answers, func() error {
		var n hexutil.Uint64
		return b.Nodes[0].Call(ctx, &n, "eth_blockNumber")
	})
	go again(&b.paid, &b.blocks, func() error {
		tx, err := b.Do(ctx, 0, &Deed{From: b.rich, To: &b.rich.Address, Value: big.NewInt(1), Gas: 21_000,
			Price: gwei(5000)})
		if err == nil {
			_, err = b.Await(ctx, tx.Hash())
		}
		return err
	})
}

// percentile returns the 99th of a list that it empties, where that which goes on since some time
// counts with what it has taken so far.
func percentile(list *[]time.Duration, begun time.Time) time.Duration {
	all := *list
	*list = nil
	if !begun.IsZero() {
		all = append(all, time.Since(begun))
	}
	if len(all) == 0 {
		return 0 // between two of them
	}
	slices.Sort(all)
	return all[(len(all)-1)*99/100]
}

// seen is what the honest client has met since it was last asked.
func (b *besieged) seen() (answers, blocks time.Duration, refused int, why error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.refused, b.why = 0, nil }()
	return percentile(&b.answers, b.asked), percentile(&b.blocks, b.paid), b.refused, b.why
}

// besiege starts a node with the memory of a container, and gives strangers a rich account and a contract.
func besiege(t *testing.T, ctx context.Context, program *Peer) *besieged {
	t.Helper()
	at, err := freeport.Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	settings := fmt.Sprintf(
		"[Node]\nWSHost = \"127.0.0.1\"\nWSPort = %d\nWSModules = [\"eth\", \"net\", \"web3\", \"debug\", \"trace\"]\n"+
			"[Emitter.EmitIntervals]\nMax = 1500000000\nDoublesignProtection = 0\n[Tarn]\nTrusted = [\"none\"]\n",
		freeport.Port(at[0]))
	network, err := startNetwork(ctx, t.TempDir(), []*Peer{program}, Config{Settings: settings, Discovers: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { network.Kill() }) //nolint:errcheck // it may have ended
	b := &besieged{Network: network, ctx: ctx, ws: "ws://" + at[0]}
	if b.rich, err = ValidatorAccount(1); err == nil {
		b.poor, err = otherAccount(3)
	}
	if err != nil {
		t.Fatal(err)
	}
	b.fund(t)
	return b
}

// fund pays the strangers' account, and creates the contract.
func (b *besieged) fund(t *testing.T) {
	t.Helper()
	for _, d := range []*Deed{
		{From: b.rich, Gas: 500_000, Price: gwei(2000), made: func(a common.Address) { b.logger = a },
			Data: common.FromHex("601180600b6000396000f3" + "5b600160006000a15a6113881060005700")},
		{From: b.rich, To: &b.poor.Address, Gas: 21_000, Price: gwei(2000),
			Value: new(big.Int).Mul(big.NewInt(1e18), big.NewInt(100_000))},
	} {
		tx, err := b.Do(b.ctx, 0, d)
		if err == nil {
			_, err = b.Await(b.ctx, tx.Hash())
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Each attack goes on for a while beside an honest client, whose cheap answers and payments come in
// time, and the node keeps to the memory of its container.
func TestHonestClientsAreServedBesideHostileOnes(t *testing.T) {
	if *hostileFor == 0 {
		t.Skip("measures how long honest clients wait, on a quiet machine: set -difftest.hostile=4s")
	}
	only, err := regexp.Compile(*hostileOnly)
	if err != nil {
		t.Fatal(err)
	}
	list := attacks()
	maps.DeleteFunc(list, func(name string, _ func(*besieged, context.Context)) bool { return !only.MatchString(name) })
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(len(list))*(*hostileFor+10*time.Second))
	defer cancel()
	box, err := cgrouptest.New(containerBytes)
	if errors.Is(err, cgrouptest.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := box.Close(); err != nil {
			t.Error(err)
		}
	})
	program := own(t)
	boxed := filepath.Join(t.TempDir(), "opera")
	if err := box.Program(boxed, program.program); err != nil {
		t.Fatal(err)
	}
	b := besiege(t, ctx, &Peer{program: boxed})
	b.watch(ctx)
	pause(ctx, *hostileFor)
	quiet, quietBlocks, _, _ := b.seen()
	t.Logf("alone: answers %v, blocks %v, 99th percentiles", quiet, quietBlocks)
	seed := *firstSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	t.Logf("seed %d", seed)
	names := slices.Sorted(maps.Keys(list))
	rand.New(rand.NewPCG(seed, 4)).Shuffle(len(names), func(i, j int) { names[i], names[j] = names[j], names[i] })
	for _, name := range names {
		b.endure(t, name, list[name], quiet, quietBlocks)
		if killed, err := box.Killed(); killed > 0 || err != nil {
			t.Fatalf("%s: the kernel ended the node for want of memory (%d, %v)", name, killed, err)
		}
		t.Logf("%s: at most %d MiB so far", name, box.Most()>>20)
	}
	cancel()
	b.busy.Wait()
}

// endure lets an attack go on for a while.
func (b *besieged) endure(
	t *testing.T, name string, attack func(*besieged, context.Context), quiet, quietBlocks time.Duration,
) {
	ctx, end := context.WithTimeout(b.ctx, *hostileFor)
	defer end()
	b.seen()
	attack(b, ctx)
	<-ctx.Done()
	answers, blocks, refused, why := b.seen()
	b.busy.Wait()
	t.Logf("%s: answers %v, blocks %v, %d refused", name, answers, blocks, refused)
	if bound := time.Second + 2*quiet; answers > bound {
		t.Errorf("%s: cheap answers take %v, bound %v", name, answers, bound)
	}
	if bound := time.Second + 2*quietBlocks; blocks > bound {
		t.Errorf("%s: a payment takes %v, bound %v", name, blocks, bound)
	}
	if refused > 0 {
		t.Errorf("%s: %d honest requests failed, the last one with %v", name, refused, why)
	}
}
