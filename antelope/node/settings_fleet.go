package node

import (
	"errors"
	"path/filepath"
	"time"

	"tarn/antelope/admintypes"
	"tarn/fleet/fleetnode"
	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
)

// fleet is how the node has to do with a fleet; nil for not at all. The error names all that is wrong.
func (s *settings) fleet() (*fleetnode.Options, error) {
	embedded := s.Bool("fleet-embedded")
	if len(s.Texts("fleet-server")) == 0 && !embedded && !s.replica {
		return nil, s.withoutFleet()
	}
	f := &fleetnode.Options{
		Stream: stream.Options{
			Servers: s.Texts("fleet-server"), Name: s.Text("fleet-name"),
			Credentials: s.path("fleet-credentials"), NKey: s.path("fleet-nkey"),
			User: s.Text("fleet-user"), Password: s.Text("fleet-password"),
			CA: s.path("fleet-ca"), Cert: s.path("fleet-cert"), Key: s.path("fleet-key"),
			Copies: int(s.Uint("fleet-copies")), KeepFor: s.unsignedDuration("fleet-keep-hours", time.Hour),
			KeepBytes: int64(s.Uint("fleet-keep-mb")) << 20, Verify: s.Bool("fleet-verify"),
			Folder: s.Text("fleet-folder"),
		},
		Memory:        int64(s.Uint("fleet-memory-mb")) << 20,
		SnapshotEvery: s.unsignedDuration("fleet-snapshot-minutes", time.Minute),
		Replica:       s.replica, MostLag: s.Uint("fleet-max-lag"),
	}
	var errs []error
	if embedded {
		if len(f.Stream.Servers) > 0 {
			errs = append(errs, admintypes.NewBadOption("fleet-embedded takes the place of fleet-server: give one of them"))
		}
		f.Stream.Servers = nil
		f.Embedded = &natsserver.Options{Dir: filepath.Join(s.DataDir, "fleet"), Listen: s.Text("fleet-listen")}
	} else if s.Has("fleet-listen") {
		errs = append(errs,
			admintypes.NewBadOption("fleet-listen is the address of the server of fleet-embedded, which is not given"))
	}
	if err := f.Validate(); err != nil {
		errs = append(errs, admintypes.NewBadOption("fleet: %s", err))
	}
	return f, errors.Join(errs...)
}

// withoutFleet refuses options of a fleet where none is named.
func (s *settings) withoutFleet() error {
	for _, name := range []string{"fleet-listen", "fleet-credentials", "fleet-nkey", "fleet-user", "fleet-ca",
		"fleet-cert", "fleet-folder"} {
		if s.Has(name) {
			return admintypes.NewBadOption("%s has no meaning without fleet-server or fleet-embedded", name)
		}
	}
	return nil
}

// path is a file that an option names, "" for none.
func (s *settings) path(option string) string {
	if s.Text(option) == "" {
		return ""
	}
	return s.Under(s.ConfigDir, option)
}

// follow makes options those of a replica: blocks come from the fleet alone.
func (s *settings) follow(out *Services) error {
	var errs []error
	for _, name := range []string{"producer-name", "signature-provider", "snapshot", "genesis-json",
		"genesis-timestamp",
		"replay-blockchain", "hard-replay-blockchain", "truncate-at-block", "trace-history-debug-mode"} {
		if s.Given(name) {
			errs = append(errs, admintypes.NewBadOption("%s has no meaning for a replica: its state and its blocks come "+
				"from the fleet", name))
		}
	}
	if s.irreversible() {
		errs = append(errs, admintypes.NewBadOption("a replica cannot have read-mode irreversible"))
	}
	out.P2P, out.Finalizers, out.Producer.NoTransactions = nil, nil, true
	return errors.Join(errs...)
}
