package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/internal/damage"
	"tarn/opera/chain"
	"tarn/opera/inter"
	"tarn/store/engine"
)

// Any damage to any file of a node's folder, on all engines: what the node answers afterwards
// is what it answered before; or it refuses, or says what is wrong. It never answers anything
// else, panics or hangs, and it comes to the same chain if it takes further events at all.
func TestAnyDamageIsHarmlessOrNamed(t *testing.T) {
	if testing.Short() {
		t.Skip("opens many nodes; not with -short")
	}
	s := seed(t)
	every(t, func(t *testing.T, e engine.Options) {
		wholes := []string{filepath.Join(t.TempDir(), "live"), filepath.Join(t.TempDir(), "closed")}
		want := leftBehind(t, e, wholes[0], wholes[1])
		random := rand.New(rand.NewPCG(s, 40))
		count := map[string]int{}
		for i := range *damages {
			dir := filepath.Join(t.TempDir(), "damaged")
			copyFolder(t, wholes[i%2], dir)
			d, err := damage.Spoil(random, dir)
			if err != nil {
				t.Fatal(err)
			}
			p := patient{t: t, dir: dir, engine: e, want: want,
				what: fmt.Sprintf("-node.seed=%d, %s, damage %d, %s: %s", s, e.Kind, i, filepath.Base(wholes[i%2]), d)}
			count[p.examine()]++
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		}
		t.Logf("damages=%d engine=%s %v", *damages, e.Kind, count)
	})
}

// leftBehind leaves the folder of a node that has all of a chain, as it is while the node lives
// and after its end, and returns what the node answers.
func leftBehind(t *testing.T, e engine.Options, live, closed string) answers {
	t.Helper()
	o := options(closed, io.Discard)
	o.Engine = e
	n := open(t, o)
	importEvents(t, n)
	want, err := askChain(n.Chain(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for question, answer := range want {
		if strings.HasPrefix(answer, failing) || answer == "" {
			t.Fatalf("%s of a whole node: %s", question, answer)
		}
	}
	copyFolder(t, closed, live)
	shut(t, n)
	return want
}

func copyFolder(t *testing.T, from, to string) {
	t.Helper()
	if err := os.CopyFS(to, os.DirFS(from)); err != nil {
		t.Fatal(err)
	}
}

// answers are what a chain says when it is asked, by question: "" for nothing there, and what
// begins with failing for an error.
type answers map[string]string

const failing = "error: "

func (a answers) add(question string, value any, err error) {
	switch {
	case err != nil:
		a[question] = failing + err.Error()
	case value == nil:
		a[question] = ""
	default:
		a[question] = fmt.Sprintf("%+v", value)
	}
}

// askChain asks a chain for all that it has: of the accounts, those that want has, or else those
// that the blocks have.
func askChain(c *chain.Chain, want answers) (answers, error) {
	v, err := c.View()
	if err != nil {
		return nil, err
	}
	a := answers{}
	accounts := map[common.Address]bool{}
	last := v.Head().Number
	a.add("head", last, nil)
	for number := inter.BlockNumber(1); number <= last; number++ {
		a.block(v, number, accounts)
	}
	for question := range want {
		if words := strings.Fields(question); words[0] == "account" {
			accounts[common.HexToAddress(words[1])] = true
		}
	}
	for address := range accounts {
		account, err := v.Account(address)
		a.add(fmt.Sprintf("account %s after block %d", address.Hex(), last), account, err)
	}
	err = c.Events(inter.EventID{}, func(id inter.EventID, raw []byte) bool {
		a.add(fmt.Sprintf("event %x", id), fmt.Sprintf("%x", raw), nil)
		return true
	})
	if err != nil {
		a.add("events", nil, err)
	}
	return a, v.Close()
}

// block asks for one block, in all ways.
func (a answers) block(v *chain.View, number inter.BlockNumber, accounts map[common.Address]bool) {
	b, err := v.Block(number)
	name := fmt.Sprint("block ", number)
	if err != nil || b == nil {
		a.add(name, nil, err)
	} else {
		raw, err := rlp.EncodeToBytes([]any{b.ID, uint64(b.Time), b.GasUsed, b.Events, b.Internal, b.Skipped, b.Txs,
			b.Senders, b.Receipts})
		a.add(name, fmt.Sprintf("%x", raw), err)
		for i, tx := range b.Txs {
			accounts[b.Senders[i]] = true
			if to := tx.To(); to != nil {
				accounts[*to] = true
			}
			var places []chain.TxPlace
			err := v.Places(b.TxHash(i), func(p chain.TxPlace) bool { places = append(places, p); return true })
			a.add(fmt.Sprintf("place of transaction %d of block %d", i, number), places, err)
		}
	}
	root, err := v.Root(number)
	a.add(fmt.Sprint("root ", number), root, err)
	header, err := v.Header(number)
	if err == nil && header != nil {
		a.add(fmt.Sprint("header ", number), fmt.Sprintf("%+v", *header), nil)
	} else {
		a.add(fmt.Sprint("header ", number), nil, err)
	}
	id := v.BlockID(number)
	found, ok, err := v.NumberOf(id)
	a.add(fmt.Sprint("number of block ", number), fmt.Sprint(found, ok), err)
}

// patient is a node whose folder was damaged.
type patient struct {
	t      *testing.T
	dir    string
	engine engine.Options
	want   answers
	what   string // was done to it
	faults int
}

// wrong fails the test; of one damage it says two things at most.
func (p *patient) wrong(format string, args ...any) {
	if p.faults++; p.faults > 2 {
		p.t.Fail()
		return
	}
	p.t.Errorf("%s: %s", p.what, fmt.Sprintf(format, args...))
}

// slowest is after what time a node hangs.
const slowest = 3 * time.Minute

// examine starts a node twice, and says how the first start went.
func (p *patient) examine() (outcome string) {
	watch := time.AfterFunc(slowest, func() {
		debug.SetTraceback("all")
		panic("it hangs: " + p.what)
	})
	defer watch.Stop()
	p.t.Log(p.what) // a panic has no other place
	outcome = p.live("first start")
	p.live("second start")
	return outcome
}

// live is one life: what is asked, then all events of the chain again, then what is asked.
func (p *patient) live(when string) (outcome string) {
	log := &lines{}
	o := options(p.dir, log)
	o.Engine = p.engine
	n, err := Open(context.Background(), o)
	if err != nil {
		p.checkNamed(when, err)
		return "refused"
	}
	defer func() { _ = n.Close() }() // a second time it fails, harmlessly
	outcome = p.compare(when, n, log)
	if err := n.Import(context.Background(), events); err != nil {
		p.checkNamed(when+", import", err)
		return "refused events"
	}
	if head := fmt.Sprint(n.Chain().Head().Number); head != p.want["head"] {
		p.wrong("%s: block %s after all events, want %s", when, head, p.want["head"])
	}
	p.compare(when+" and all events", n, log)
	if err := n.Close(); err != nil {
		p.checkNamed(when+", close", err)
	}
	return outcome
}

// compare demands that a node answers as it should, or says why not.
func (p *patient) compare(when string, n *Node, log *lines) string {
	got, err := askChain(n.Chain(), p.want)
	if err != nil {
		p.checkNamed(when, err)
		return "refused questions"
	}
	lacking, failed := 0, 0
	for _, question := range slices.Sorted(maps.Keys(p.want)) {
		switch answer := got[question]; {
		case answer == p.want[question]:
		case strings.HasPrefix(answer, failing):
			failed++
		case answer == "" || question == "head":
			lacking++
		default:
			p.wrong("%s: %s is\n%.600s, want\n%.600s", when, question, answer, p.want[question])
		}
	}
	switch {
	case failed > 0:
		return "failed answers"
	case lacking > 0:
		if said := log.String(); !strings.Contains(said, "level=WARN") && !strings.Contains(said, "level=ERROR") {
			p.wrong("%s: %d answers are not there, and the log says nothing of it:\n%.2000s", when, lacking, said)
		}
		return "less"
	}
	return "the same"
}

// checkNamed demands that an error says more than that there is one.
func (p *patient) checkNamed(when string, err error) {
	if len(err.Error()) < 20 || errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "runtime error") {
		p.wrong("%s: %v", when, err)
	}
}
