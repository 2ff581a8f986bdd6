package node

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"runtime"
	"time"

	"github.com/ethereum/go-ethereum/accounts"

	"tarn/opera/chain"
	"tarn/opera/config"
	"tarn/opera/inter"
	"tarn/opera/p2p"
	"tarn/opera/rpc"
)

// requests answers JSON-RPC over what the options ask for, until it is closed.
type requests struct {
	of        *services
	service   *rpc.Service
	endpoints *endpoints
	ends      []func() error // in the order of their beginning
}

// socketPath is the longest path of a local socket, on Linux.
const socketPath = 107

// serve begins to answer for a node, its peers, nil for none, what waits, nil for a node that
// takes no transactions, and its way to a later epoch, nil if it has none.
func (s *services) serve(n *Node, peers *p2p.Node, w *waiting, ahead *overtaking) (*requests, error) {
	r, err := s.respond(n, func(o *rpc.Options) {
		if peers != nil {
			o.Peers = peers
		}
		if w != nil {
			o.Pool, o.Prices = w, w.prices
		}
		if ahead != nil {
			o.States = ahead.States
		}
	})
	if err == nil && w != nil {
		r.until(w.Subscribe(r.service.Added))
	}
	return r, err
}

// respond begins to answer for a node; options says of what it has.
func (s *services) respond(n *Node, options func(*rpc.Options)) (_ *requests, err error) {
	keys, err := s.accounts()
	if err != nil {
		return nil, err
	}
	if err := s.unlock(keys); err != nil {
		return nil, errors.Join(err, keys.Close())
	}
	o := s.rpcOptions(n, keys)
	options(&o)
	r := &requests{of: s}
	r.endpoints = &endpoints{r: r}
	o.Endpoints = r.endpoints
	r.service = rpc.New(o)
	r.ends = append(r.ends, keys.Close, r.service.Close, r.endpoints.close)
	r.until(n.Subscribe(func(*chain.Block) { r.service.Follow() }))
	r.service.Follow() // a block may have come meanwhile
	defer func() {
		if err != nil {
			err = errors.Join(err, r.close())
		}
	}()
	if err := r.listen(); err != nil {
		return nil, err
	}
	if s.Node.HTTPHost != "" {
		err = r.endpoints.StartHTTP("", 0, rpc.HTTPOptions{})
	}
	if s.Node.WSHost != "" && err == nil {
		err = r.endpoints.StartWS("", 0, rpc.WSOptions{})
	}
	return r, err
}

// until has something end with the requests.
func (r *requests) until(stop func()) {
	r.ends = append(r.ends, func() error { stop(); return nil })
}

// listen answers at the local socket.
func (r *requests) listen() error {
	path := r.of.Node.IPCPath
	if path == "" {
		return nil
	}
	if filepath.Base(path) == path {
		path = filepath.Join(r.of.Node.DataDir, path)
	}
	if len(path) > socketPath {
		r.of.log.Warn("The path of the local socket is too long for the system; there is none", "path", path)
		return nil
	}
	socket, err := r.service.Listen(path)
	if err != nil {
		return err
	}
	r.ends = append(r.ends, socket.Close)
	r.of.log.Info("IPC endpoint opened", "url", path)
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

// accounts are those of the node's folder of keys.
func (s *services) accounts() (*accounts.Manager, error) {
	w, err := s.keys.open(nil)
	if err == nil {
		err = s.keepFake(w)
	}
	if err != nil {
		return nil, err
	}
	return accounts.NewManager(nil, w.Keystore()), nil
}

func (s *services) rpcOptions(n *Node, keys *accounts.Manager) rpc.Options {
	c, o := &s.Node, &s.Opera
	dir, err := filepath.Abs(c.DataDir)
	if err != nil {
		dir = c.DataDir // there is no working folder to tell
	}
	const longTime = 24 * time.Hour // go-opera's zero has no limit
	limits := rpc.Limits{
		Filters: s.Tarn.Filters, Subscriptions: s.Tarn.Subscriptions,
		GasCap: cmp.Or(o.RPCGasCap, math.MaxUint64), FeeCap: cmp.Or(o.RPCTxFeeCap, -1),
		CallTime: cmp.Or(o.RPCEVMTimeout, longTime), RequestTime: cmp.Or(o.RPCTimeout, longTime),
		UnindexedBlocks: inter.BlockNumber(o.FilterAPI.UnindexedLogsBlockRangeLimit),
		IndexedBlocks:   inter.BlockNumber(o.FilterAPI.IndexedLogsBlockRangeLimit),
	}
	return rpc.Options{
		Chain: n.Chain(), Accounts: keys, InsecureUnlock: c.InsecureUnlockAllowed,
		Remote:           c.HTTPHost != "" || c.WSHost != "",
		AllowUnprotected: o.AllowUnprotectedTxs || c.AllowUnprotectedTxs, DataDir: dir, Limits: limits,
		IPRestrict: c.P2P.IPRestrict, PrivateNodes: c.P2P.PrivateNodes,
		Damaged: n.damage.Met,
		Log:     s.filter,
		Version: s.name(),
	}
}

// name is what the node says that it is, to peers and clients: go-opera's name with ours
// behind the version. --identity stands where go-opera has it.
func (s *services) name() string {
	name := "go-opera"
	if s.Node.UserIdent != "" {
		name += "/" + s.Node.UserIdent
	}
	return fmt.Sprintf("%s/v%s/tarn/%s-%s/%s", name, config.Version, runtime.GOOS, runtime.GOARCH, runtime.Version())
}
