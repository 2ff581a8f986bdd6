package shiplog

import (
	"errors"
	"fmt"

	"tarn/antelope/types"
)

// Clear takes back all entries, those in retained files too: the log is as one that was just made
// (Spring: log_catalog::clear). What is in an archive is the operator's. It is durable when Clear
// returns; a crash within it leaves some of the entries, the newest among them.
func (l *Log) Clear() error {
	if l.failed != nil {
		return l.failed
	}
	first, end := l.Range()
	if first == end {
		return nil
	}
	l.o.Logger.Info(fmt.Sprintf("removed all %d blocks from %s.log", end-first, l.o.Name))
	if err := l.clear(); err != nil {
		return l.fail(fmt.Errorf("take back all blocks of %s: %w", l.o.logPath(), err))
	}
	return nil
}

func (l *Log) clear() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.setMark(mark{}); err != nil { // nothing is promised any more
		return err
	}
	for l.parts.Len() > 0 { // oldest first: what a crash leaves has no gap
		if err := l.parts.Remove(l.parts.Oldest()); err != nil {
			return err
		}
	}
	f := l.live
	l.cuts++
	f.base, f.first, f.end, f.size, f.pruned = 0, 0, 0, 0, l.o.Retain > 0
	l.last = types.Checksum256{}
	return errors.Join(f.log.Truncate(0), f.index.Truncate(0), f.log.Sync(), f.index.Sync())
}
