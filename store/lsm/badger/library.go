package badger

import (
	"errors"
	"expvar"
	"fmt"
	"path/filepath"
	"strings"
	"sync"

	"github.com/dgraph-io/badger/v4"

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

// failed is the last error that the library has logged.
func (l *logger) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// collect lets the library rewrite value files that are half garbage, beside
// other work.
func (b *Base) collect() {
	if files, err := filepath.Glob(filepath.Join(b.site.Path(), "*.vlog")); err != nil || len(files) < 2 {
		return
	}
	b.collector.Go(func() {
		// The library deletes the old file at once, although what replaces it is
		// not durable; but not while there is an iterator.
		txn := b.db.NewTransactionAt(0, false)
		it := txn.NewIterator(badger.IteratorOptions{Prefix: markerKey})
		err := b.db.RunValueLogGC(0.5)
		if err == nil {
			err = b.sync()
		}
		if err != nil && !errors.Is(err, badger.ErrNoRewrite) && !errors.Is(err, badger.ErrRejected) {
			b.fail(err) //nolint:errcheck // the next batch tells
			return      // the old file stays
		}
		b.values.Lock()
		defer b.values.Unlock()
		it.Close()
		txn.Discard()
	})
}

// Metrics implements lsm.Base. The library counts memtables by what was put into
// them, which is also about what went into the log.
func (b *Base) Metrics() lsm.Metrics {
	m := shared()
	m.Log -= b.before.Log
	m.Flush -= b.before.Flush
	m.Compaction -= b.before.Compaction
	m.Size = b.site.Size()
	m.Memory = memtables * b.options.MemTableSize
	if c := b.db.BlockCacheMetrics(); c != nil {
		m.Memory += int64(c.CostAdded() - c.CostEvicted())
	}
	return m
}

// shared reads the library's counters, which are one set for the process.
func shared() lsm.Metrics {
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
