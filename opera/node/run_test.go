package node

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/internal/web3js"
)

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
		if err := socket.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
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
	if out := tarn(t, t.TempDir(), "license"); !strings.HasPrefix(out, "Tarn is licensed under") || !strings.HasSuffix(out, web3js.Licence()) {
		t.Errorf("%s", out)
	}
}
