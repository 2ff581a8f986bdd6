package config

import (
	"errors"
	"fmt"
	"path/filepath"

	"tarn/fleet/fleetnode"
	"tarn/fleet/natsserver"
	"tarn/fleet/stream"
)

// Member is a process's part in a fleet, nil for none. The error says all that is wrong.
func (c *Config) Member(replica bool) (*fleetnode.Options, error) {
	f := &c.Tarn.Fleet
	if len(f.Servers) == 0 && !f.Embedded && !replica {
		for _, o := range [][2]string{
			{"listen", f.Listen}, {"credentials", f.Credentials}, {"nkey", f.NKey}, {"user", f.User}, {"ca", f.CA},
			{"cert", f.Cert}, {"folder", f.Folder},
		} {
			if o[1] != "" {
				return nil, fmt.Errorf("--fleet.%s has no meaning without --fleet.server or --fleet.embedded", o[0])
			}
		}
		return nil, nil
	}
	o := &fleetnode.Options{
		Stream: stream.Options{
			Servers: f.Servers, Name: f.Name, Credentials: f.Credentials, NKey: f.NKey, User: f.User, Password: f.Password,
			CA: f.CA, Cert: f.Cert, Key: f.Key, Copies: f.Copies, KeepFor: f.KeepFor, KeepBytes: int64(f.KeepMB) << 20,
			Verify: f.Verify,
			Folder: f.Folder,
		},
		Memory: int64(f.MemoryMB) << 20, SnapshotEvery: f.SnapshotEvery, Replica: replica, MostLag: f.MaxLag,
	}
	var errs []error
	switch {
	case f.Embedded && len(f.Servers) > 0:
		errs = append(errs, errors.New("--fleet.embedded takes the place of --fleet.server: give one of them"))
	case f.Embedded:
		o.Embedded = &natsserver.Options{Dir: filepath.Join(c.Node.DataDir, "fleet"), Listen: f.Listen}
	case f.Listen != "":
		errs = append(errs,
			errors.New("--fleet.listen is the address of the server of --fleet.embedded, which is not given"))
	}
	return o, errors.Join(append(errs, o.Validate())...)
}
