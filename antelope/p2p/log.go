package p2p

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/types"
)

// logger adds a limit to what strangers can make it write.
type logger struct {
	*slog.Logger
	limit bucket
}

func newLogger(l *slog.Logger, lines Budget) *logger {
	return &logger{Logger: l, limit: lines.bucket()}
}

// logLimited logs a line that strangers cause.
func (l *logger) logLimited(level slog.Level, line string) {
	if l.Enabled(context.Background(), level) && l.limit.take(1) {
		l.Log(context.Background(), level, line)
	}
}

// bucket allows rate units a second on the average, and burst at once. It starts
// full. Any goroutine may use it.
type bucket struct {
	rate, burst float64

	mu   sync.Mutex
	used float64
	last time.Time
}

// take takes n units if there are as many.
func (b *bucket) take(n float64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.used = max(0, b.used-b.rate*now.Sub(b.last).Seconds())
	b.last = now
	if b.used+n > b.burst {
		return false
	}
	b.used += n
	return true
}

// spend takes n units, also if that makes a debt, and tells how long it takes until
// the debt is paid.
func (b *bucket) spend(n float64) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	b.used = max(0, b.used-b.rate*now.Sub(b.last).Seconds()) + n
	b.last = now
	if b.used <= b.burst {
		return 0
	}
	return time.Duration((b.used - b.burst) / b.rate * float64(time.Second))
}

// full tells whether not one unit can be taken now.
func (b *bucket) full() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used-b.rate*time.Since(b.last).Seconds()+1 > b.burst
}

// peerLog is the log about a peer, whose lines begin with who it is and are limited in number.
type peerLog struct {
	log    *logger
	format string // of the beginnings of lines: peer-log-format
	id     uint32 // of the connection

	remoteIP, remotePort, localIP, localPort string
	dialled                                  string // the address that was dialled; "" for an incoming connection

	lines  bucket
	unsaid atomic.Int64 // lines that were too many for the log

	mu       sync.Mutex
	label    string
	node     types.Checksum256
	agent    string // what the peer's program calls itself, its first characters
	protocol uint32 // that the peer speaks
}

// name is the address that the peer gave, or that was dialled.
func (p *peerLog) name() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.label
}

func (p *peerLog) peerID() types.Checksum256 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.node
}

func (p *peerLog) setName(label string) {
	p.mu.Lock()
	p.label = label
	p.mu.Unlock()
}

func (p *peerLog) setPeerID(node types.Checksum256) {
	p.mu.Lock()
	p.node = node
	p.mu.Unlock()
}

// agentShown is how much of what a peer's program calls itself a line shows.
const agentShown = 15

// setProgram notes what the peer's handshake says of its program. A quotation mark at the beginning is
// not shown (Spring: connection::handle_message of a handshake).
func (p *peerLog) setProgram(agent string, protocol uint32) {
	if len(agent) > 1 {
		agent = strings.TrimPrefix(agent, `"`)
	}
	agent = printable(agent[:min(len(agent), agentShown)])
	p.mu.Lock()
	p.agent, p.protocol = agent, protocol
	p.mu.Unlock()
}

// logf logs a line about the connection, with the prefix that the operator chose.
func (p *peerLog) logf(level slog.Level, format string, args ...any) {
	l := p.log
	if !l.Enabled(context.Background(), level) {
		return
	}
	if level > slog.LevelDebug && !p.lines.take(1) {
		p.unsaid.Add(1)
		return
	}
	l.Log(context.Background(), level, p.prefix()+fmt.Sprintf(format, args...))
}

// finalf logs why the connection ends, however much was logged before.
func (p *peerLog) finalf(level slog.Level, format string, args ...any) {
	if n := p.unsaid.Swap(0); n > 0 {
		format += fmt.Sprintf(" (%d lines about this peer were left out)", n)
	}
	if l := p.log; l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, p.prefix()+fmt.Sprintf(format, args...))
	}
}

// debugging tells whether debugf writes, for where even its arguments cost.
func (p *peerLog) debugging() bool { return p.log.Enabled(context.Background(), slog.LevelDebug) }

func (p *peerLog) debugf(format string, args ...any) { p.logf(slog.LevelDebug, format, args...) }
func (p *peerLog) infof(format string, args ...any)  { p.logf(slog.LevelInfo, format, args...) }
func (p *peerLog) warnf(format string, args ...any)  { p.logf(slog.LevelWarn, format, args...) }
func (p *peerLog) errorf(format string, args ...any) { p.logf(slog.LevelError, format, args...) }

// prefix fills peer-log-format.
func (p *peerLog) prefix() string {
	var b strings.Builder
	rest := p.format
	for {
		before, after, found := strings.Cut(rest, "${")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		name, tail, closed := strings.Cut(after, "}")
		if !closed {
			b.WriteString("${" + after)
			return b.String()
		}
		b.WriteString(p.logValue(name))
		rest = tail
	}
}

func (p *peerLog) logValue(name string) string {
	switch name {
	case "_peer":
		if p.dialled != "" {
			return p.dialled
		}
		return p.name()
	case "_name":
		return p.name()
	case "_cid":
		return strconv.FormatUint(uint64(p.id), 10)
	case "_id":
		return p.peerID().String()
	case "_sid":
		return p.peerID().String()[:7]
	case "_ip":
		return p.remoteIP
	case "_port":
		return p.remotePort
	case "_lip":
		return p.localIP
	case "_lport":
		return p.localPort
	case "_agent", "_nver":
		p.mu.Lock()
		defer p.mu.Unlock()
		if name == "_agent" {
			return p.agent
		}
		return strconv.FormatUint(uint64(p.protocol), 10)
	}
	return "${" + name + "}"
}

// printable is a text of a peer as it may stand in the log.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r < 0x20 || r == 0x7f || r == '\ufffd' || r >= 0x80 && r < 0xa0 {
			return '?'
		}
		return r
	}, s)
}
