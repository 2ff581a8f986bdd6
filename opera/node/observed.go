package node

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"strconv"
	"sync"
	"time"

	"tarn/httpserver"
	"tarn/httpserver/exposition"
)

// observed is what an operator's programs see of a process: metrics, whether it is alive,
// and whether its node is ready. Its methods may be called by all goroutines.
type observed struct {
	mu      sync.RWMutex // held over answers: a node is not closed under one
	metrics *metrics     // nil while no chain is open
	health  *health      // nil until the node serves
}

var errStarting = errors.New(
	"the node is starting: its genesis is applied, its chain opened, or blocks are made again after a crash")

// open has a node's metrics shown until what is returned is called, before it is closed.
func (o *observed) open(n *Node) (end func()) {
	m := newMetrics(n)
	unsubscribe := n.Subscribe(m.made.block)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.metrics = m
	return func() {
		unsubscribe()
		o.mu.Lock()
		defer o.mu.Unlock()
		o.metrics, o.health = nil, nil
	}
}

// serves has what runs beside a node's chain shown until what is returned is called.
func (o *observed) serves(n *Node, r *beside, age time.Duration) (end func()) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.metrics.beside.Store(r)
	o.health = newHealth(n, r, age, time.Now())
	return func() {
		o.mu.Lock()
		defer o.mu.Unlock()
		o.metrics.beside.Store(nil)
		o.health = nil
	}
}

// ready returns why there is no node that is ready; nil if there is one.
func (o *observed) ready(now time.Time) error {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.health == nil {
		return errStarting
	}
	return o.health.ready(now)
}

// mount adds metrics, where go-opera has them and where Prometheus looks by default, and
// health.
func (o *observed) mount(mux *http.ServeMux) {
	mux.HandleFunc("GET /debug/metrics/prometheus", o.expose)
	mux.HandleFunc("GET /metrics", o.expose)
	for _, path := range healthPaths {
		mux.HandleFunc("GET "+path, o.answer)
	}
}

// healthPaths are asked by who runs the node, whatever else is served at an address.
var healthPaths = []string{"/livez", "/healthz", "/readyz"}

// answer says whether the process is alive, or whether its node is ready.
func (o *observed) answer(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	if r.URL.Path != "/readyz" {
		io.WriteString(w, "alive\n") //nolint:errcheck // who has gone needs no answer
		return
	}
	if err := o.ready(time.Now()); err != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, err) //nolint:errcheck // the same
		return
	}
	io.WriteString(w, "ready\n") //nolint:errcheck // the same
}

// withHealth answers questions about health at an address at which something else answers the
// rest.
func (o *observed) withHealth(rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead {
			for _, path := range healthPaths {
				if r.URL.Path == path {
					o.answer(w, r)
					return
				}
			}
		}
		rest.ServeHTTP(w, r)
	})
}

func (o *observed) expose(w http.ResponseWriter, _ *http.Request) {
	o.mu.RLock()
	defer o.mu.RUnlock()
	if o.metrics == nil {
		http.Error(w, errStarting.Error(), http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", exposition.ContentType)
	w.Write(o.metrics.append(nil)) //nolint:errcheck // who has gone needs no answer
}

// observe serves what the options ask for: metrics and health with --metrics, profiles with
// --pprof, both where their addresses are one. What is returned ends that.
func (s *services) observe() (stop func() error, err error) {
	var begun closers
	p := &s.Run.Profile
	profiles := net.JoinHostPort(p.Address, strconv.Itoa(p.Port))
	at := net.JoinHostPort(s.Run.MetricsAddr, strconv.Itoa(s.Run.MetricsPort))
	if s.Run.Metrics {
		collectLibrary()
	}
	if p.Serve {
		mux := http.NewServeMux()
		mountProfiles(mux)
		if s.Run.Metrics { // as go-opera
			s.observed.mount(mux)
		}
		if err := s.serveObserved("--pprof", "Starting pprof server", "/debug/pprof", profiles, mux,
			&begun); err != nil {
			return nil, err
		}
	}
	if s.Run.Metrics && !(p.Serve && at == profiles) {
		mux := http.NewServeMux()
		s.observed.mount(mux)
		if err := s.serveObserved("--metrics", "Starting metrics server", "/debug/metrics/prometheus",
			at, mux, &begun); err != nil {
			return nil, errors.Join(err, begun.close())
		}
	}
	return begun.close, nil
}

func mountProfiles(mux *http.ServeMux) {
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
}

// observedBytes is how many bytes of requests for metrics and profiles may be under way.
const observedBytes = 1 << 20

func (s *services) serveObserved(option, said, path, address string, h http.Handler, begun *closers) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("%s: %w", option, err)
	}
	server := httpserver.New(httpserver.Options{MaxBytesInFlight: observedBytes, Trusted: s.trustedAddresses(),
		MaxConnections: -1, Log: s.log})
	if err := server.Serve(listener, h); err != nil {
		return err
	}
	s.log.Info(said, "addr", fmt.Sprintf("http://%s%s", listener.Addr(), path))
	*begun = append(*begun, server.Close)
	return nil
}
