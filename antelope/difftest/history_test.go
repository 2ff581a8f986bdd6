package difftest

import (
	"encoding/binary"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/chain"
	"tarn/antelope/ship"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// historyAll makes the tests of histories long.
var historyAll = flag.Duration("history.all", 0,
	"compare both histories of all workloads, each at work for so long, on every engine; 0 for a short while of some")

// historyCases are folders with block logs, by name: those in the folder TARN_DIFFTEST_CASES if it
// is set, or the shared ones of some workloads, or with -history.all new ones of all or those of
// -steered.only.
func historyCases(t *testing.T, p *Peer, some ...string) []string {
	t.Helper()
	cases := os.Getenv("TARN_DIFFTEST_CASES")
	if cases == "" && *historyAll == 0 {
		var dirs []string
		for _, w := range Workloads() {
			if slices.Contains(some, w.Name) {
				dirs = append(dirs, sharedCase(t, p, w))
			}
		}
		return dirs
	}
	if cases == "" {
		cases = t.TempDir()
		seed := uint64(time.Now().UnixNano())
		t.Logf("seed %d", seed)
		for _, w := range Workloads() {
			if *steeredOnly != "" && !slices.Contains(strings.Split(*steeredOnly, ","), w.Name) {
				continue
			}
			if _, err := p.RecordSteered(t.Context(), w, seed, *historyAll, filepath.Join(cases, w.Name),
				lines{t}); err != nil {
				t.Fatal(err)
			}
		}
	}
	dirs, err := filepath.Glob(filepath.Join(cases, "*", ManifestFile))
	if err != nil || len(dirs) == 0 {
		t.Fatalf("no cases in %s: %v", cases, err)
	}
	for i := range dirs {
		dirs[i] = filepath.Dir(dirs[i])
	}
	return dirs
}

// everyEngine lists the engines, with each way to map a file.
func everyEngine() (list []engine.Options) {
	for _, m := range engine.Modes() {
		list = append(list, engine.Options{Kind: engine.Page, Mode: m, LimitBytes: 1 << 30})
	}
	for _, k := range engine.Kinds() {
		if k != engine.Page {
			list = append(list, engine.Options{Kind: k, CacheBytes: 16 << 20, OverlayBytes: 64 << 20})
		}
	}
	return list
}

func engineName(e engine.Options) string {
	if e.Kind == engine.Page {
		return e.Mode.String()
	}
	return string(e.Kind)
}

// Both histories of each block are nodeos' own, on every engine. A case may bring the logs that
// nodeos made of it, in a folder state-history.
func TestOurStateHistoryIsThatOfNodeos(t *testing.T) {
	t.Parallel()
	p := peer(t)
	for i, dir := range historyCases(t, p, "mix", "deferred") {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			engines := enginesOf(i)
			theirs := filepath.Join(dir, "state-history")
			if _, err := os.Stat(theirs); err == nil {
				engines = engines[:1] // planted faults are looked for again and again
			} else if theirs, err = p.StateHistory(t.Context(), dir, t.TempDir()); err != nil {
				t.Fatal(err)
			}
			for _, e := range engines {
				n, err := CompareHistory(dir, theirs, e, chain.Options{})
				if err != nil {
					t.Fatalf("%s: %v", engineName(e), err)
				}
				t.Logf("%d blocks on %s", n, engineName(e))
			}
		})
	}
}

// caseSource is what a history reads of a case that was replayed.
type caseSource struct {
	c      *chain.Chain
	blocks map[uint32]*types.SignedBlock
}

func (s caseSource) View() (*state.View, error) { return s.c.View() }

func (s caseSource) ChainID() types.Checksum256 { return s.c.ID() }

func (s caseSource) Earliest() uint32 { return 1 }

func (s caseSource) FirstStored() uint32 { return 1 }

func (s caseSource) Irreversible() (uint32, types.Checksum256) {
	h := s.c.Head()
	return h.BlockNum, h.ID
}

func (s caseSource) Block(num uint32, id types.Checksum256) ([]byte, error) {
	if b := s.blocks[num]; b != nil && b.ID() == id {
		return b.Append(nil), nil
	}
	return nil, nil
}

func (s caseSource) BlockID(num uint32) (types.Checksum256, bool, error) {
	if b := s.blocks[num]; b != nil {
		return b.ID(), true, nil
	}
	return types.Checksum256{}, false, nil
}

// serveCase replays a case with its history in dir, and serves it.
func serveCase(t *testing.T, from, dir string) *ship.Server {
	t.Helper()
	return serveHistory(t, from, ship.Options{Dir: dir}, true)
}

// serveHistory is serveCase with options; if it does not record, the history is there already.
func serveHistory(t *testing.T, from string, o ship.Options, record bool) *ship.Server {
	t.Helper()
	c := newChain(t, deepMindEngine())
	o.Traces, o.State = true, true
	h, err := ship.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { h.Close() })
	s := caseSource{c, map[uint32]*types.SignedBlock{}}
	hooks := h.Hooks(s)
	if record {
		c.Subscribe(hooks)
	}
	apply := replaying(t.Context(), c)
	err = blocks(from, c.Genesis, func(b *types.SignedBlock) error {
		s.blocks[b.BlockNum()] = b
		return apply(b)
	})
	if err == nil && !record {
		err = hooks.Begin(c.Head())
	}
	if err == nil {
		err = h.Sync()
	}
	if err != nil {
		t.Fatal(err)
	}
	server, err := h.Serve(ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	return server
}

// frames asks for the status and for all blocks up to the head, and returns what comes.
func frames(t *testing.T, address string) (list [][]byte) {
	c, _, err := websocket.DefaultDialer.DialContext(t.Context(), "ws://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	next := func() []byte {
		c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
		_, b, err := c.ReadMessage()
		if err != nil {
			t.Fatalf("after %d messages of %s: %v", len(list), address, err)
		}
		list = append(list, b)
		return b
	}
	next()
	send := func(b []byte) {
		if err := c.WriteMessage(websocket.BinaryMessage, b); err != nil {
			t.Fatal(err)
		}
	}
	send([]byte{0})
	head := binary.LittleEndian.Uint32(next()[1:])
	ask := []byte{1}
	for _, n := range []uint32{0, 1 << 30, 5} {
		ask = binary.LittleEndian.AppendUint32(ask, n)
	}
	send(append(ask, 0, 0, 1, 1, 1))
	for n := range head {
		if n%5 == 4 {
			send([]byte{2, 5, 0, 0, 0})
		}
		next()
	}
	return list
}

// nodeos opens the logs that we wrote, and sends the same of them as we do.
func TestNodeosServesOurHistoryAsWeDo(t *testing.T) {
	t.Parallel()
	p, dir := peer(t), t.TempDir()
	from := historyCases(t, p, "deferred")[0]
	ours := frames(t, serveCase(t, from, filepath.Join(dir, "state-history")).Addresses()[0].String())
	if err := replayFolder(from, dir); err != nil {
		t.Fatal(err)
	}
	ports, err := freeport.Addresses(2)
	if err != nil {
		t.Fatal(err)
	}
	// It refuses to replay from genesis over a history that begins there.
	out, err := os.Create(filepath.Join(dir, "replay.out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	if err := p.tellStart(t.Context(), out, filepath.Join(dir, "replay.log"),
		append(replayArguments(dir, ports[1]), "--replay-blockchain")...); err != nil {
		t.Fatal(err)
	}
	n, err := p.Start(t.Context(), Config{Dir: dir, Extra: []string{
		"--plugin", "eosio::state_history_plugin", "--state-history-endpoint",
		ports[0], "--trace-history", "--chain-state-history", "--disable-replay-opts", "--read-only-threads", "0",
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer n.Kill()
	theirs := frames(t, ports[0])
	sameFrames(t, "of what we wrote", ours, theirs)
}
