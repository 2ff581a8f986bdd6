package sdnotify

import (
	"net"
	"path/filepath"
	"testing"
	"time"
)

func TestTheManagerHearsWhatItIsTold(t *testing.T) {
	path := filepath.Join(t.TempDir(), "notify")
	c, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: path, Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	m := Manager{Socket: path}
	for _, s := range []struct {
		tell func() error
		want string
	}{
		{m.Ready, "READY=1"},
		{m.Stopping, "STOPPING=1"},
		{func() error { return m.Status("replaying") }, "STATUS=replaying"},
		{func() error { return m.Extend(3 * time.Second) }, "EXTEND_TIMEOUT_USEC=3000000"},
	} {
		if err := s.tell(); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 100)
		n, err := c.Read(b)
		if err != nil || string(b[:n]) != s.want {
			t.Errorf("%q, want %s: %v", b[:n], s.want, err)
		}
	}
}

func TestNobodyIsTold(t *testing.T) {
	if err := (Manager{}).Ready(); err != nil {
		t.Error(err)
	}
	if err := (Manager{Socket: filepath.Join(t.TempDir(), "gone")}).Ready(); err == nil {
		t.Error("a manager that is not there has heard it")
	}
}
