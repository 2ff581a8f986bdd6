package node

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"tarn/httpserver/exposition"
	"tarn/internal/freeport"
	"tarn/internal/grafana"
	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/config"
	"tarn/opera/inter"
	"tarn/store"
)

// operaMetrics are names of go-opera's that are there from the start.
const operaMetrics = `chain_head_block chain_head_header chain_head_receipt chain_block_age txpool_pending txpool_queued db_size
	p2p_peers p2p_ingress p2p_egress p2p_dials p2p_serves rpc_requests rpc_success rpc_failure rpc_duration_all
	system_cpu_sysload system_cpu_syswait system_cpu_procload system_cpu_threads system_cpu_goroutines
	system_memory_allocs system_memory_frees system_memory_held system_memory_used system_memory_pauses
	system_disk_readcount system_disk_readdata system_disk_readbytes system_disk_writecount system_disk_writedata system_disk_writebytes`

// ask gets a page.
func ask(t *testing.T, url string) (status int, body []byte) {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err = io.ReadAll(res.Body); err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, url string) map[string]*dto.MetricFamily {
	t.Helper()
	status, body := ask(t, url)
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(body))
	if err != nil || status != http.StatusOK {
		t.Fatalf("%d %v in\n%s", status, err, body)
	}
	return families
}

type nothingWaits struct{}

func (nothingWaits) Stats() (pending, queued int) { return 0, 0 }

// The sizes that are told have every file of the history in them, indexes of blocks that came as
// records among them.
func TestSizesHaveEveryFile(t *testing.T) {
	var h chain.HistoryStats
	h.Events.LogBytes, h.Blocks.LogBytes, h.States.LogBytes = 1, 2, 4
	h.Events.Index.RunBytes, h.Blocks.Index.RunBytes, h.Blocks.Brought.RunBytes = 8, 16, 32
	h.Blocks.Recorded.RunBytes, h.States.Index.RunBytes = 64, 128
	m := metrics{store: func() store.Stats { return store.Stats{Size: 256} },
		history: func() chain.HistoryStats { return h }}
	text := exposition.To(nil)
	m.sizes(text)
	for _, want := range []string{`{of="events"} 1`, `{of="blocks"} 2`, `{of="states"} 4`, `{of="indexes"} 248`,
		"\ndb_size 511"} {
		if !bytes.Contains(text.Bytes(), []byte(want+"\n")) {
			t.Errorf("no %q in\n%s", want, text.Bytes())
		}
	}
}

// A node's metrics are where go-opera's are, and its health at all its addresses, from the
// process's beginning to its end.
func TestOperatorsSeeANodeFromItsBeginningToItsEnd(t *testing.T) {
	port := freeport.Port(freeport.Address(t))
	c := &config.Config{}
	c.Run.Metrics, c.Run.MetricsAddr, c.Run.MetricsPort = true, "127.0.0.1", port
	c.Run.Profile.Serve, c.Run.Profile.Address, c.Run.Profile.Port = true, "127.0.0.1", port // as by default
	c.Node.DataDir, c.Node.HTTPHost, c.Node.HTTPPort, c.Node.HTTPModules = t.TempDir(), "127.0.0.1", freeport.Port(
		freeport.Address(t)), []string{"eth"}
	c.Run.Dashboard = net.JoinHostPort("127.0.0.1", strconv.Itoa(freeport.Port(freeport.Address(t))))
	l := newServices(c, slog.DiscardHandler)
	stop, err := l.observe()
	if err != nil {
		t.Fatal(err)
	}
	at := "http://127.0.0.1:" + strconv.Itoa(port)
	begins := func() {
		t.Helper()
		for path, want := range map[string]int{"/livez": 200, "/healthz": 200, "/readyz": 503, "/metrics": 503,
			"/debug/pprof/": 200, "/": 404} {
			if status, body := ask(t, at+path); status != want {
				t.Errorf("%s: %d %s", path, status, body)
			}
		}
	}
	begins()
	n := open(t, options(c.Node.DataDir, io.Discard))
	hide := l.observed.open(n)
	importEvents(t, n)
	_, end, err := l.begin(n)
	if err != nil {
		t.Fatal(err)
	}
	for _, url := range []string{at, "http://127.0.0.1:" + strconv.Itoa(c.Node.HTTPPort)} {
		if status, body := ask(t, url+"/readyz"); status != 200 {
			t.Errorf("%s: %d %s", url, status, body)
		}
	}
	for _, want := range []string{`"title":"opera `, `"group":"Disk"`,
		`"series":["transactions","blocks","skipped transactions"]`} {
		if status, body := ask(t, "http://"+c.Run.Dashboard+"/data"); status != 200 ||
			!strings.Contains(string(body), want) {
			t.Errorf("the dashboard's numbers: %d, no %s in %.300s", status, want, body)
		}
	}
	families := scrape(t, at+"/debug/metrics/prometheus")
	for name := range strings.FieldsSeq(operaMetrics) {
		for deadline := time.Now().Add(time.Minute); families[name] == nil &&
			time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			families = scrape(t, at+"/metrics") // those of the process come with its first look
		}
		if f := families[name]; f == nil || f.GetHelp() == "" {
			t.Errorf("%s: %v", name, f)
		}
	}
	for name, want := range map[string]float64{"chain_head_block": 14, "tarn_opera_epoch": 3,
		"tarn_opera_blocks_total": 13, "tarn_opera_validating": 0} {
		m := families[name].GetMetric()[0]
		if got := m.GetGauge().GetValue() + m.GetCounter().GetValue(); got != want {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	// This node has no network; of one that has, the same metrics and these are told.
	c.Node.P2P.MaxPeers, c.Node.P2P.NoDiscovery, c.Node.P2P.ListenAddr = 5, true, "127.0.0.1:0"
	peers, err := l.meet(n, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	text := exposition.To(nil)
	(&beside{peers: peers, pool: nothingWaits{}}).append(text)
	if err := peers.Close(); err != nil {
		t.Error(err)
	}
	b, err := grafana.Read("../../deploy/grafana/tarn-opera.json")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := grafana.Alerts("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Concat(b.Metrics(), alerts["node"], alerts["opera"]) {
		told := func(name string) (string, bool) {
			f := families[name]
			// up is Prometheus' own
			return f.GetType().String(), f != nil || name == "up" ||
				strings.Contains(string(text.Bytes()), "\n"+name+" ")
		}
		// there is none yet
		if _, ok := grafana.Family(name, told); !ok && !strings.HasPrefix(name, "tarn_checkpoint_") {
			t.Errorf("a board or an alert names %s, which this node does not tell", name)
		}
	}
	if families["tarn_state_size_bytes"] == nil || families["process_cpu_seconds_total"] == nil {
		t.Error("nothing of the state, or of the process")
	}
	if err := end(); err != nil {
		t.Fatal(err)
	}
	hide()
	begins()
	shut(t, n)
	if err := stop(); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", "127.0.0.1:"+strconv.Itoa(port)); err == nil {
		c.Close()
		t.Error("it is served after the end")
	}
}

func TestANodeIsReadyUntilSomethingIsWrong(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := headPosition{block: 1000, epoch: 3, at: now.Add(-time.Hour)}
	highest, events, synced := inter.BlockNumber(1000), int64(5), true
	left, s := uint64(2<<30), store.Stats{Limit: 1 << 30, Free: 512 << 20}
	var cause, unsupported, silent, hurt error
	h := &health{
		cause: func() error { return cause }, unsupported: func() error { return unsupported }, silent: func() error {
			return silent
		},
		hurt: func() error { return hurt }, behind: func() error { return nil },
		head: func() (headPosition, error) { return at, nil }, highest: func() inter.BlockNumber { return highest },
		synced: func() bool { return synced },
		lively: true, events: func() int64 { return events }, store: func() store.Stats { return s },
		free: func() (uint64, error) { return left, nil }, least: 1 << 30, age: 2 * time.Minute,
		seen: events, since: now,
	}
	check := func(want string) {
		t.Helper()
		err := h.ready(now)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) ||
			err != nil && strings.Contains(err.Error(), "/data") {
			t.Errorf("%v, want %q", err, want)
		}
	}
	check("") // an old block is no harm where nobody has a newer one
	highest = 1001
	check("newest block, 1000, is 1h0m0s old, and peers claim 1001")
	at.at = now.Add(-2 * time.Minute)
	check("") // what a peer claims is no harm where blocks come
	synced, highest = false, 0
	check("the node catches up, or has no peers")
	synced = true
	now = now.Add(2*time.Minute + time.Second)
	check("no event has come for 2m1s")
	at.deserted = true
	check("no event will come: the present epoch has no validators, so block 1000 is the chain's last")
	at.deserted = false
	events++
	check("")
	h.lively, now = false, now.Add(time.Hour)
	check("") // a node by itself waits for nobody
	s.Free = roomLeast - 1
	check("--db.limit")
	s.Limit = 0
	check("")
	left--
	left /= 2
	check("1023 MiB are free, less than the 1024 of --datadir.minfreedisk")
	h.least, left = 0, scarce-1
	check("15 MiB are free; no transactions are taken, and no events made")
	hurt = errors.New("files are damaged")
	check("files are damaged")
	silent = errors.New("signed twice, says /data/journal")
	check("the validator makes no events any more")
	unsupported = errors.New("Network upgrade")
	check("Network upgrade")
	cause = errors.New("the chain in /data cannot go on")
	check("the node ends; the log says why")
}

// The disk that is looked at is that of the data folder.
func TestReadinessKnowsTheRealDisk(t *testing.T) {
	o := options(t.TempDir(), io.Discard)
	n := open(t, o)
	defer shut(t, n)
	h := newHealth(n, &beside{}, time.Minute, time.Now())
	if err := h.ready(time.Now()); err != nil {
		t.Error(err)
	}
	left, err := nodeupkeep.Free(filepath.Join(o.Dir, "chaindata"))
	if err != nil {
		t.Fatal(err)
	}
	h.least = left * 2
	if err := h.ready(time.Now()); err == nil || !strings.Contains(err.Error(), "--datadir.minfreedisk") {
		t.Error(err)
	}
	if _, err := nodeupkeep.Free(filepath.Join(o.Dir, "nowhere")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
	n.Stop(fmt.Errorf("enough"))
	if err := h.ready(time.Now()); err == nil || err.Error() != "the node ends; the log says why" {
		t.Error(err)
	}
}

// A listener that is taken names its option, and leaves nothing behind.
func TestAnAddressThatIsTakenNamesItsOption(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	c := &config.Config{}
	c.Run.Metrics, c.Run.MetricsAddr, c.Run.MetricsPort = true, "127.0.0.1", taken.Addr().(*net.TCPAddr).Port
	l := newServices(c, slog.DiscardHandler)
	if _, err := l.observe(); err == nil || !strings.Contains(err.Error(), "--metrics: ") {
		t.Error(err)
	}
	c.Run.Profile.Serve, c.Run.Profile.Address, c.Run.Profile.Port = true,
		"127.0.0.1", freeport.Port(freeport.Address(t))
	if _, err := l.observe(); err == nil {
		t.Error("it is served twice")
	}
	if free, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(c.Run.Profile.Port))); err != nil {
		t.Errorf("the profiles are still served: %v", err)
	} else {
		free.Close()
	}
}
