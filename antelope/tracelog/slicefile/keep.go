package slicefile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"tarn/antelope/tracelog/clog"
	"tarn/store/vfs"
)

// seekStride is the distance of the points from which a compressed slice is read, in
// bytes. nodeos has 6 MiB, which takes it tens of milliseconds a block; points as close
// as this make files some thousandths larger.
const seekStride = 256 << 10

// Remove removes a slice, which is settled.
func (l *Log) Remove(number uint32) error { return l.removeFiles(number) }

// Settled tells whether a slice is never appended to again: its blocks are irreversible,
// and durable. It may be called from anywhere, beside a Sync.
func (l *Log) Settled(number uint32) bool {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return number < l.settled
}

// Compress compresses the traces of a slice, which is settled, and then removes them as
// they were. It does nothing where there are none. One goroutine at a time calls it,
// beside the one that appends; it ends early when ctx does.
func (l *Log) Compress(ctx context.Context, number uint32) error {
	from, to := l.path(tracesPrefix, number, logSuffix), l.path(tracesPrefix, number, clogSuffix)
	var size int64
	gone, err := l.use(from, func(f vfs.File, plain int64) (err error) {
		if plain == 0 {
			return nil
		}
		size, err = l.compress(ctx, f, plain, to+vfs.NewSuffix)
		return err
	})
	if gone || err == nil && size == 0 {
		return nil
	}
	if err == nil {
		err = vfs.RenameDurably(l.fs, to+vfs.NewSuffix, to)
	}
	if err == nil {
		if err = l.fs.Remove(from); errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
	}
	if err != nil {
		return fmt.Errorf("compress %s: %w", from, err)
	}
	l.mu.Lock()
	l.stats.Compressed += uint64(size)
	l.mu.Unlock()
	return nil
}

func (d *directory) compress(ctx context.Context, from vfs.File, plain int64, path string) (size int64, err error) {
	out, err := d.fs.Create(path)
	if err != nil {
		return 0, err
	}
	w := &appender{f: out}
	err = clog.Compress(w, &until{ctx, io.NewSectionReader(from, 0, plain)}, plain, clog.Stride(seekStride, plain))
	if err == nil {
		err = out.Sync()
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return 0, errors.Join(err, d.fs.Remove(path))
	}
	return w.at, nil
}

// until reads as long as a context lasts.
type until struct {
	ctx context.Context
	r   io.Reader
}

func (u *until) Read(b []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}

// appender writes to the end of a file.
type appender struct {
	f  vfs.File
	at int64
}

func (a *appender) Write(b []byte) (int, error) {
	n, err := a.f.WriteAt(b, a.at)
	a.at += int64(n)
	return n, err
}
