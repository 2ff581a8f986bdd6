package p2p

import (
	"context"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Lines a second that one peer, and that all newcomers together, may cause.
const (
	logRate  = 20
	logBurst = 60
)

// logger adds a limit to what strangers can make it write.
type logger struct {
	*slog.Logger
	limit bucket
}

func newLogger(l *slog.Logger) *logger {
	return &logger{Logger: l, limit: bucket{rate: logRate, burst: logBurst}}
}

// limited logs a line that strangers cause.
func (l *logger) limited(level slog.Level, line string) {
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

// logf logs a line about the connection, with the prefix that the operator chose.
func (c *conn) logf(level slog.Level, format string, args ...any) {
	l := c.net.log
	if !l.Enabled(context.Background(), level) {
		return
	}
	if level > slog.LevelDebug && !c.lines.take(1) {
		c.unsaid.Add(1)
		return
	}
	l.Log(context.Background(), level, c.prefix()+fmt.Sprintf(format, args...))
}

// finalf logs why the connection ends, however much was logged before.
func (c *conn) finalf(level slog.Level, format string, args ...any) {
	if n := c.unsaid.Swap(0); n > 0 {
		format += fmt.Sprintf(" (%d lines about this peer were left out)", n)
	}
	if l := c.net.log; l.Enabled(context.Background(), level) {
		l.Log(context.Background(), level, c.prefix()+fmt.Sprintf(format, args...))
	}
}

// debugging tells whether debugf writes, for where even its arguments cost.
func (c *conn) debugging() bool { return c.net.log.Enabled(context.Background(), slog.LevelDebug) }

func (c *conn) debugf(format string, args ...any) { c.logf(slog.LevelDebug, format, args...) }
func (c *conn) infof(format string, args ...any)  { c.logf(slog.LevelInfo, format, args...) }
func (c *conn) warnf(format string, args ...any)  { c.logf(slog.LevelWarn, format, args...) }
func (c *conn) errorf(format string, args ...any) { c.logf(slog.LevelError, format, args...) }

// prefix fills peer-log-format.
func (c *conn) prefix() string {
	var b strings.Builder
	rest := c.net.config.PeerLogFormat
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
		b.WriteString(c.logValue(name))
		rest = tail
	}
}

func (c *conn) logValue(name string) string {
	switch name {
	case "_name":
		return c.name()
	case "_cid":
		return strconv.FormatUint(uint64(c.id), 10)
	case "_id":
		return c.peerID().String()
	case "_sid":
		return c.peerID().String()[:7]
	case "_ip":
		return c.remoteIP
	case "_port":
		return c.remotePort
	case "_lip":
		return c.localIP
	case "_lport":
		return c.localPort
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
