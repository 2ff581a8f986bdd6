package suite

import (
	"fmt"
	"os"
	"path/filepath"

	nats "tarn/fleet/natsserver"
	"tarn/internal/freeport"
)

// withServers runs f with so many servers of NATS in this process, which keep streams together.
func (l *life) withServers(count int, f func(urls []string) error) error {
	dir, err := l.runner.folder()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // the run's end removes what is left
	addresses, err := freeport.Addresses(2 * count)
	if err != nil {
		return err
	}
	var urls, routes []string
	for i := range count {
		urls, routes = append(urls, "nats://"+addresses[2*i]), append(routes, "nats://"+addresses[2*i+1])
	}
	for i := range count {
		o := nats.Options{Dir: filepath.Join(dir, fmt.Sprint(i)), Listen: addresses[2*i]}
		if count > 1 {
			o.Name, o.Cluster, o.Routes = fmt.Sprintf("bench-%d", i), addresses[2*i+1], routes
		}
		s, err := nats.Start(o)
		if err != nil {
			return err
		}
		defer s.Stop()
	}
	return f(urls)
}
