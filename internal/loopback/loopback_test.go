package loopback

import (
	"net"
	"testing"
)

func TestAddressesCanBeListenedOnAndAreOutOfTheKernelsRange(t *testing.T) {
	list, err := Addresses(50)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, a := range list {
		if p := Port(a); p < lowest || p >= 32768 || seen[a] {
			t.Errorf("%s is twice there, or in a range of the kernel's", a)
		}
		seen[a] = true
		l, err := net.Listen("tcp", a)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
	}
	if Port("nonsense") != 0 {
		t.Error("nonsense has a port")
	}
}
