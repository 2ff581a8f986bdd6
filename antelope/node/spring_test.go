package node

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/producer"
	"tarn/store/engine"
)

// A node works as those of its chain: what Leap and Spring do differently depends on whether SAVANNA is active.
func TestANodeWorksAsThoseOfItsChain(t *testing.T) {
	spring := finalPeers(t, 1)
	for name, c := range map[string]struct {
		ini, args               string
		leap                    bool
		accepts                 bool // transactions
		agent, format, mistakes string
	}{
		"Leap":               {leap: true, accepts: true, agent: "EOS Test Agent", format: "_name"},
		"Leap, irreversible": {leap: true, ini: "read-mode = irreversible", agent: "EOS Test Agent", format: "_name"},
		"Leap, a mistake": {leap: true, ini: "signature-provider = nonsense", accepts: true, agent: "EOS Test Agent",
			format: "_name"},
		"Spring":               {accepts: true, agent: "Spring Agent", format: "_peer"},
		"Spring, irreversible": {ini: "read-mode = irreversible", accepts: true, agent: "Spring Agent", format: "_peer"},
		"Spring, no transactions": {ini: "api-accept-transactions = false\np2p-accept-transactions = false",
			agent: "Spring Agent", format: "_peer"},
		"Spring, told otherwise": {ini: "agent-name = EOS Test Agent\npeer-log-format = ${_name}", accepts: true,
			agent: "EOS Test Agent", format: "_name"},
		"Spring, mistakes": {ini: "signature-provider = nonsense\nsignature-provider = more=x", accepts: true,
			agent: "Spring Agent", format: "_peer", mistakes: "number=1 number=2"},
	} {
		t.Run(name, func(t *testing.T) {
			s := parseSettings(t, "plugin = eosio::chain_api_plugin\n"+c.ini)
			o, err := s.options()
			if err != nil {
				t.Fatal(err)
			}
			o.Log, o.Genesis = slog.New(slog.DiscardHandler), &spring.Genesis
			v, err := s.services(&o, Version{Short: "v5.0.3"})
			if err != nil {
				t.Fatal(err)
			}
			n := mustStart(t, o)
			defer n.Close()
			for _, b := range spring.Blocks {
				if c.leap {
					break
				}
				if err := give(n.Chain(), b); err != nil {
					t.Fatal(err)
				}
			}
			l := &invocation{settings: *s}
			err = l.recogniseFork(n, &v)
			for _, m := range strings.Fields(c.mistakes) {
				if err == nil || !strings.Contains(err.Error(), m) {
					t.Errorf("the start fails with %v, and does not name %s", err, m)
				}
			}
			if err != nil && c.mistakes == "" {
				t.Error(err)
			}
			w, err := producer.New(n.Chain(), v.Producer)
			if err != nil {
				t.Fatal(err)
			}
			defer w.Close() //nolint:errcheck // nothing is kept
			if w.RefusesTransactions() == c.accepts {
				t.Errorf("transactions are refused: %v", !c.accepts)
			}
			if v.P2P.AgentName != c.agent || !strings.Contains(v.P2P.PeerLogFormat, c.format) {
				t.Errorf("agent %q, format %q", v.P2P.AgentName, v.P2P.PeerLogFormat)
			}
		})
	}
}

// A producer of Spring that cannot have its key does not start: whoever runs it would wait for its blocks.
func TestANodeOfSpringDoesNotStartWithoutItsKeys(t *testing.T) {
	dir := t.TempDir()
	o := options(filepath.Join(dir, "data"), engine.Options{})
	p := finalPeers(t, 1)
	o.Genesis, o.Chain = &p.Genesis, chain.Options{}
	if err := startAt(t, o, p).Close(); err != nil {
		t.Fatal(err)
	}
	conf := filepath.Join(dir, "config")
	const ini = "producer-name = peera\np2p-listen-endpoint = 127.0.0.1:0\nsignature-provider = EOS5nope=KEY:5nope\n"
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(conf, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
	defer stop()
	var out buffer
	err := run(ctx, []string{"--config-dir", conf, "--data-dir", filepath.Join(dir, "data")}, streams{&out, &out})
	if err == nil || ctx.Err() != nil || !strings.Contains(out.String(), "nodeos ends") ||
		!strings.Contains(out.String(), "Malformed signature provider: number=1 key=***") {
		t.Errorf("the start ends with %v: %s", err, out.String())
	}
}
