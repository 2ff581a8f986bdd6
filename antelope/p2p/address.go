package p2p

import (
	"math"
	"strconv"
	"strings"

	"tarn/antelope/admintypes"
)

// Traffic is what goes over a connection.
type Traffic uint32

// The kinds of traffic, as the end of an address says: none, ":trx", ":blk".
const (
	Both Traffic = iota
	TransactionsOnly
	BlocksOnly
)

// splitPeer splits host:port[:trx|:blk], where the host may stand in brackets.
// What follows the last part, as in the addresses of handshakes, is ignored (Leap:
// split_host_port_type).
func splitPeer(s string) (host, port, kind string, ok bool) {
	rest := s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return "", "", "", false
		}
		host, rest = s[1:end], s[end+1:]
	}
	before, after, found := strings.Cut(rest, ":")
	if host == "" {
		host = before
	}
	if !found || host == "" {
		return "", "", "", false
	}
	port, kind, _ = strings.Cut(after, ":")
	port, _, _ = strings.Cut(port, " ")
	if i := strings.IndexAny(kind, " :+=.,<>!$%^&(*)|-#@\t"); i >= 0 {
		kind = kind[:i]
	}
	return host, port, kind, port != ""
}

// String is how an address ends that asks for it.
func (t Traffic) String() string { return [...]string{"", ":trx", ":blk"}[t] }

// trafficOf reads the end of an address. known is false for one that is no kind.
func trafficOf(kind string) (t Traffic, known bool) {
	switch kind {
	case "":
		return Both, true
	case "trx":
		return TransactionsOnly, true
	case "blk":
		return BlocksOnly, true
	}
	return Both, false
}

// Listener is an address to listen on.
type Listener struct {
	Address string  // host:port
	Rate    uint64  // bytes a second of blocks for a peer that catches up; 0 is no limit
	Traffic Traffic // what those who connect are asked to send
}

// ParseListener reads host:port[:trx|:blk][:rate], where an IPv6 host stands in brackets and
// the rate is a number with an optional unit such as "KB/s" or "MiB/s" (Leap and Spring:
// net_utils.hpp).
func ParseListener(s string) (Listener, error) {
	host := strings.IndexByte(s, ']') + 1
	words := strings.Split(s[host:], ":")
	if len(words) < 2 {
		return Listener{Address: s}, nil
	}
	l := Listener{Address: s[:host] + words[0] + ":" + words[1]}
	more := words[2:]
	if len(more) > 0 && more[0] != "" {
		if t, known := trafficOf(more[0]); known {
			l.Traffic, more = t, more[1:]
		}
	}
	switch {
	case len(more) == 0:
		return l, nil
	case len(more) == 1:
		rate, err := parseRate(more[0])
		l.Rate = rate
		return l, err
	case host > 0:
		return Listener{}, admintypes.NewBadOption("Invalid address specification %s; unexpected number of colons.", s)
	}
	return Listener{}, admintypes.NewBadOption("Invalid address specification %s; IPv6 addresses must be enclosed in "+
		"square brackets.", s)
}

// parseRate reads a number of bytes a second. nodeos takes a number without a unit
// for no limit, against its own help text; here it is bytes, as the text says.
func parseRate(s string) (uint64, error) {
	s = strings.TrimSpace(s)
	end := strings.IndexFunc(s, func(c rune) bool { return !strings.ContainsRune("0123456789.+-eE", c) })
	if end < 0 {
		end = len(s)
	}
	number, unit := s[:end], strings.TrimSpace(s[end:])
	v, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return 0, admintypes.NewBadOption("invalid block sync rate limit specification: %s", s)
	}
	if v < 0 {
		return 0, admintypes.NewBadOption("block sync rate limit must not be negative: %s", s)
	}
	factor, ok := unitFactor(unit)
	if !ok {
		return 0, admintypes.NewBadOption("invalid block sync rate limit specification: %s", unit)
	}
	if v *= factor; !(v < math.MaxUint64) {
		return 0, admintypes.NewBadOption("block sync rate limit specification overflowed: %s", s)
	}
	return uint64(v), nil
}

func unitFactor(unit string) (factor float64, ok bool) {
	if unit == "" {
		return 1, true
	}
	prefix, ok := strings.CutSuffix(unit, "B/s")
	if !ok {
		return 0, false
	}
	base := 1000.0
	if p, binary := strings.CutSuffix(prefix, "i"); binary && p != "" {
		prefix, base = p, 1024
	}
	power := strings.Index("KMGT", prefix)
	switch {
	case prefix == "":
		return 1, true
	case len(prefix) != 1 || power < 0:
		return 0, false
	}
	return math.Pow(base, float64(power+1)), true
}
