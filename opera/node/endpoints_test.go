package node

import (
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/internal/freeport"
	"tarn/opera/config"
)

// HTTP and WebSocket begin and end while the node runs, each for itself, at one address or
// at two.
func TestAddressesAreOpenedAndClosedWhileTheNodeRuns(t *testing.T) {
	dir := t.TempDir()
	n := open(t, options(dir, io.Discard))
	importEvents(t, n)
	short, err := os.MkdirTemp("/tmp", "node")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	c := &config.Config{}
	c.Node.DataDir, c.Node.IPCPath = dir, filepath.Join(short, "ipc")
	c.Node.HTTPModules, c.Node.WSModules = []string{"eth"}, []string{"eth"}
	l := newServices(c, slog.DiscardHandler)
	r, err := l.serve(n, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, err := rpc.Dial(c.Node.IPCPath)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	call := func(want string, method string, args ...any) {
		t.Helper()
		var done bool
		err := client.Call(&done, method, args...)
		if want == "" && (err != nil || !done) || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v, want %q", method, err, want)
		}
	}
	answers := func(url string) bool {
		c, err := rpc.Dial(url)
		if err != nil {
			return false
		}
		defer c.Close()
		var head hexutil.Uint64
		return c.Call(&head, "eth_blockNumber") == nil && head > 0
	}
	first, second := freeport.Address(t), freeport.Address(t)
	// What ends does so a moment after the word that it shall, on a busy machine.
	see := func(http, ws bool, at string) {
		t.Helper()
		for url, want := range map[string]bool{"http://" + at: http, "ws://" + at: ws} {
			if want && !answers(url) {
				t.Errorf("%s does not answer", url)
			} else if !want {
				until(t, url+" answers still", func() bool { return !answers(url) })
			}
		}
	}
	call("", "admin_startHTTP", "127.0.0.1", freeport.Port(first))
	see(true, false, first)
	call("JSON-RPC over HTTP is already enabled", "admin_startHTTP", "127.0.0.1", freeport.Port(first))
	call("HTTP server already running on "+first, "admin_startHTTP", "127.0.0.1", freeport.Port(second))
	call("", "admin_startWS", "127.0.0.1", freeport.Port(first))
	see(true, true, first)
	call("", "admin_stopHTTP")
	see(false, true, first)
	call("", "admin_startHTTP", "127.0.0.1", freeport.Port(second), "*", "net,eth")
	see(true, false, second)
	call("", "admin_stopWS")
	see(false, false, first)
	call("there is no namespace", "admin_startWS", "127.0.0.1", freeport.Port(first), "*", "nonsense")
	see(false, false, first)
	see(true, false, second)
	// Who asks by what ends gets the answer.
	call("", "admin_stopHTTP")
	see(false, false, second)
	call("", "admin_startHTTP", "127.0.0.1", freeport.Port(second), "", "admin")
	http.DefaultClient.CloseIdleConnections() // of what was served there before
	body, err := http.Post("http://"+second,
		"application/json", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"admin_stopHTTP"}`))
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(body.Body); err != nil || !strings.Contains(string(text), `"result":true`) {
		t.Errorf("%s, %v", text, err)
	}
	body.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	until(t, "it is served after the end", func() bool {
		conn, err := net.Dial("tcp", second)
		if err == nil {
			conn.Close()
		}
		return err != nil
	})
	var busy net.Listener
	until(t, "the first address is in use", func() bool {
		busy, err = net.Listen("tcp", first)
		return err == nil
	})
	call("address already in use", "admin_startHTTP", "127.0.0.1", freeport.Port(first))
	call("", "admin_startHTTP", "127.0.0.1", freeport.Port(second))
	if err := errors.Join(busy.Close(), r.close()); err != nil {
		t.Fatal(err)
	}
	see(false, false, net.JoinHostPort("127.0.0.1", strconv.Itoa(freeport.Port(second))))
	shut(t, n)
}
