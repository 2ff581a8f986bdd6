package closelistener

import (
	"net"
	"testing"
)

// A copy of the descriptor is what a process that was just started has.
func TestAnAddressIsFreeAlthoughACopyIsOpen(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	held, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer held.Close()
	waits := make(chan error, 1)
	go func() {
		_, err := l.Accept()
		waits <- err
	}()
	if err := Close(l); err != nil {
		t.Error(err)
	}
	if err := <-waits; err == nil {
		t.Error("a connection is accepted")
	}
	again, err := net.Listen("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
	if err := Close(l); err == nil {
		t.Error("it was not closed before")
	}
}
