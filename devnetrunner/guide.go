package devnetrunner

import (
	"net"
	"path/filepath"
	"strings"
)

// Fill puts what belongs to a chain into a text: {dir}, {http}, {p2p} and {tarn}; {second} is the
// folder of another node, {page} a line about the page and {log} a sentence about the log, if
// there are such. more has further names, each followed by what stands for it.
func (o *Options) Fill(text string, more ...string) string {
	page, log := "", ""
	if o.Page != "" {
		page = "Live page (disk, memory, processor): http://" + Reachable(o.Page) + "/\n"
	}
	if o.Log == nil {
		log = "The node's log is " + o.at(LogFile) + ". "
	}
	return strings.NewReplacer(append(more,
		"{dir}", o.Dir, "{second}", o.at("second"), "{http}", Reachable(o.HTTP), "{p2p}", Reachable(o.P2P),
		"{tarn}", o.Tarn,
		"{page}\n", page, "{log}", log,
	)...).Replace(text)
}

func (o *Options) at(name string) string { return filepath.Join(o.Dir, name) }

// Reachable is where a client of this machine finds what listens to all addresses.
func Reachable(address string) string {
	host, port, err := net.SplitHostPort(address)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("127.0.0.1", port)
	}
	return address
}
