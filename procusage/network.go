package procusage

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Network is what went through the interfaces of the network that a process is in, but for
// the loopback, in bytes. The kernel does not count it by process.
type Network struct {
	In, Out int64
	Own     bool // the network is not the one that this program is in
}

// ReadNetwork reads the counters of a process's network.
func ReadNetwork(pid int) (Network, error) {
	name := fmt.Sprintf("/proc/%d/net/dev", pid)
	f, err := os.Open(name)
	if err != nil {
		return Network{}, fmt.Errorf("read the network of a process: %w", err)
	}
	defer f.Close()
	var n Network
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		device, numbers, ok := strings.Cut(lines.Text(), ":")
		f := strings.Fields(numbers)
		if !ok || len(f) < 9 || strings.TrimSpace(device) == "lo" {
			continue
		}
		in, ierr := strconv.ParseInt(f[0], 10, 64)
		out, oerr := strconv.ParseInt(f[8], 10, 64)
		if ierr != nil || oerr != nil {
			return Network{}, fmt.Errorf("read the network of a process: %s: %q", name, lines.Text())
		}
		n.In, n.Out = n.In+in, n.Out+out
	}
	if err := lines.Err(); err != nil {
		return Network{}, fmt.Errorf("read the network of a process: %w", err)
	}
	its, ierr := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", pid))
	ours, oerr := os.Readlink("/proc/self/ns/net")
	n.Own = ierr == nil && oerr == nil && its != ours
	return n, nil
}
