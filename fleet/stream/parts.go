package stream

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"

	"tarn/fleet"
)

// A snapshot is kept in parts of this many bytes, but for the last. A server refuses what comes faster than it can
// write, from 128 MiB on, and one object has to come within a time: both are far away for a part.
const partBytes = 16 << 20

// How long a part may take in one try, and in all of them. A server that is started again, or another one of its
// cluster, goes on within that time.
const (
	partTime  = 20 * time.Second
	partsTime = 2 * time.Minute
)

func partName(object string, i int) string { return object + "/" + strconv.Itoa(i) }

// partWriter writes the parts of a snapshot.
type partWriter struct {
	ctx    context.Context
	store  snapshotStore
	object string
	bytes  uint64 // so far, of all parts
	parts  int
	buf    []byte // of the next one
}

// Write returns when all parts that it fills are with the servers.
func (w *partWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		k := min(len(p), partBytes-len(w.buf))
		w.buf, p, n = append(w.buf, p[:k]...), p[k:], n+k
		if len(w.buf) < partBytes {
			continue
		}
		if err := w.flush(); err != nil {
			return n, err
		}
	}
	return n, nil
}

// flush writes what is left as the last part.
func (w *partWriter) flush() error {
	if len(w.buf) == 0 {
		return nil
	}
	name := partName(w.object, w.parts)
	err := tryPart(w.ctx, func(ctx context.Context) error { return w.store.put(ctx, name, w.buf) })
	if err != nil {
		return fmt.Errorf("write part %s: %w", name, err)
	}
	w.bytes += uint64(len(w.buf))
	w.parts++
	w.buf = w.buf[:0]
	return nil
}

// partReader reads parts, one ahead.
type partReader struct {
	ctx    context.Context
	cancel context.CancelFunc
	store  snapshotStore
	object string
	next   int // what is on its way
	parts  int
	bytes  uint64 // of all parts
	coming chan part
	buf    []byte // the rest of the one that has come
}

type part struct {
	data []byte
	err  error
}

// readParts begins to read. Who calls it closes the reader.
func readParts(ctx context.Context, store snapshotStore, object string, parts int, bytes uint64) *partReader {
	r := &partReader{store: store, object: object, parts: parts, bytes: bytes, coming: make(chan part, 1)}
	r.ctx, r.cancel = context.WithCancel(ctx)
	r.ask()
	return r
}

// close lets what is on its way end by itself.
func (r *partReader) close() { r.cancel() }

func (r *partReader) ask() {
	if r.next == r.parts {
		close(r.coming)
		return
	}
	name, want := partName(r.object, r.next), uint64(partBytes)
	if r.next == r.parts-1 {
		want = r.bytes - uint64(r.next)*partBytes
	}
	go func() {
		var p part
		p.err = tryPart(r.ctx, func(ctx context.Context) (err error) {
			p.data, err = r.store.get(ctx, name)
			if n := len(p.data); err == nil && uint64(n) != want { // of a copy that is being made, it may come
				err = fmt.Errorf("it has %d bytes, not %d", n, want)
			}
			return err
		})
		if p.err != nil {
			p.err = fmt.Errorf("%w: part %s: %w", ErrInterrupted, name, p.err)
		}
		r.coming <- p
	}()
}

// Read waits for the next bytes, for as long as the tries of one part take.
func (r *partReader) Read(b []byte) (int, error) {
	for len(r.buf) == 0 {
		select {
		case <-r.ctx.Done():
			return 0, context.Cause(r.ctx)
		case p, ok := <-r.coming:
			if !ok {
				return 0, io.EOF
			}
			if p.err != nil {
				r.coming <- p // so is each later read answered
				return 0, p.err
			}
			r.buf = p.data
			r.next++
			r.ask()
		}
	}
	n := copy(b, r.buf)
	r.buf = r.buf[n:]
	return n, nil
}

// announcedParts are the parts of a snapshot that was announced. One that is not there is not gone as long as the snapshot
// is announced: a server whose copy is behind has answered.
type announcedParts struct {
	snapshotStore
	rooms  *rooms
	object string
}

func (a announcedParts) get(ctx context.Context, name string) ([]byte, error) {
	part, err := a.snapshotStore.get(ctx, name)
	if errors.Is(err, errPartGone) && a.rooms.announces(ctx, a.object) {
		err = errors.New("the snapshot is announced, and a server has not got the part")
	}
	return part, err
}

// ErrInterrupted says that a snapshot could not be read to its end. What was made of it is of no use; who begins again
// finds the newest one.
var ErrInterrupted = errors.New("a snapshot could not be read to its end")

// tryPart tries to move a part, again and again where servers come and go.
func tryPart(ctx context.Context, try func(context.Context) error) error {
	for begun := time.Now(); ; pause(ctx, retryAfter) {
		once, cancel := context.WithTimeout(ctx, partTime)
		err := try(once)
		cancel()
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, fleet.ErrDamaged):
			return err
		case hasNoRoom(err): // what has come already takes the room of the fleet's messages
			return fmt.Errorf("%w: %w", errNoRoom, err)
		case errors.Is(err, errPartGone):
			return fmt.Errorf("%w: newer snapshots have taken its place meanwhile", err)
		case time.Since(begun) > partsTime:
			return fmt.Errorf("for %v: %w", partsTime, err)
		}
	}
}
