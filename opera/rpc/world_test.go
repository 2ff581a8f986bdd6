package rpc

import (
	"net/http/httptest"
	"testing"

	"tarn/opera/chain"
	"tarn/opera/chain/chaintest"
	"tarn/opera/eventfile"
)

// world is a chain that was made of events, and a service that answers for it.
type world struct {
	chain   *chain.Chain
	service *Service
	url     string
}

// newWorld makes a fakenet of one of a file of events, and serves it.
func newWorld(t testing.TB, events string, options Options) *world {
	t.Helper()
	w := &world{}
	w.open(t, chaintest.Options{})
	in, err := eventfile.Open(events)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	if _, err := w.chain.Feed(t.Context(), in.Next, nil); err != nil {
		t.Fatal(err)
	}
	w.serve(t, options)
	return w
}

// open makes a fakenet of one.
func (w *world) open(t testing.TB, o chaintest.Options) {
	t.Helper()
	c, err := chaintest.New(t.TempDir(), 1, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	w.chain = c.Chain
}

func (w *world) serve(t testing.TB, options Options) {
	t.Helper()
	options.Chain, options.Version = w.chain, "tarn"
	w.service = New(options)
	t.Cleanup(func() {
		if err := w.service.Close(); err != nil {
			t.Error(err)
		}
	})
	h, err := w.service.Handler(&HTTPOptions{}, &WSOptions{Origins: []string{"*"}})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() {
		h.Close()
		server.Close()
	})
	w.url = server.URL
}
