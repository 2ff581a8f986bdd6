package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"net"
	"net/http"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"

	"tarn/opera/config"
	"tarn/opera/inter"
	"tarn/opera/p2p"
	"tarn/opera/rpc"
)

// requests answers JSON-RPC over what the options ask for, until it is closed.
type requests struct {
	l       *life
	service *rpc.Service
	ends    []func() error // in the order of their beginning
}

// socketPath is the longest path of a local socket, on Linux.
const socketPath = 107

// serve begins to answer for a node and its peers, nil for none.
func (l *life) serve(n *Node, peers *p2p.Node) (_ *requests, err error) {
	keys := l.keys()
	o := l.rpcOptions(n, keys)
	if peers != nil {
		o.Peers = peers
	}
	r := &requests{l: l, service: rpc.New(o)}
	r.ends = append(r.ends, keys.Close, func() error { r.service.Close(); return nil })
	stop := n.Subscribe(r.service.Connected)
	r.ends = append(r.ends, func() error { stop(); return nil })
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.listen(); err != nil {
		return nil, err
	}
	c := &l.Node
	var overHTTP *rpc.HTTPOptions
	var overWS *rpc.WSOptions
	if c.HTTPHost != "" {
		overHTTP = &rpc.HTTPOptions{APIs: c.HTTPModules, Origins: c.HTTPCors, Hosts: c.HTTPVirtualHosts, Prefix: c.HTTPPathPrefix}
	}
	if c.WSHost != "" {
		overWS = &rpc.WSOptions{APIs: c.WSModules, Origins: c.WSOrigins, Prefix: c.WSPathPrefix}
	}
	if overHTTP != nil && overWS != nil && c.HTTPHost == c.WSHost && c.HTTPPort == c.WSPort {
		return r, r.open(c.HTTPHost, c.HTTPPort, overHTTP, overWS)
	}
	if overHTTP != nil {
		err = r.open(c.HTTPHost, c.HTTPPort, overHTTP, nil)
	}
	if overWS != nil && err == nil {
		err = r.open(c.WSHost, c.WSPort, nil, overWS)
	}
	return r, err
}

// listen answers at the local socket.
func (r *requests) listen() error {
	path := r.l.Node.IPCPath
	if path == "" {
		return nil
	}
	if filepath.Base(path) == path {
		path = filepath.Join(r.l.Node.DataDir, path)
	}
	if len(path) > socketPath {
		r.l.log.Warn("The path of the local socket is too long for the system; there is none", "path", path)
		return nil
	}
	socket, err := r.service.Listen(path)
	if err != nil {
		return err
	}
	r.ends = append(r.ends, socket.Close)
	r.l.log.Info("IPC endpoint opened", "url", path)
	return nil
}

// open answers at an address.
func (r *requests) open(host string, port int, h *rpc.HTTPOptions, w *rpc.WSOptions) error {
	handler, err := r.service.Handler(h, w)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if err != nil {
		handler.Close()
		return fmt.Errorf("listen for JSON-RPC: %w", err)
	}
	t := r.l.Node.HTTPTimeouts
	s := &http.Server{Handler: handler, ReadTimeout: t.ReadTimeout, ReadHeaderTimeout: t.ReadTimeout, WriteTimeout: t.WriteTimeout, IdleTimeout: t.IdleTimeout}
	go func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			r.l.log.Error("JSON-RPC is not served any more", "address", listener.Addr(), "err", err)
		}
	}()
	r.ends = append(r.ends, func() error {
		handler.Close()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if s.Shutdown(ctx) != nil {
			return s.Close()
		}
		return nil
	})
	r.l.log.Info("JSON-RPC is served", "http", h != nil, "ws", w != nil, "endpoint", listener.Addr())
	return nil
}

// close ends it in the opposite order.
func (r *requests) close() (err error) {
	for i := len(r.ends) - 1; i >= 0; i-- {
		err = errors.Join(err, r.ends[i]())
	}
	r.ends = nil
	return err
}

// keys are the accounts of the node's folder of keys.
func (l *life) keys() *accounts.Manager {
	n, p := keystore.StandardScryptN, keystore.StandardScryptP
	if l.Node.UseLightweightKDF {
		n, p = keystore.LightScryptN, keystore.LightScryptP
	}
	dir := cmp.Or(l.Node.KeyStoreDir, filepath.Join(l.Node.DataDir, "keystore"))
	return accounts.NewManager(nil, keystore.NewKeyStore(dir, n, p))
}

func (l *life) rpcOptions(n *Node, keys *accounts.Manager) rpc.Options {
	c, o := &l.Node, &l.Opera
	const longTime = 24 * time.Hour // go-opera's zero has no limit
	limits := rpc.Limits{
		GasCap: cmp.Or(o.RPCGasCap, math.MaxUint64), FeeCap: cmp.Or(o.RPCTxFeeCap, -1),
		CallTime: cmp.Or(o.RPCEVMTimeout, longTime), RequestTime: cmp.Or(o.RPCTimeout, longTime),
		UnindexedBlocks: inter.BlockNumber(o.FilterAPI.UnindexedLogsBlockRangeLimit),
	}
	wei := func(n uint64) *big.Int {
		if n == 0 {
			return nil
		}
		return new(big.Int).SetUint64(n)
	}
	return rpc.Options{
		Chain: n.Chain(), Writer: n, Accounts: keys, InsecureUnlock: c.InsecureUnlockAllowed, Remote: c.HTTPHost != "" || c.WSHost != "",
		AllowUnprotected: o.AllowUnprotectedTxs || c.AllowUnprotectedTxs, DataDir: c.DataDir, Limits: limits,
		Version: fmt.Sprintf("go-opera/v%s/tarn/%s-%s/%s", config.Version, runtime.GOOS, runtime.GOARCH, runtime.Version()),
		Price:   rpc.PriceOptions{Max: wei(o.GPO.MaxGasPrice), Min: wei(o.GPO.MinGasPrice), MinTip: wei(o.GPO.MinGasTip), Certainty: o.GPO.DefaultCertainty},
	}
}
