package rpc

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rpc"
)

// Endpoints changes the addresses at which requests are answered. Any goroutine may call it.
// The zero value of what is served stands for what the node was started with.
type Endpoints interface {
	// StartHTTP begins to answer over HTTP. It is an error if requests are answered over HTTP
	// already.
	StartHTTP(host string, port int, o HTTPOptions) error
	// StopHTTP ends it. If nothing is answered over HTTP, that is no error.
	StopHTTP() error
	// StartWS begins to answer over WebSocket, with the errors of StartHTTP.
	StartWS(host string, port int, o WSOptions) error
	// StopWS ends it, as StopHTTP does.
	StopWS() error
}

var errNoEndpoints = errors.New("this node's addresses cannot be changed while it runs")

func words(list *string) []string {
	if list == nil {
		return nil
	}
	var all []string
	for word := range strings.SplitSeq(*list, ",") {
		all = append(all, strings.TrimSpace(word))
	}
	return all
}

// valueOf is what a pointer leads to, the zero value if it is nil.
func valueOf[T any](p *T) (of T) {
	if p != nil {
		of = *p
	}
	return of
}

func (a admin) endpoints(do func(Endpoints) error) (bool, error) {
	if a.s.options.Endpoints == nil {
		return false, errNoEndpoints
	}
	return trueIfNil(do(a.s.options.Endpoints))
}

func (a admin) StartHTTP(host *string, port *int, cors, apis, vhosts *string) (bool, error) {
	return a.endpoints(func(e Endpoints) error {
		return e.StartHTTP(valueOf(host), valueOf(port),
			HTTPOptions{APIs: words(apis), Origins: words(cors), Hosts: words(vhosts)})
	})
}

// StartRPC is the former name.
func (a admin) StartRPC(host *string, port *int, cors, apis, vhosts *string) (bool, error) {
	return a.StartHTTP(host, port, cors, apis, vhosts)
}

func (a admin) StopHTTP() (bool, error) { return a.endpoints(Endpoints.StopHTTP) }

// StopRPC is the former name.
func (a admin) StopRPC() (bool, error) { return a.StopHTTP() }

func (a admin) StartWS(host *string, port *int, origins, apis *string) (bool, error) {
	return a.endpoints(func(e Endpoints) error {
		return e.StartWS(valueOf(host), valueOf(port), WSOptions{APIs: words(apis), Origins: words(origins)})
	})
}

func (a admin) StopWS() (bool, error) { return a.endpoints(Endpoints.StopWS) }

// PeerEvents tells of connections to peers and of their ends.
func (a admin) PeerEvents(ctx context.Context) (*rpc.Subscription, error) {
	return a.s.subscribe(ctx, &hearing{of: a.s.hub.peers, tell: sendTold})
}

// hear returns what hears of connections, from now on until the hub ends.
func (h *hub) hear() (run func()) {
	events := make(chan *p2p.PeerEvent, 16)
	heard := h.s.options.Peers.SubscribeEvents(events)
	return func() {
		defer heard.Unsubscribe()
		h.pass(events, heard)
	}
}

// pass passes on what is heard.
func (h *hub) pass(events <-chan *p2p.PeerEvent, heard event.Subscription) {
	for {
		select {
		case e := <-events:
			if text, err := json.Marshal(e); err == nil {
				h.peers.push(news{json.RawMessage(text), int64(len(text))})
			}
		case <-heard.Err():
			return
		case <-h.ctx.Done():
			return
		}
	}
}
