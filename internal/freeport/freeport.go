// Package freeport finds addresses of this machine for processes that must be told where to
// listen. The kernel chooses them, and none is given back before this process ends: a socket
// of this process stays bound to each. Nobody is given such an address by the kernel, to
// listen or to connect from; whoever is told of it listens there beside that socket, which
// does not, as often as it wants. It is for tests and for what measures other programs.
package freeport

import (
	"fmt"
	"net"
	"strconv"

	"golang.org/x/sys/unix"
)

// Addresses are some on 127.0.0.1, each another, that nothing listens on. A program listens
// there if its socket has SO_REUSEADDR, as those of Go, nodeos and most others. TCP's are
// meant: of UDP the port of the same number may be taken.
func Addresses(n int) ([]string, error) {
	list := make([]string, 0, n)
	for range n {
		address, err := reserve(0)
		if err != nil {
			return nil, fmt.Errorf("find a free port: %w", err)
		}
		list = append(list, address)
	}
	return list, nil
}

// reserve binds a socket to a port, or to one of the kernel's choice if it is 0, and leaves it open: it ends with
// the process. Linux gives an address to a second socket if both allow it, the first does not
// listen, and the second names the address.
func reserve(port int) (string, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return "", err
	}
	err = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1)
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}, Port: port})
	}
	var at unix.Sockaddr
	if err == nil {
		at, err = unix.Getsockname(fd)
	}
	if err != nil {
		unix.Close(fd)
		return "", err
	}
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(at.(*unix.SockaddrInet4).Port)), nil
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

// Row is an address whose port, and the n-1 after it, are like those of Addresses, for a test of a program that
// is told the first one.
func Row(t Test, n int) string {
	t.Helper()
	const tries = 100
	for range tries {
		first, err := reserve(0)
		if err != nil {
			t.Fatal(err)
		}
		port, free := Port(first), true
		for i := 1; i < n && free; i++ {
			if free = port+i < 1<<16; free {
				_, err = reserve(port + i)
				free = err == nil
			}
		}
		if free {
			return first
		}
	}
	t.Fatal("no free ports in a row")
	return ""
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
