// Package natsserver runs a NATS server with JetStream in this process: for a node that needs no other
// machine, and for tests.
//
// It owns how such a server is set up, and how it goes on after its disk was full. It listens nowhere unless it is
// asked to, and then says where.
package natsserver

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// Options are what a server needs. The zero value of each but Dir has a meaning.
type Options struct {
	Dir    string // where streams are kept; nobody else may use it
	Listen string // host:port for clients; port 0 is any free one; empty for none: only this process connects

	// A server in a cluster has a name, and an address for the others; empty for a server on its own.
	Name    string
	Cluster string   // host:port for other servers
	Routes  []string // nats://host:port of all of them

	// Room is how many bytes of the disk must be free before a server that could not write goes on; 0 is 64 MiB. Only a
	// server on its own goes on by itself.
	Room uint64
	Log  *slog.Logger // nil for none
}

// maxPayload is how large a message may be, in bytes, as every server has it by default.
const maxPayload = 1 << 20

// clusterName is that of all clusters that are made here.
const clusterName = "tarn"

// Server is one that runs.
type Server struct {
	o Options

	mu     sync.Mutex
	server *server.Server // another one after the disk was full

	failed chan string // why the server could not write, from its log
	ended  chan struct{}
	end    sync.Once // closes ended
	tends  sync.WaitGroup
}

// startTime is how long a server may take to answer.
const startTime = 20 * time.Second

// Start starts a server. It returns when clients can connect. One of a cluster needs others first: then it returns as
// soon as it listens, and keeps streams when most of them are there.
func Start(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Room == 0 {
		o.Room = defaultRoom
	}
	x := &Server{o: o, failed: make(chan string, 1), ended: make(chan struct{})}
	s, err := x.start(o.Listen)
	if err != nil {
		return nil, err
	}
	x.server = s
	if o.Cluster == "" {
		x.tends.Go(x.tend)
	}
	return x, nil
}

// start starts a server of NATS that listens at an address.
func (s *Server) start(listen string) (*server.Server, error) {
	so, err := s.o.natsOptions(listen)
	if err != nil {
		return nil, err
	}
	n, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("start a NATS server in %s: %w", s.o.Dir, err)
	}
	n.SetLogger(natsLog{s}, false, false)
	n.Start()
	if err := await(n, s.o.Cluster != ""); err != nil {
		stop(n)
		return nil, fmt.Errorf("start a NATS server in %s: %w", s.o.Dir, err)
	}
	return n, nil
}

func (o *Options) natsOptions(listen string) (*server.Options, error) {
	so := &server.Options{
		JetStream: true, StoreDir: o.Dir, MaxPayload: maxPayload, NoLog: true, NoSigs: true, DontListen: listen == "",
		DisableJetStreamBanner: true, ServerName: o.Name,
	}
	var err error
	if listen != "" {
		if so.Host, so.Port, err = address(listen); err != nil {
			return nil, err
		}
	}
	if o.Cluster == "" {
		return so, nil
	}
	so.Cluster.Name = clusterName
	if so.Cluster.Host, so.Cluster.Port, err = address(o.Cluster); err != nil {
		return nil, err
	}
	for _, r := range o.Routes {
		u, err := url.Parse(r)
		if err != nil {
			return nil, fmt.Errorf("address of a server of the cluster: %w", err)
		}
		so.Routes = append(so.Routes, u)
	}
	return so, nil
}

// await waits until clients can connect; of a server in a cluster, until it listens.
func await(n *server.Server, clustered bool) error {
	if clustered {
		for end := time.Now().Add(startTime); n.ClusterAddr() == nil || n.Addr() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("it does not listen after %v", startTime)
			}
		}
		return nil
	}
	if !n.ReadyForConnections(startTime) {
		return fmt.Errorf("it does not answer after %v", startTime)
	}
	if !n.JetStreamEnabled() {
		return errNoStreams
	}
	return nil
}

var errNoStreams = errors.New("it keeps no streams (is the folder another server's, or the disk full?)")

// address splits host:port; port 0 is any free one, which NATS writes as -1.
func address(s string) (host string, port int, err error) {
	host, text, err := net.SplitHostPort(s)
	if err == nil {
		port, err = strconv.Atoi(text)
	}
	if err != nil || port < 0 || port > 65535 {
		return "", 0, fmt.Errorf("the NATS server's address %q: HOST:PORT is expected", s)
	}
	if port == 0 {
		port = server.RANDOM_PORT
	}
	return host, port, nil
}

// now is the server that runs at present.
func (s *Server) now() *server.Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.server
}

// InProcessConn connects to the server without a port.
func (s *Server) InProcessConn() (net.Conn, error) { return s.now().InProcessConn() }

// URL is where clients of other processes connect; empty if it listens nowhere.
func (s *Server) URL() string {
	if a := s.now().Addr(); a != nil {
		return "nats://" + a.String()
	}
	return ""
}

// Stop stops the server, and returns when its files are closed. It may be called again.
func (s *Server) Stop() {
	s.end.Do(func() { close(s.ended) })
	s.tends.Wait()
	stop(s.now())
}

func stop(n *server.Server) {
	n.Shutdown()
	n.WaitForShutdown()
}
