// Package server runs a NATS server with JetStream in this process: for a node that needs no other
// machine, and for tests.
//
// It owns how such a server is set up. It listens nowhere unless it is asked to, and then says where.
package server

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
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
}

// maxPayload is how large a message may be, in bytes, as every server has it by default.
const maxPayload = 1 << 20

// clusterName is that of all clusters that are made here.
const clusterName = "tarn"

// Server is one that runs.
type Server struct{ server *server.Server }

// startTime is how long a server may take to answer.
const startTime = 20 * time.Second

// Start starts a server. It returns when clients can connect. One of a cluster needs others first: then it returns as
// soon as it listens, and keeps streams when most of them are there.
func Start(o Options) (*Server, error) {
	so := &server.Options{
		JetStream: true, StoreDir: o.Dir, MaxPayload: maxPayload, NoLog: true, NoSigs: true, DontListen: o.Listen == "",
		DisableJetStreamBanner: true, ServerName: o.Name,
	}
	var err error
	if o.Listen != "" {
		if so.Host, so.Port, err = address(o.Listen); err != nil {
			return nil, err
		}
	}
	if o.Cluster != "" {
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
	}
	s, err := server.NewServer(so)
	if err != nil {
		return nil, fmt.Errorf("start a NATS server in %s: %w", o.Dir, err)
	}
	s.Start()
	x := &Server{s}
	if err := x.await(o.Cluster != ""); err != nil {
		x.Stop()
		return nil, fmt.Errorf("start a NATS server in %s: %w", o.Dir, err)
	}
	return x, nil
}

// await waits until clients can connect; of a server in a cluster, until it listens.
func (s *Server) await(clustered bool) error {
	if clustered {
		for end := time.Now().Add(startTime); s.server.ClusterAddr() == nil || s.server.Addr() == nil; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				return fmt.Errorf("it does not listen after %v", startTime)
			}
		}
		return nil
	}
	if !s.server.ReadyForConnections(startTime) {
		return fmt.Errorf("it does not answer after %v", startTime)
	}
	if !s.server.JetStreamEnabled() {
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

// InProcessConn connects to the server without a port.
func (s *Server) InProcessConn() (net.Conn, error) { return s.server.InProcessConn() }

// URL is where clients of other processes connect; empty if it listens nowhere.
func (s *Server) URL() string {
	if a := s.server.Addr(); a != nil {
		return "nats://" + a.String()
	}
	return ""
}

// Stop stops the server, and returns when its files are closed.
func (s *Server) Stop() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}
