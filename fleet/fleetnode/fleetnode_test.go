package fleetnode

import (
	"log/slog"
	"strings"
	"testing"

	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
	"tarn/httpserver/exposition"
	"tarn/internal/freeport"
	"tarn/internal/grafana"
)

func TestWhatCannotBeIsRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"no NATS server is named":   {Memory: 1, Stream: stream.Options{Name: "a"}},
		"without memory":            {Stream: stream.Options{Name: "a", Servers: []string{"nats://127.0.0.1:1"}}},
		"no NATS server of its own": {Replica: true, Embedded: &natsserver.Options{}, Stream: stream.Options{Name: "a"}},
		"the fleet's name":          {Memory: 1, Embedded: &natsserver.Options{}, Stream: stream.Options{Name: "a b"}},
	} {
		if err := o.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	good := Options{Memory: 1, Embedded: &natsserver.Options{}, Stream: stream.Options{Name: "a"}}
	if err := good.Validate(); err != nil {
		t.Error(err)
	}
}

// A process of no fleet has no part in one.
func TestNobody(t *testing.T) {
	var m *Member
	if m.Follower() != nil || m.Behind(1) != nil {
		t.Error("it has a part")
	}
	w := exposition.To(nil)
	if m.Append(w, 1); len(w.Bytes()) != 0 {
		t.Errorf("it tells\n%s", w.Bytes())
	}
	m.Close()
}

// Boards and alerts name metrics that members tell.
func TestMetricsAreThoseOfTheBoard(t *testing.T) {
	log := slog.New(slog.DiscardHandler)
	node, err := Open(Options{Memory: 1 << 20, Embedded: &natsserver.Options{Dir: t.TempDir(), Listen: freeport.Address(t)},
		Stream: stream.Options{Name: "a"}}, log)
	if err != nil {
		t.Fatal(err)
	}
	defer node.Close()
	replica, err := Open(Options{Replica: true, Stream: stream.Options{Name: "a", Servers: []string{node.nats.URL()}}},
		log)
	if err != nil {
		t.Fatal(err)
	}
	defer replica.Close()
	if err := replica.Behind(1); err == nil {
		t.Error("a replica that has heard of nobody is ready")
	}
	w := exposition.To(nil)
	node.Append(w, 1)
	replica.Append(w, 1)
	text := string(w.Bytes())
	told := func(name string) (string, bool) {
		return "GAUGE", strings.Contains(text, "\n"+name+" ") || strings.Contains(text, "\n"+name+"{")
	}
	b, err := grafana.Read("../../deploy/grafana/tarn-fleet.json")
	if err != nil {
		t.Fatal(err)
	}
	alerts, err := grafana.Alerts("../../deploy/prometheus/alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	names := append(b.Metrics(), alerts["fleet"]...)
	if len(alerts["fleet"]) < 2 || len(b.Metrics()) < 3 {
		t.Errorf("%d metrics of the board, %q of the alerts", len(b.Metrics()), alerts["fleet"])
	}
	for _, name := range names {
		if _, ok := grafana.Family(name, told); !ok && strings.HasPrefix(name, "tarn_fleet_") {
			t.Errorf("a board or an alert names %s, which no member tells:\n%s", name, text)
		}
	}
}
