package node

import (
	"context"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"tarn/internal/web3js"
	"tarn/opera/config"
	"tarn/opera/rpc"
)

// Go's scheduler has processors to spare while a node serves, unless an operator said how many.
func TestProcessorsAreSpareWhileANodeServes(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0)) // what the whole test program was given
	t.Setenv("GOMAXPROCS", "")
	runtime.SetDefaultGOMAXPROCS()
	usual := runtime.GOMAXPROCS(0)
	serving := func() (seen int) {
		c := &config.Config{}
		c.Node.DataDir, c.Run.Fakenet.Validators = t.TempDir(), 1
		l := &invocation{out: io.Discard, err: io.Discard, services: *newServices(c, slog.DiscardHandler)}
		err := l.running(t.Context(), func(context.Context, *rpc.Service) error {
			seen = runtime.GOMAXPROCS(0)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return seen
	}
	if seen := serving(); seen != usual+spare {
		t.Errorf("%d processors while it serves, want %d", seen, usual+spare)
	}
	if after := runtime.GOMAXPROCS(0); after != usual {
		t.Errorf("%d processors after it, want %d", after, usual)
	}
	t.Setenv("GOMAXPROCS", "1")
	if seen := serving(); seen != usual {
		t.Errorf("%d processors, which an operator asked not to change, want %d", seen, usual)
	}
}

// The service manager is told when the node serves, and when it has begun to stop.
func TestTheServiceManagerIsTold(t *testing.T) {
	short, err := os.MkdirTemp("/tmp", "node")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(short)
	at := filepath.Join(short, "notify")
	socket, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: at, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	t.Setenv("NOTIFY_SOCKET", at)
	tarn(t, t.TempDir(), "--fakenet", "0/1", "--maxpeers", "0", "--ipcdisable", "--exitwhensynced.epoch", "2")
	for _, want := range []string{"READY=1", "STATUS=serving", "STOPPING=1"} {
		if err := socket.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		n, err := socket.Read(b)
		if err != nil || string(b[:n]) != want {
			t.Errorf("%q, %v, want %s", b[:n], err, want)
		}
	}
}

// web3.js is in the program, so its notice must come with it.
func TestTheLicenceOfTheConsolesLibraryIsShown(t *testing.T) {
	if out := tarn(t, t.TempDir(), "license"); !strings.HasPrefix(out, "Tarn is licensed under") ||
		!strings.HasSuffix(out, web3js.Licence()) {
		t.Errorf("%s", out)
	}
}
