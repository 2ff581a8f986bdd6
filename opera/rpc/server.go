package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/ethereum/go-ethereum/rpc"
	"github.com/rs/cors"

	"tarn/httpserver"
)

// namespaces are what answers in each.
func (s *Service) namespaces() map[string][]any {
	shared := []any{ethChain{s}, ethEpochs{s}, ethState{s}, ethBlocks{s}, ethCalls{s}, ethSender{s}}
	return map[string][]any{
		"eth":      append(slices.Clone(shared), ethMiner{}, ethFilters{s}),
		"ftm":      shared,
		"dag":      {dagEvents{s}},
		"abft":     {abftEpochs{s}},
		"net":      {netInfo{s}},
		"web3":     {web3{s}},
		"txpool":   {txpool{s}},
		"debug":    {debugBlocks{s}, debugTraces{s}, debugRuntime{}, debugLog{s}, s.profiles},
		"trace":    {flatTraces{s}},
		"personal": {personal{s}},
		"admin":    {admin{s}},
	}
}

// server answers in some namespaces, all if none is named. Names that there are not are an
// error.
func (s *Service) server(names []string) (*rpc.Server, error) {
	known := s.namespaces()
	if len(names) == 0 {
		for name := range known {
			names = append(names, name)
		}
	}
	server := rpc.NewServer()
	server.SetBatchLimits(s.limits.Batch, s.limits.Answer)
	server.SetHTTPBodyLimit(s.limits.Body)
	server.SetWebsocketReadLimit(s.limits.Frame)
	for _, name := range names {
		name = strings.TrimSpace(name)
		if name == rpc.MetadataApi {
			continue // always there
		}
		if known[name] == nil {
			return nil, fmt.Errorf("there is no namespace %q of JSON-RPC", name)
		}
		for _, what := range known[name] {
			if err := server.RegisterName(name, what); err != nil {
				return nil, fmt.Errorf("serve the namespace %s: %w", name, err)
			}
		}
	}
	return server, nil
}

// HTTPOptions say whom requests over HTTP come from and what they may ask.
type HTTPOptions struct {
	// APIs are the namespaces; --http.api.
	APIs []string
	// Origins are the web sites whose pages may ask, "*" for all; --http.corsdomain.
	Origins []string
	// Hosts are the names that the node may be asked by, "*" for all; --http.vhosts.
	// Addresses always may.
	Hosts []string
	// Prefix is the path, "/" if it is empty; --http.rpcprefix.
	Prefix string
}

// WSOptions say whom requests over WebSocket come from and what they may ask.
type WSOptions struct {
	// APIs are the namespaces; --ws.api.
	APIs []string
	// Origins are the web sites whose pages may ask, "*" for all; --ws.origins.
	Origins []string
	// Prefix is the path, "/" if it is empty; --ws.rpcprefix.
	Prefix string
}

// Handler serves HTTP or WebSocket or both at one address.
type Handler struct {
	http                 http.Handler // nil: not served
	ws                   *sockets     // the same
	httpPrefix, wsPrefix string
	servers              []*rpc.Server
	plain                *plainly // of HTTP
}

// Handler returns what serves at an address; nil options are not served.
func (s *Service) Handler(h *HTTPOptions, w *WSOptions) (*Handler, error) {
	out := &Handler{}
	if h != nil {
		if err := checkPrefix("HTTP", h.Prefix); err != nil {
			return nil, err
		}
		server, err := s.server(h.APIs)
		if err != nil {
			return nil, err
		}
		out.servers = append(out.servers, server)
		o := s.older(h.APIs)
		q, hosts, z := s.quick(o.askOthers(s.paceRequests(allowUnversioned(server), int64(s.limits.Body)),
			int64(s.limits.Body)), h.APIs, o),
			newHosts(h.Hosts), new(zippers)
		out.http, out.httpPrefix = checkHost(hosts, crossing(h.Origins, z.compressAnswers(q))), h.Prefix
		out.plain = newPlainly(q, hosts, z, h)
	}
	if w != nil {
		if err := checkPrefix("WebSocket", w.Prefix); err != nil {
			return nil, err
		}
		server, err := s.server(w.APIs)
		if err != nil {
			return nil, err
		}
		out.servers = append(out.servers, server)
		out.ws, out.wsPrefix = s.webSockets(server, w), w.Prefix
		server.SetHTTPBodyLimit(int(s.limits.Frame)) // its requests come as messages
	}
	return out, nil
}

func checkPrefix(what, path string) error {
	switch {
	case path == "":
	case path[0] != '/':
		return fmt.Errorf(`%s RPC path prefix %q does not contain leading "/"`, what, path)
	case strings.ContainsAny(path, "?#"):
		return fmt.Errorf("%s RPC path prefix %q contains URL meta-characters", what, path)
	}
	return nil
}

// Close ends connections and what is being answered.
func (h *Handler) Close() {
	if h.ws != nil {
		h.ws.cancel()
	}
	for _, s := range h.servers {
		s.Stop()
	}
}

// ServeHTTP implements http.Handler.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	upgrade := strings.EqualFold(r.Header.Get("Upgrade"), "websocket") &&
		strings.Contains(strings.ToLower(r.Header.Get("Connection")), "upgrade")
	switch {
	case upgrade && h.ws != nil && under(r.URL.Path, h.wsPrefix):
		h.ws.ServeHTTP(w, r)
	case h.http != nil && under(r.URL.Path, h.httpPrefix):
		h.http.ServeHTTP(w, r)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// under tells whether a request's path is the one that is served.
func under(path, prefix string) bool {
	if prefix == "" {
		return path == "/"
	}
	return strings.HasPrefix(path, prefix)
}

// hosts are the names that a node may be asked by. Addresses always may.
type hosts map[string]bool

func newHosts(names []string) hosts {
	all := hosts{}
	for _, name := range names {
		all[strings.ToLower(name)] = true
	}
	return all
}

// allow tells whether a request may name such a host.
func (h hosts) allow(named string) bool {
	host, _, err := net.SplitHostPort(named)
	if err != nil {
		host = named
	}
	host = strings.ToLower(host)
	return host == "" || net.ParseIP(host) != nil || h["*"] || h[host]
}

// checkHost refuses requests for other hosts: a web page can make its own name lead here.
func checkHost(of hosts, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !of.allow(r.Host) {
			http.Error(w, "invalid host specified", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// crossing tells browsers which web sites' pages may ask, as go-opera does: by the same library,
// so that patterns such as https://*.example.com mean the same.
func crossing(origins []string, next http.Handler) http.Handler {
	if len(origins) == 0 {
		return next
	}
	c := cors.New(cors.Options{
		AllowedOrigins: origins, AllowedMethods: []string{http.MethodPost, http.MethodGet},
		AllowedHeaders: []string{"*"}, MaxAge: 600,
	})
	return c.Handler(next)
}

// Socket is the local socket through which programs of this machine and this user ask.
type Socket struct {
	listener net.Listener
	server   *rpc.Server
	path     string
	ended    chan error
}

// Listen serves all namespaces at a path. A socket that a killed process left there is removed;
// one that is in use, or any other file, is an error.
func (s *Service) Listen(path string) (*Socket, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o751); err != nil {
		return nil, fmt.Errorf("make the folder of the socket %s: %w", path, err)
	}
	server, err := s.server(nil)
	if err != nil {
		return nil, err
	}
	listener, err := httpserver.ListenUnix(context.Background(), path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		if listener != nil {
			err = errors.Join(err, listener.Close())
		}
		return nil, fmt.Errorf("listen at %s: %w", path, err)
	}
	k := &Socket{listener: listener, server: server, path: path, ended: make(chan error, 1)}
	go func() { k.ended <- server.ServeListener(listener) }()
	return k, nil
}

// Attach returns a client of all namespaces within the process, and what ends it.
func (s *Service) Attach() (client *rpc.Client, end func(), err error) {
	server, err := s.server(nil)
	if err != nil {
		return nil, nil, err
	}
	client = rpc.DialInProc(server)
	return client, func() { client.Close(); server.Stop() }, nil
}

// Close ends connections and removes the socket.
func (k *Socket) Close() error {
	err := k.listener.Close()
	k.server.Stop()
	if served := <-k.ended; served != nil && !errors.Is(served, net.ErrClosed) && !errors.Is(served, io.EOF) {
		err = errors.Join(err, served)
	}
	return err
}
