package blocklog

import (
	"context"
	"fmt"

	"tarn/antelope/logcatalog"
	"tarn/antelope/types"
)

// ReadRaw returns a packed block. It wraps [ErrNotFound] if the log does not have it. A block
// that is not the one that the next block and its own header name is an error, a
// [torntail.Damage]. The bytes must not be changed; they stay as they are.
func (l *Log) ReadRaw(num uint32) ([]byte, error) {
	sp, err := l.span(num, num, 0)
	if err == nil {
		err = checker{l}.check(&sp)
	}
	if err != nil {
		return nil, err
	}
	return sp.block(0), nil
}

// ReadToExecute is ReadRaw for who executes the block after those before it, and so finds out by itself whether the
// block is the one that it should be. ReadRaw then says what is wrong. What no hash of a block covers is compared with
// the checksum of what was appended, if there is one.
func (l *Log) ReadToExecute(num uint32) ([]byte, error) {
	sp, err := l.span(num, num, 0)
	if err == nil {
		err = checker{l}.checkUnnamed(&sp)
	}
	if err != nil {
		return nil, err
	}
	return sp.block(0), nil
}

// Read returns a block, decoded.
func (l *Log) Read(num uint32) (*types.SignedBlock, error) {
	b, err := l.ReadRaw(num)
	if err != nil {
		return nil, err
	}
	block, err := decodeBlock(b)
	if err != nil {
		return nil, fmt.Errorf("decode block %d of the block log: %w", num, err)
	}
	return block, nil
}

// ReadHeader returns a block's header, without decoding its transactions.
func (l *Log) ReadHeader(num uint32) (*types.SignedBlockHeader, error) {
	b, err := l.ReadRaw(num)
	if err != nil {
		return nil, err
	}
	h, err := decodeHeader(b)
	if err != nil {
		return nil, fmt.Errorf("decode header of block %d of the block log: %w", num, err)
	}
	return h, nil
}

// Position returns the offset of a block in its file; ok is false if the log does
// not have it there.
func (l *Log) Position(num uint32) (offset uint64, ok bool, err error) {
	sp, err := l.span(num, num, 0)
	if err != nil {
		return 0, false, err
	}
	return uint64(sp.positions[0]), true, nil
}

// Where says in which file a block is, and at which offset, for a message.
func (l *Log) Where(num uint32) string {
	sp, err := l.span(num, num, 0)
	switch {
	case err != nil:
		return err.Error()
	case sp.path == "":
		return "in memory"
	}
	return fmt.Sprintf("offset %d of %s", sp.positions[0], sp.path)
}

// span reads blocks from num on that lie in one file, to at most last, about limit
// bytes of them but at least one.
func (l *Log) span(num, last uint32, limit int64) (span, error) {
	l.mu.RLock()
	switch {
	case l.closed:
		l.mu.RUnlock()
		return span{}, ErrClosed
	case l.mode == empty || !l.blocks || num > l.head.num:
		l.mu.RUnlock()
		return span{}, missing(num)
	}
	if num > l.written {
		p := l.pending[num-l.written-1]
		at := l.end
		for _, q := range l.pending[:num-l.written-1] {
			at += int64(len(q.data)) + positionBytes
		}
		l.mu.RUnlock()
		return span{first: num, positions: []int64{at, at + int64(len(p.data)) + positionBytes}, data: p.data}, nil
	}
	if l.work != nil && num >= l.first && num >= l.work.preamble.First {
		seg, end, highest := l.work, l.end, l.written
		seg.mu.RLock()
		l.mu.RUnlock()
		sp, err := l.readMended(seg, num, min(last, highest), highest, end, limit)
		seg.mu.RUnlock()
		if num < l.First() {
			return span{}, missing(num) // pruned meanwhile: what was read may be a hole
		}
		return sp, err
	}
	l.mu.RUnlock()
	var sp span
	found, err := l.retained.Use(num, func(p logcatalog.Part, seg *segment) (err error) {
		sp, err = l.readMended(seg, num, min(last, p.Last), p.Last, seg.end, limit)
		return err
	})
	if err == nil && !found {
		err = missing(num)
	}
	return sp, err
}

func missing(num uint32) error { return fmt.Errorf("block %d: %w", num, ErrNotFound) }

// Entry is a block as it lies in the log.
type Entry struct {
	Num      uint32
	Position uint64 // offset in its file
	Data     []byte // the packed block; it stays as it is
}

// Blocks reads a range of blocks in order, ahead of whoever takes them, on a
// goroutine of its own. It is used by one goroutine.
type Blocks struct {
	ctx    context.Context
	to     uint32
	cancel context.CancelFunc
	pieces chan piece
	now    piece
	at     int
	entry  Entry
	err    error
}

type piece struct {
	span
	err error
}

const (
	aheadBytes  = 4 << 20 // of one read
	aheadPieces = 3
)

// Blocks begins to read the blocks from one number to another, both included. What
// is appended meanwhile is read too. The caller closes it.
func (l *Log) Blocks(ctx context.Context, from, to uint32) *Blocks {
	ctx, cancel := context.WithCancel(ctx)
	b := &Blocks{ctx: ctx, to: to, cancel: cancel, pieces: make(chan piece, aheadPieces)}
	go b.read(ctx, l, from, to)
	return b
}

func (b *Blocks) read(ctx context.Context, l *Log, from, to uint32) {
	defer close(b.pieces)
	for num := int64(from); num <= int64(to); {
		sp, err := l.span(uint32(num), to, aheadBytes)
		if err == nil {
			err = checker{l}.check(&sp)
		}
		if err == nil {
			err = ctx.Err()
		}
		select {
		case b.pieces <- piece{sp, err}:
		case <-ctx.Done():
			return
		}
		if err != nil {
			return
		}
		num += int64(len(sp.positions)) - 1
	}
}

// Next moves to the next block. It returns false at the end of the range and on an
// error: see Err.
func (b *Blocks) Next() bool {
	if b.err != nil {
		return false
	}
	if b.at++; b.at >= len(b.now.positions)-1 {
		p, ok := <-b.pieces
		if !ok && b.entry.Num != b.to {
			p.err = b.ctx.Err()
		}
		if !ok || p.err != nil {
			b.err = p.err
			b.now, b.at = piece{}, 0
			return false
		}
		b.now, b.at = p, 0
	}
	b.entry = Entry{b.now.first + uint32(b.at), uint64(b.now.positions[b.at]), b.now.block(b.at)}
	return true
}

// Entry returns the block that Next moved to.
func (b *Blocks) Entry() Entry { return b.entry }

// Err returns what ended the reading early: [ErrNotFound] where the log lacks a
// block of the range.
func (b *Blocks) Err() error { return b.err }

// Close ends the reading and waits for its goroutine.
func (b *Blocks) Close() {
	b.cancel()
	for range b.pieces { //nolint:revive // until it is closed
	}
}
