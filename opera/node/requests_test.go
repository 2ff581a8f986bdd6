package node

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/internal/freeport"
	"tarn/opera/config"
)

// Requests are answered over all that the options ask for, and no more after the end.
func TestRequestsAreAnsweredUntilTheEnd(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	importEvents(t, n)
	port := func() int { return freeport.Port(freeport.Address(t)) }
	short, err := os.MkdirTemp("/tmp", "node")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	c := &config.Config{}
	c.Node.DataDir, c.Node.IPCPath = dir, filepath.Join(short, "ipc")
	c.Node.HTTPHost, c.Node.HTTPPort, c.Node.HTTPModules = "127.0.0.1", port(), []string{"eth"}
	c.Node.WSHost, c.Node.WSPort, c.Node.WSModules = "127.0.0.1", c.Node.HTTPPort, []string{"eth"}
	l := newServices(c, slog.DiscardHandler)
	address := net.JoinHostPort(c.Node.HTTPHost, strconv.Itoa(c.Node.HTTPPort))
	urls := []string{"http://" + address, "ws://" + address, c.Node.IPCPath}
	for range 2 { // nothing of the first time is in the way of the second
		r, err := l.serve(n, nil, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, url := range urls {
			client, err := rpc.Dial(url)
			if err != nil {
				t.Fatal(err)
			}
			var head hexutil.Uint64
			if err := client.Call(&head, "eth_blockNumber"); err != nil ||
				uint64(head) != uint64(n.Chain().Head().Number) || head == 0 {
				t.Errorf("%s: %d, %v", url, head, err)
			}
			client.Close()
		}
		if err := r.close(); err != nil {
			t.Fatal(err)
		}
		if client, err := rpc.Dial(urls[0]); err == nil {
			var head hexutil.Uint64
			if client.Call(&head, "eth_blockNumber") == nil {
				t.Error("it is served after the end")
			}
			client.Close()
		}
	}
	c.Node.HTTPModules = []string{"nonsense"}
	if _, err := l.serve(n, nil, nil, nil); err == nil {
		t.Error("a namespace that there is not is served")
	}
	shut(t, n)
}
