package freeport

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"
)

// listen listens on an address and shows that it is heard there.
func listen(t *testing.T, address string) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.DialTimeout("tcp", address, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	s.Close()
}

// An address can be listened on again and again, and nobody is there before, between, or after.
func TestAnAddressIsFreeForWhoIsToldOfIt(t *testing.T) {
	list, err := Addresses(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range list {
		if Port(a) == 0 || seen[a] {
			t.Errorf("%s has no port, or is there twice", a)
		}
		seen[a] = true
		for range 2 {
			if c, err := net.DialTimeout("tcp", a, 10*time.Second); err == nil {
				c.Close()
				t.Errorf("somebody listens on %s", a)
			}
			listen(t, a)
		}
	}
	if Port("nonsense") != 0 {
		t.Error("nonsense has a port")
	}
}

// The kernel gives an address to nobody else, to listen or to connect from, though nothing
// listens on it yet; another process that is told of it listens.
func TestAnAddressIsGivenToNobodyElse(t *testing.T) {
	const other = "TARN_LOOPBACK_LISTEN"
	if address := os.Getenv(other); address != "" {
		listen(t, address)
		return
	}
	list, err := Addresses(300)
	if err != nil {
		t.Fatal(err)
	}
	ours := map[string]bool{}
	for _, a := range list {
		ours[a] = true
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for range 3000 {
		kernels, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		c, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if at, from := kernels.Addr().String(), c.LocalAddr().String(); ours[at] || ours[from] {
			t.Fatal(fmt.Sprint("the kernel gave away ", at, " or ", from))
		}
		kernels.Close()
		c.Close()
	}
	child := exec.Command(os.Args[0], "-test.run=^TestAnAddressIsGivenToNobodyElse$")
	child.Env = append(os.Environ(), other+"="+list[0])
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Addresses in a row are free until the test ends, and nobody else gets them.
func TestARowOfAddressesIsFree(t *testing.T) {
	first := Row(t, 3)
	for i := range 3 {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(Port(first)+i)))
		if err != nil {
			t.Fatal(err)
		}
		l.Close()
	}
	if second := Row(t, 3); Port(second)+2 >= Port(first) && Port(second) <= Port(first)+2 {
		t.Errorf("%s is given beside %s", second, first)
	}
}
