package loopback

import (
	"errors"
	"net"
	"os"
	"os/exec"
	"testing"

	"golang.org/x/sys/unix"
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

// An address that was given is given to nobody else while its process lives, though nothing
// listens on it yet.
func TestAnAddressIsOneProcesss(t *testing.T) {
	const other = "TARN_LOOPBACK_CLAIM"
	if address := os.Getenv(other); address != "" {
		if err := claim(address); !errors.Is(err, unix.EADDRINUSE) {
			t.Errorf("another process has %s too: %v", address, err)
		}
		return
	}
	address := Address(t)
	if err := claim(address); !errors.Is(err, unix.EADDRINUSE) {
		t.Errorf("%s is given twice: %v", address, err)
	}
	child := exec.Command(os.Args[0], "-test.run=^TestAnAddressIsOneProcesss$")
	child.Env = append(os.Environ(), other+"="+address)
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
