package badger

import (
	"errors"
	"expvar"
	"fmt"
	"strings"
	"sync"

	"tarn/store/lsm"
)

// logger keeps the library quiet, and the last thing that it called an error: it
// goes on after many of them.
type logger struct {
	mu   sync.Mutex
	last error
}

func (l *logger) Errorf(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.last = errors.New(strings.TrimSpace(fmt.Sprintf(format, args...)))
}

func (l *logger) Warningf(string, ...any) {}
func (l *logger) Infof(string, ...any)    {}
func (l *logger) Debugf(string, ...any)   {}

// failure is the last error that the library has logged.
func (l *logger) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Metrics implements lsm.Base. The library counts memtables by what was put into
// them, which is also about what went into the log.
func (b *Base) Metrics() lsm.Metrics {
	m := sharedMetrics()
	m.Log -= b.before.Log
	m.Flush -= b.before.Flush
	m.Compaction -= b.before.Compaction
	m.Size = b.folder.Size()
	m.Memory = memtables * b.options.MemTableSize
	if c := b.db.BlockCacheMetrics(); c != nil {
		m.Memory += int64(c.CostAdded() - c.CostEvicted())
	}
	return m
}

// sharedMetrics reads the library's counters, which are one set for the process.
func sharedMetrics() lsm.Metrics {
	number := func(name string) int64 {
		if v, ok := expvar.Get("badger_" + name).(*expvar.Int); ok {
			return v.Value()
		}
		return 0
	}
	m := lsm.Metrics{
		Log:   number("write_bytes_l0") + number("write_bytes_vlog"),
		Flush: number("write_bytes_l0"),
	}
	if levels, ok := expvar.Get("badger_write_bytes_compaction").(*expvar.Map); ok {
		levels.Do(func(kv expvar.KeyValue) {
			if n, ok := kv.Value.(*expvar.Int); ok {
				m.Compaction += n.Value()
			}
		})
	}
	return m
}
