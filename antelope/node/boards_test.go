package node

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/ship"
	"tarn/antelope/types"
	"tarn/internal/grafana"
	"tarn/store"
)

// Each metric that a board or an alert names is one that a node tells.
func TestBoardsAndAlertsNameWhatTheNodeTells(t *testing.T) {
	m, s := testMetrics()
	m.count("/v1/chain/get_info")
	m.answers.add(nodeoshttp.Answered{Target: "/v1/chain/get_info", Status: 200})
	m.history = func() (ship.Stats, ship.ServerStats) { return ship.Stats{}, ship.ServerStats{} }
	s.LastCheckpoint = store.CheckpointStats{At: time.Now(), Duration: time.Second}
	l := line{schedule: scheduleOf("alice")}
	m.producers.countBlock(l.block(1), time.Now())
	policy := &types.FinalizerPolicy{Finalizers: []types.Finalizer{{Description: "silent"}}}
	m.certificates.count(&finality.State{Finalizers: policy}, new(types.QuorumCertificate))
	families := scrape(t, m.append(nil))
	told := func(name string) (string, bool) {
		f := families[name]
		return f.GetType().String(), f != nil || name == "up" // Prometheus' own
	}
	const deploy = "../../deploy"
	b, err := grafana.Read(filepath.Join(deploy, "grafana", "tarn-antelope.json"))
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := grafana.Alerts(filepath.Join(deploy, "prometheus", "alerts.yml"))
	if err != nil {
		t.Fatal(err)
	}
	if len(alerts["node"]) < 5 || len(alerts["antelope"]) < 5 || len(b.Metrics()) < 30 {
		t.Fatalf("%d metrics of the board, %v of the alerts", len(b.Metrics()), alerts)
	}
	for _, name := range slices.Concat(b.Metrics(), alerts["node"], alerts["antelope"]) {
		if _, ok := grafana.Family(name, told); !ok {
			t.Errorf("a board or an alert names %s, which the node does not tell", name)
		}
	}
	for _, name := range alerts["antelope"] {
		if strings.HasSuffix(name, "_total") && !slices.Contains(b.Metrics(), name) {
			t.Errorf("an alert counts %s, which the board does not show", name)
		}
	}
	var leap []string
	for _, names := range leapMetrics {
		leap = append(leap, strings.Fields(names)...)
	}
	for _, name := range b.Metrics() {
		if strings.HasPrefix(name, "nodeos_") && !slices.Contains(leap, name) {
			t.Errorf("the board names %s, which a plain nodeos does not tell", name)
		}
	}
}
