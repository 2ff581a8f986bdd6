package node

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/types"
	"tarn/nodemetrics"
	"tarn/store"
)

// leapMetrics are the names of nodeos that are there from the start, with their
// types; those that are about a connection have its id as label.
var leapMetrics = map[dto.MetricType]string{
	dto.MetricType_COUNTER: `nodeos_http_requests_total nodeos_p2p_failed_connections nodeos_p2p_dropped_trxs_total nodeos_cpu_usage_us_total
		nodeos_net_usage_us_total nodeos_unapplied_transactions_total nodeos_subjective_bill_account_size_total nodeos_scheduled_trxs_total
		nodeos_trxs_produced_total nodeos_produced_elapsed_us_total nodeos_produced_us_total nodeos_blocks_produced
		nodeos_total_time_us_produced_block nodeos_idle_time_us_produced_block nodeos_num_success_trx_produced_block
		nodeos_success_trx_time_us_produced_block nodeos_num_failed_trx_produced_block nodeos_fail_trx_time_us_produced_block
		nodeos_num_transient_trx_produced_block nodeos_transient_trx_time_us_produced_block nodeos_other_time_us_produced_block
		nodeos_blocks_speculative_num nodeos_total_time_us_speculative_block nodeos_idle_time_us_speculative_block
		nodeos_num_success_trx_speculative_block nodeos_success_trx_time_us_speculative_block nodeos_num_failed_trx_speculative_block
		nodeos_fail_trx_time_us_speculative_block nodeos_num_transient_trx_speculative_block nodeos_transient_trx_time_us_speculative_block
		nodeos_other_time_us_speculative_block nodeos_trxs_incoming_total nodeos_incoming_elapsed_us_total nodeos_incoming_us_total
		nodeos_incoming_us_block_latency nodeos_blocks_incoming exposer_transferred_bytes_total exposer_scrapes_total`,
	dto.MetricType_GAUGE: `nodeos_info nodeos_p2p_peers nodeos_p2p_clients nodeos_p2p_addr nodeos_p2p_port nodeos_p2p_connection_number
		nodeos_p2p_accepting_blocks nodeos_p2p_last_received_block nodeos_p2p_first_available_block nodeos_p2p_last_available_block
		nodeos_p2p_unique_first_block_count nodeos_p2p_latency nodeos_p2p_bytes_received nodeos_p2p_last_bytes_received
		nodeos_p2p_bytes_sent nodeos_p2p_last_bytes_sent nodeos_p2p_block_sync_bytes_received nodeos_p2p_block_sync_bytes_sent
		nodeos_p2p_block_sync_throttling nodeos_p2p_connection_start_time nodeos_p2p_peer_addr nodeos_last_irreversible
		nodeos_head_block_num nodeos_block_num`,
}

// scrape reads metrics as Prometheus does.
func scrape(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	var p expfmt.TextParser
	families, err := p.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return families
}

// value is that of the sample with a label of that value, or the only one.
func value(f *dto.MetricFamily, label string) float64 {
	for _, m := range f.GetMetric() {
		ok := label == ""
		for _, l := range m.GetLabel() {
			ok = ok || l.GetValue() == label
		}
		if ok {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue()
		}
	}
	return -1
}

// testMetrics are those of a node that is not there.
func testMetrics() (*metrics, *store.Stats) {
	s := &store.Stats{Engine: "page", Mode: "mapped_private", Memory: "transparent huge pages",
		Written: store.Written{Checkpoint: 1000}, DirtyBytes: 11, PrivateBytes: 12, Checkpoints: 3}
	m := &metrics{
		blocksTimes: newBlocksTimes(), answers: newAnswers(),
		head: func() *producer.Head { return &producer.Head{Num: 77, IrreversibleNum: 70} },
		nodeMetrics: nodemetrics.New(nodemetrics.Options{Stats: func() store.Stats { return *s },
			Durable: func() store.Durable { return store.Durable{Head: 60, Irreversible: 55} },
			Folders: []nodemetrics.Folder{{Name: "state", Path: "."}}}),
		waiting: func() uint64 { return 5 },
		network: func() p2p.Metrics {
			return p2p.Metrics{Peers: 1, BlockProducers: 2, Clients: 3, FailedConnections: 4, BytesIn: 8,
				Connections: []p2p.ConnectionMetrics{
					{ID: 1, NodeID: "aaaaaaa", Port: 1}, {ID: 2, NodeID: "bbbbbbb", Port: 9876,
						Latency: 3 * time.Millisecond, P2PAddress: "a \"name\"\n:9876"},
					{ID: 3, NodeID: "aaaaaaa", Port: 3, Latency: -1, Start: time.Unix(5, 0), Throttled: true},
				}}
		},
		information: []string{"server_version", "0000cafe", "chain_id", "00"},
	}
	return m, s
}

func TestMetricsTellOfTheHistoryIfThereIsOne(t *testing.T) {
	m, _ := testMetrics()
	if _, ok := scrape(t, m.append(nil))["tarn_history_block_num"]; ok {
		t.Error("a node without a history tells of one")
	}
	m.history = func() (ship.Stats, ship.ServerStats) {
		return ship.Stats{Head: 77, Traces: shiplog.Stats{Written: 1000}, State: shiplog.Stats{Written: 2000},
			Finality: shiplog.Stats{Written: 3000}, Waiting: 5}, ship.ServerStats{Sessions: 3, Behind: 17}
	}
	got := string(m.append(nil))
	for _, want := range []string{`tarn_history_written_bytes_total{log="trace_history"} 1000`,
		`tarn_history_written_bytes_total{log="chain_state_history"} 2000`,
		`tarn_history_written_bytes_total{log="finality_data_history"} 3000`,
		"tarn_history_block_num 77", "tarn_history_clients 3", "tarn_history_client_behind_blocks 17",
		"tarn_history_waiting_bytes 5"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q", want)
		}
	}
}

func TestMetricsTellOfTracesIfThereAreAny(t *testing.T) {
	m, _ := testMetrics()
	if _, ok := scrape(t, m.append(nil))["tarn_traces_block_num"]; ok {
		t.Error("a node without traces tells of some")
	}
	m.traces = func() tracelog.Stats {
		return tracelog.Stats{Head: 77, Indexed: 70, Waiting: 5, IndexNew: 9,
			Files: slicefile.Stats{Blocks: 8, Traces: 1000, Index: 6, IDs: 7, Marks: 4, Compressed: 3}}
	}
	got := string(m.append(nil))
	scrape(t, []byte(got))
	for line := range strings.Lines(got) { // who reads nodeos' metrics takes a line for two words
		if strings.HasPrefix(line, "tarn_") && len(strings.Fields(line)) != 2 {
			t.Errorf("a space in a label: %s", line)
		}
	}
	for _, want := range []string{`tarn_traces_written_bytes_total{files="slices"} 1000`,
		`tarn_traces_written_bytes_total{files="transaction_index"} 9`,
		"tarn_traces_blocks_total 8", "tarn_traces_block_num 77", "tarn_traces_indexed_block_num 70",
		"tarn_traces_waiting_bytes 5"} {
		if !strings.Contains(got, want+"\n") {
			t.Errorf("no %q", want)
		}
	}
}

func TestMetricsHaveTheNamesOfNodeos(t *testing.T) {
	m, _ := testMetrics()
	m.count("/v1/chain/get_info")
	families := scrape(t, m.append(nil))
	for kind, names := range leapMetrics {
		for _, name := range strings.Fields(names) {
			f := families[name]
			if f == nil || f.GetType() != kind || f.GetHelp() == "" || len(f.GetMetric()) == 0 {
				t.Errorf("%s: %v", name, f)
			}
		}
	}
	name := regexp.MustCompile(`^(nodeos|tarn|process|go|exposer)_[a-z0-9_]+$`)
	for n, f := range families {
		if !name.MatchString(n) {
			t.Errorf("%s is named like no other", n)
		}
		seen := map[string]bool{}
		for _, s := range f.GetMetric() {
			if labels := fmt.Sprint(s.GetLabel()); seen[labels] {
				t.Errorf("%s has two samples with %s", n, labels)
			} else {
				seen[labels] = true
			}
		}
	}
	for _, c := range []struct {
		name, label string
		want        float64
	}{
		{"nodeos_p2p_peers", "", 3}, {"nodeos_p2p_clients", "", 3}, {"nodeos_head_block_num", "", 77},
		{"nodeos_last_irreversible", "", 70},
		{"nodeos_http_requests_total", "/v1/chain/get_info", 1}, {"nodeos_p2p_port", "bbbbbbb", 9876},
		{"nodeos_p2p_latency", "bbbbbbb", 3e6},
		{"nodeos_p2p_latency", "aaaaaaa", 0}, {"nodeos_p2p_connection_number", "aaaaaaa", 3},
		{"nodeos_p2p_connection_start_time", "aaaaaaa", 5e9},
		{"nodeos_p2p_peer_addr", "a \"name\"\n:9876", 0}, {"nodeos_info", "0000cafe", 1},
		{"tarn_durable_block_num", "", 60},
		{"tarn_state_info", "mapped_private", 1}, {"tarn_state_info", "transparent_huge_pages", 1},
		{"tarn_state_dirty_bytes", "", 11}, {"tarn_state_private_bytes", "", 12}, {"tarn_checkpoints_total", "", 3},
	} {
		if got := value(families[c.name], c.label); got != c.want {
			t.Errorf("%s %s is %v, want %v", c.name, c.label, got, c.want)
		}
	}
	if families["tarn_checkpoint_age_seconds"] != nil {
		t.Error("a checkpoint that never was has an age")
	}
	again := scrape(t, m.append([]byte("# before\n")))
	if value(again["exposer_scrapes_total"], "") != 1 || value(again["exposer_transferred_bytes_total"], "") < 1000 {
		t.Error("scrapes are not counted")
	}
}

func TestBlocksAreCountedByWhereTheyComeFrom(t *testing.T) {
	m, _ := testMetrics()
	e := m.events()
	for i := range 3 {
		e.Produced(producer.ProducedBlock{BlockTime: producer.BlockTime{Num: uint32(i), Total: time.Millisecond,
			Idle: time.Microsecond, Succeeded: 2, Transient: 1},
			Unapplied: 4, Transactions: 6, CPU: 100, Net: 10, Elapsed: time.Millisecond, Time: 2 * time.Millisecond})
	}
	e.Speculative(producer.BlockTime{Num: 9, Failed: 1, FailTime: 5 * time.Microsecond})
	e.Incoming(producer.IncomingBlock{Transactions: 8, CPU: 7, Net: 6, Latency: time.Second})
	families := scrape(t, m.append(nil))
	for name, want := range map[string]float64{
		"nodeos_blocks_produced": 3, "nodeos_trxs_produced_total": 18, "nodeos_unapplied_transactions_total": 12,
		"nodeos_scheduled_trxs_total": 15, "nodeos_total_time_us_produced_block": 3000,
		"nodeos_idle_time_us_produced_block": 3, "nodeos_num_success_trx_produced_block": 6,
		"nodeos_num_transient_trx_produced_block": 3, "nodeos_produced_us_total": 6000,
		"nodeos_blocks_speculative_num": 1, "nodeos_num_failed_trx_speculative_block": 1,
		"nodeos_fail_trx_time_us_speculative_block": 5, "nodeos_block_num": 9, "nodeos_blocks_incoming": 1,
		"nodeos_trxs_incoming_total": 8, "nodeos_incoming_us_block_latency": 1e6,
		"nodeos_cpu_usage_us_total produced": 300, "nodeos_cpu_usage_us_total incoming": 7,
		"nodeos_net_usage_us_total incoming": 6,
	} {
		name, label, _ := strings.Cut(name, " ")
		if got := value(families[name], label); got != want {
			t.Errorf("%s %s is %v, want %v", name, label, got, want)
		}
	}
}

func TestANodeIsReadyUntilSomethingIsWrong(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	stamp := func(age time.Duration) types.BlockTimestamp {
		return types.BlockTimestamp((now.Add(-age).UnixMilli() - types.BlockTimestampEpoch) / types.BlockIntervalMS)
	}
	head := producer.Head{Num: 1000, ForkNum: 1000, IrreversibleNum: 900}
	s := store.Stats{Limit: 1 << 30, Free: 512 << 20}
	var disk, hurt error
	c := health{head: func() *producer.Head { return &head }, store: func() store.Stats { return s }, guard: 128 << 20,
		hurt: func() error { return hurt }, full: func() error { return disk }, age: 10}
	check := func(want string) {
		t.Helper()
		err := c.ready(now)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	head.Time = stamp(5 * time.Second)
	check("")
	head.Time = stamp(6 * time.Second)
	check("1000, is 6s old")
	head.ForkNum = 1300 // in irreversible mode
	check("")
	s.Free = 127 << 20
	check("chain-state-db-size-mb")
	s.Limit = 0
	check("")
	disk = errors.New("no room on /data")
	check("no room")
	hurt = errors.New("the state is damaged")
	check("damaged")
}

func TestWhileANodeStartsItIsAliveAndNotReady(t *testing.T) {
	h := &HTTP{Dir: t.TempDir(), Listen: []Listen{{Address: "./api.sock", Categories: 1}}}
	h.Server.MaxBytesInFlight, h.Server.MaxConnections = -1, -1
	for range 2 { // the address is free again
		stop, err := Starting(t.Context(), h)
		if err != nil {
			t.Fatal(err)
		}
		ask := unixClient(filepath.Join(h.Dir, "api.sock"))
		for path, want := range map[string]string{"/healthz": "200 alive\n", "/readyz": "503 the node is starting: ",
			"/v1/chain/get_info": `503 {"code":503,"message":"Busy",`} {
			if got := ask(t, path); !strings.HasPrefix(got, want) {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(filepath.Join(h.Dir, "api.sock")); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the socket: %v", err)
		}
	}
}

// unixClient asks a server on a socket, and returns status and body.
func unixClient(path string) func(t *testing.T, target string) string {
	c := http.Client{Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", path)
		}}}
	return func(t *testing.T, target string) string {
		t.Helper()
		res, err := c.Get("http://node" + target)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(res.StatusCode, " ", string(body))
	}
}
