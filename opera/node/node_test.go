package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/internal/scratch"
	"tarn/opera/chain"
	"tarn/opera/epoch"
	"tarn/opera/inter"
	"tarn/store/engine"
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	if dir := os.Getenv(roleVariable); dir != "" {
		os.Exit(play(dir))
	}
	os.Exit(m.Run())
}

// events is a file of a go-opera fakenet of one validator: 33 events, up to block 14 in
// epoch 3.
var events = filepath.Join("..", "chain", "testdata", "fakenet1.events.gz")

// lines keeps what a log says.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func options(dir string, log io.Writer) Options {
	return Options{
		Dir: dir, Log: slog.New(slog.NewTextHandler(log, nil)), Genesis: &Beginning{Validators: 1},
		Recovery: time.Minute,
		Engine:   engine.Options{Kind: engine.Page},
	}
}

func open(t *testing.T, o Options) *Node {
	t.Helper()
	n, err := Open(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Close() }) // a second time it fails, harmlessly
	return n
}

func shut(t *testing.T, n *Node) {
	t.Helper()
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
}

func importEvents(t *testing.T, n *Node) {
	t.Helper()
	if err := n.Import(t.Context(), events); err != nil {
		t.Fatal(err)
	}
}

// summary is where a chain stands: its head, epoch and root.
func summary(t *testing.T, n *Node) string {
	t.Helper()
	at, err := position(n)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func position(n *Node) (string, error) {
	v, err := n.Chain().View()
	if err != nil {
		return "", err
	}
	root, err := v.Root(v.Head().Number)
	at := fmt.Sprintf("block %d %x root %x epoch %d", v.Head().Number, v.Head().Atropos, root, v.Epoch().Epoch)
	return at, errors.Join(err, v.Close())
}

// checkNode fails the test unless a chain is whole.
func checkNode(t *testing.T, n *Node) {
	t.Helper()
	err := n.Do(t.Context(), func(c *chain.Chain) error {
		counted, err := c.Check(func(err error) { t.Error(err) }, nil)
		if counted.Accounts == 0 || counted.Nodes == 0 {
			t.Errorf("%+v", counted)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// every calls f for each engine and map mode.
func every(t *testing.T, f func(t *testing.T, o engine.Options)) {
	for _, k := range engine.Kinds() {
		if k != engine.Page {
			t.Run(string(k), func(t *testing.T) { f(t, engine.Options{Kind: k}) })
			continue
		}
		for _, m := range engine.Modes() {
			t.Run(m.String(), func(t *testing.T) { f(t, engine.Options{Kind: k, Mode: m, LimitBytes: 64 << 20}) })
		}
	}
}

func TestAllEnginesMakeTheSameChain(t *testing.T) {
	var want string
	every(t, func(t *testing.T, e engine.Options) {
		dir := t.TempDir()
		o := options(dir, io.Discard)
		o.Engine = e
		n := open(t, o)
		importEvents(t, n)
		got := summary(t, n)
		if want == "" {
			want = got
		}
		if got != want || !strings.HasPrefix(got, "block 14 ") {
			t.Errorf("%s, another engine's is %s", got, want)
		}
		checkNode(t, n)
		shut(t, n)
		o.Genesis, o.Engine.Kind = nil, "" // it is there, and has its engine
		n = open(t, o)
		if again := summary(t, n); again != want {
			t.Errorf("after a restart %s, before it %s", again, want)
		}
		importEvents(t, n) // all are known
		if again := summary(t, n); again != want {
			t.Errorf("after a second import %s", again)
		}
		checkNode(t, n)
		shut(t, n)
	})
}

func TestAnInterruptedGenesisIsMarkedAndBegunAgain(t *testing.T) {
	var said lines
	o := options(t.TempDir(), &said)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Open(ctx, o); !errors.Is(err, context.Canceled) {
		t.Fatalf("interrupted it is %v", err)
	}
	without := o
	without.Genesis = nil
	if _, err := Open(t.Context(), without); err == nil || !strings.Contains(err.Error(), "is not whole") {
		t.Errorf("without the genesis: %v", err)
	}
	n := open(t, o)
	importEvents(t, n)
	checkNode(t, n)
	if !strings.Contains(said.String(), "interrupted; it begins again") {
		t.Errorf("nothing is said of it in\n%s", said.String())
	}
	shut(t, n)
	n = open(t, without)
	shut(t, n)
}

func TestAFolderIsOpenedByItsOwnerOnly(t *testing.T) {
	dir := t.TempDir()
	o := options(dir, io.Discard)
	missing := o
	missing.Genesis, missing.Dir = nil, filepath.Join(dir, "nowhere")
	if _, err := Open(t.Context(), missing); !errors.Is(err, chain.ErrEmpty) {
		t.Errorf("without a chain: %v", err)
	}
	if _, err := os.Stat(missing.Dir); err == nil {
		t.Error("a mistaken path became a folder")
	}
	n := open(t, o)
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "another node uses this datadir") {
		t.Errorf("a second one: %v", err)
	}
	shut(t, n)
	other := o
	other.Genesis = &Beginning{Validators: 2}
	if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "genesis mismatch") {
		t.Errorf("another network: %v", err)
	}
	other = o
	other.Engine.Kind = engine.Pebble
	if _, err := Open(t.Context(), other); err == nil || !strings.Contains(err.Error(), "convert it first") {
		t.Errorf("another engine: %v", err)
	}
	if err := os.WriteFile(filepath.Join(dir, errlock), []byte("a double"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "a double") {
		t.Errorf("after a permanent error: %v", err)
	}
}

// What a node makes is for its owner alone; what an operator has made stays as it is.
func TestTheDataFolderIsForItsOwnerAlone(t *testing.T) {
	given := t.TempDir()
	if err := os.Chmod(given, 0o755); err != nil {
		t.Fatal(err)
	}
	made := filepath.Join(given, "data", "opera")
	for _, dir := range []string{made, given} {
		shut(t, open(t, options(dir, io.Discard)))
	}
	for path, want := range map[string]os.FileMode{
		given: 0o755, filepath.Join(given, "chaindata"): 0o700, filepath.Join(given, "go-opera"): 0o700,
		filepath.Dir(made): 0o700, made: 0o700, filepath.Join(made, "chaindata"): 0o700,
		filepath.Join(made, "go-opera"): 0o700,
	} {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestAFolderOfGoOperaOrWithoutItsStateIsLeftAlone(t *testing.T) {
	o := options(t.TempDir(), io.Discard)
	theirs := filepath.Join(o.Dir, "chaindata", "leveldb-fsh")
	if err := os.MkdirAll(theirs, 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "go-opera's") {
		t.Errorf("a folder of go-opera's: %v", err)
	}
	o = options(t.TempDir(), io.Discard)
	n := open(t, o)
	importEvents(t, n)
	shut(t, n)
	if err := os.RemoveAll(filepath.Join(o.Dir, "chaindata", "state")); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(t.Context(), o); err == nil || !strings.Contains(err.Error(), "without the state") {
		t.Errorf("history without a state: %v", err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, "chaindata", "history", "events", "0000000001.log")); err != nil {
		t.Errorf("the history: %v", err)
	}
}

func TestCheckpointsKeepTheRecoveryTarget(t *testing.T) {
	for _, c := range []struct {
		target time.Duration
		least  uint64 // durable before the end
		most   uint64
	}{{time.Nanosecond, 10, 14}, {time.Hour, 1, 1}, {0, 1, 1}} {
		o := options(t.TempDir(), io.Discard)
		o.Recovery = c.target
		n := open(t, o)
		// Each block finds the checkpoint before it at its end, however slow the disk is.
		n.Subscribe(func(*chain.Block) {
			if cp := n.saver.Underway(); cp != nil {
				<-cp.Done()
			}
		})
		importEvents(t, n)
		if err := n.saver.Wait(); err != nil {
			t.Fatal(err)
		}
		if got := n.store.Durable().Irreversible; got < c.least || got > c.most {
			t.Errorf("with a target of %v block %d is durable, want %d to %d", c.target, got, c.least, c.most)
		}
		s := n.store
		shut(t, n)
		if got := s.Durable().Irreversible; got != 14 {
			t.Errorf("after the end block %d is durable", got)
		}
	}
}

func TestTheWriterWorksInTurnUntilTheEnd(t *testing.T) {
	n := open(t, options(t.TempDir(), io.Discard))
	busy, free := make(chan struct{}), make(chan struct{})
	go func() {
		_ = n.Do(t.Context(), func(*chain.Chain) error {
			close(busy)
			<-free
			return nil
		})
	}()
	<-busy
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	if err := n.Do(ctx, func(*chain.Chain) error { t.Error("it is not its turn"); return nil }); !errors.Is(err,
		context.Canceled) {
		t.Errorf("%v", err)
	}
	wrong := errors.New("wrong")
	waiting := make(chan error)
	go func() { waiting <- n.Do(t.Context(), func(*chain.Chain) error { return wrong }) }()
	close(free)
	if err := <-waiting; !errors.Is(err, wrong) {
		t.Errorf("the work's error is %v", err)
	}
	shut(t, n)
	if err := n.Do(t.Context(),
		func(*chain.Chain) error { t.Error("it is closed"); return nil }); !errors.Is(err, ErrClosed) {
		t.Errorf("after the end %v", err)
	}
}

func TestBlocksAreToldToAllWhoListen(t *testing.T) {
	n := open(t, options(t.TempDir(), io.Discard))
	var first, second []inter.BlockNumber
	n.Subscribe(func(b *chain.Block) { first = append(first, b.Number) })
	end := n.Subscribe(func(b *chain.Block) { second = append(second, b.Number) })
	end()
	importEvents(t, n)
	shut(t, n)
	if len(first) != 13 || first[0] != 2 || first[12] != 14 || len(second) != 0 {
		t.Errorf("%v and %v", first, second)
	}
}

func TestANodeEndsWhenItIsSynced(t *testing.T) {
	forever, never := 100*365*24*time.Hour, time.Nanosecond
	present, later := uint64(2), uint64(3)
	for _, c := range []struct {
		name  string
		age   *time.Duration
		epoch *uint64
		ended bool // after Open
		block inter.BlockNumber
	}{
		{"old enough", &forever, nil, true, 1}, {"never so young", &never, nil, false, 14},
		{"in the epoch", nil, &present, true, 1}, {"in the next", nil, &later, false, 14},
	} {
		o := options(t.TempDir(), io.Discard)
		o.ExitAge, o.ExitEpoch = c.age, c.epoch
		n := open(t, o)
		if ended := errors.Is(n.Cause(), ErrSynced); ended != c.ended {
			t.Errorf("%s: ended %v", c.name, ended)
		}
		if err := n.Import(t.Context(), events); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if h := n.Chain().Head().Number; h > c.block {
			t.Errorf("%s: block %d", c.name, h)
		}
		shut(t, n)
	}
}

func TestANodeEndsBeforeItsDiskIsFull(t *testing.T) {
	o := options(t.TempDir(), io.Discard)
	o.MinFree = math.MaxUint64 / 4
	n := open(t, o)
	select {
	case <-n.Done():
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	if err := n.Cause(); !strings.Contains(err.Error(), "low disk space") {
		t.Error(err)
	}
	shut(t, n)
}

// What the driver contract says of versions, and what not.
func TestAVersionThatTheNetworkDemandsStopsTheWriter(t *testing.T) {
	var said lines
	n := open(t, options(t.TempDir(), &said))
	log := func(v byte, change func(*types.Log)) *chain.Block {
		l := &types.Log{Address: epoch.Driver(), Topics: []common.Hash{epoch.UpdateVersion()}, Data: make([]byte, 32)}
		l.Data[25], l.Data[31] = 1, v // 2^48 and some
		if change != nil {
			change(l)
		}
		return &chain.Block{Receipts: types.Receipts{{Logs: []*types.Log{l}}}}
	}
	for _, b := range []*chain.Block{
		log(1, func(l *types.Log) { l.Address[0]++ }), log(1, func(l *types.Log) { l.Topics[0][0]++ }),
		log(1, func(l *types.Log) { l.Data = l.Data[:31] }), log(1, func(l *types.Log) { l.Topics = nil }),
		{Receipts: types.Receipts{
			{Logs: []*types.Log{{Address: epoch.Driver(), Topics: []common.Hash{epoch.UpdateVersion()},
				Data: common.LeftPadBytes([]byte{0xe8, 0xd4, 0xa5, 0x2f, 0x43}, 32)}}}}},
	} {
		n.handleBlock(b)
		if err := n.version.unsupportedError(); err != nil {
			t.Errorf("%v: %v", b.Receipts[0].Logs[0], err)
		}
	}
	n.handleBlock(log(1, nil))
	if err := n.Import(t.Context(), events); err == nil || !strings.Contains(err.Error(),
		"Network upgrade 281.474976.710657 was activated. Current node version is 1.1.3") {
		t.Errorf("%v", err)
	}
	if !strings.Contains(said.String(), "Network upgrade") {
		t.Error("nothing is said")
	}
	n.handleBlock(log(0, func(l *types.Log) { clear(l.Data) })) // the network has thought better of it
	asRecord := func(number inter.BlockNumber, b *chain.Block) *inter.BlockRecord {
		return &inter.BlockRecord{Number: number, Block: inter.BlockContent{
			Receipts: []*types.ReceiptForStorage{(*types.ReceiptForStorage)(b.Receipts[0])}}}
	}
	for _, c := range []struct {
		number inter.BlockNumber
		demand byte
		paused bool
	}{{5, 1, true}, {4, 0, true}, {6, 0, false}, {5, 1, false}} {
		n.version.noteRecord(asRecord(c.number, log(c.demand, func(l *types.Log) {
			if c.demand == 0 {
				clear(l.Data)
			}
		})))
		if err := (gate{n}).Paused(); (err != nil) != c.paused {
			t.Errorf("after the record of block %d, whose demand is %d: %v", c.number, c.demand, err)
		}
	}
	importEvents(t, n)
	shut(t, n)
}
