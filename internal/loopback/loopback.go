// Package loopback finds addresses of this machine for processes that must be told where to
// listen. What it has given to a process it gives to no other until that one ends; somebody
// who does not ask it may take an address before the process listens, which it makes unlikely.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// The ports are below those that Linux gives to connections and to whoever asks for any
// (net.ipv4.ip_local_port_range begins with 32768 unless somebody changes it): such a one is
// often taken again before the process that was told of it listens.
const (
	lowest = 12000
	most   = 20000 // ports from there on
)

// Addresses are some on 127.0.0.1, each another, that nothing listens on now and that stay
// this process's until it ends: tests of many packages ask at once, and listen later.
func Addresses(n int) ([]string, error) {
	var list []string
	for range 100 * (n + 1) {
		if len(list) == n {
			return list, nil
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(most)))
		err := free(address)
		if err == nil {
			err = claim(address)
		}
		if errors.Is(err, unix.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		list = append(list, address)
	}
	return nil, fmt.Errorf("find %d free ports from %d to %d: nearly all are in use", n, lowest, lowest+most-1)
}

// free says with EADDRINUSE that something listens on an address.
func free(address string) error {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	return l.Close()
}

// claim keeps an address for this process, with EADDRINUSE if one has it. The claim is a
// socket of the abstract name space of Linux, which has no file and ends with its process;
// its descriptor is therefore never closed here.
func claim(address string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("claim %s: %w", address, err)
	}
	if err := unix.Bind(fd, &unix.SockaddrUnix{Name: "@tarn-loopback/" + address}); err != nil {
		unix.Close(fd)
		return fmt.Errorf("claim %s: %w", address, err)
	}
	return nil
}

// Test is what a test is to Address.
type Test interface {
	// Helper has a failure named for the line that called Address.
	Helper()
	// Fatal ends the test, and does not return.
	Fatal(...any)
}

// Address is one of Addresses, for a test.
func Address(t Test) string {
	t.Helper()
	list, err := Addresses(1)
	if err != nil {
		t.Fatal(err)
	}
	return list[0]
}

// Port is the port of an address; 0 if it has none.
func Port(address string) int {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return 0
	}
	n, _ := strconv.Atoi(port)
	return n
}
