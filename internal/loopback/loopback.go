// Package loopback finds addresses of this machine for processes that must be told where to
// listen. It keeps nothing: between its answer and their listening somebody else may take an
// address, which it makes unlikely.
package loopback

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"syscall"
)

// The ports are below those that Linux gives to connections and to whoever asks for any
// (net.ipv4.ip_local_port_range begins with 32768 unless somebody changes it): such a one is
// often taken again before the process that was told of it listens.
const (
	lowest = 12000
	most   = 20000 // ports from there on
)

// Addresses are some on 127.0.0.1, each another, that nothing listens on now.
func Addresses(n int) ([]string, error) {
	var list []string
	for range 100 * (n + 1) {
		if len(list) == n {
			return list, nil
		}
		address := net.JoinHostPort("127.0.0.1", strconv.Itoa(lowest+rand.IntN(most)))
		l, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRINUSE) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		defer l.Close() // held until all are found, so that none is found twice
		list = append(list, address)
	}
	return nil, fmt.Errorf("find %d free ports from %d to %d: nearly all are in use", n, lowest, lowest+most-1)
}

// Test is what a test is to Address.
type Test interface {
	Helper()
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
