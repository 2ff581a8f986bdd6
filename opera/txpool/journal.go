package txpool

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/opera/inter"
	"tarn/store/vfs"
)

// The journal is a file of transactions, one after the other as RLP, as go-opera's is. What
// is written lives through a kill at once, and through a power cut two seconds later. What
// does not wait any more by then is in a block, and has no sync of its own. A tail that is torn
// or garbage is left out by the next start.

// journal is the open file. Any goroutine may use it.
type journal struct {
	path string
	fs   vfs.FS

	mu    sync.Mutex
	file  vfs.File // nil after an error, until it is written anew
	size  int64
	dirty bool
	// What was appended since the journal was looked at, and before that, and is not durable.
	fresh, older []common.Hash
}

// journalGrowth is how many times the bytes that local transactions may have the journal
// may have, before it is written anew.
const journalGrowth = 2

// restore adds what the journal holds, and begins it anew.
func (p *Pool) restore() {
	j := &journal{path: p.o.Journal, fs: p.o.FS}
	if err := vfs.MkdirAll(j.fs, filepath.Dir(j.path)); err != nil {
		p.o.Warn(fmt.Errorf("local transactions are not kept: %w", err))
		return
	}
	read, err := j.load(func(txs types.Transactions) { p.addLocals(txs) })
	if err != nil {
		p.o.Warn(fmt.Errorf("what is in the journal of transactions %s after %d of them is lost: %w", j.path, read, err))
	}
	p.journal = j
	p.rejournal()
}

// load gives what is in the file to add, in parts, and returns how many transactions there
// are before its end or the first that cannot be read.
func (j *journal) load(add func(types.Transactions)) (read int, err error) {
	if there, err := j.fs.Exists(j.path); err != nil || !there {
		return 0, err
	}
	f, err := j.fs.Open(j.path, false)
	if err != nil {
		return 0, err
	}
	size, err := f.Size()
	if err != nil {
		return 0, errors.Join(err, f.Close())
	}
	stream := rlp.NewStream(bufio.NewReader(io.NewSectionReader(f, 0, size)), uint64(size))
	const part = 1024
	var txs types.Transactions
	for err == nil {
		var tx *types.Transaction
		if tx, err = decode(stream); err == nil {
			read++
			txs = append(txs, tx)
		}
		if len(txs) == part || err != nil && len(txs) > 0 {
			add(txs)
			txs = nil
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return read, errors.Join(err, f.Close())
}

var errNoTx = errors.New("this is no transaction")

// decode reads one transaction, whose size is looked at before there is memory for it.
func decode(s *rlp.Stream) (*types.Transaction, error) {
	_, size, err := s.Kind()
	if err != nil {
		return nil, err
	}
	if size > most {
		return nil, errNoTx
	}
	tx := new(types.Transaction)
	if err := s.Decode(tx); err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF // only before one the file is at its end
		}
		return nil, err
	}
	if !inter.Supported(tx) {
		return nil, errNoTx
	}
	return tx, nil
}

// encode returns transactions as they stand in the file.
func encode(txs types.Transactions) ([]byte, error) {
	var b bytes.Buffer
	for _, tx := range txs {
		if err := rlp.Encode(&b, tx); err != nil {
			return nil, fmt.Errorf("encode transaction %v: %w", tx.Hash(), err)
		}
	}
	return b.Bytes(), nil
}

// keep appends local transactions.
func (p *Pool) keep(txs types.Transactions) {
	if p.journal == nil || len(txs) == 0 {
		return
	}
	size, err := p.journal.append(txs)
	if err != nil {
		p.o.Warn(fmt.Errorf("a local transaction is not kept in %s: %w", p.journal.path, err))
	}
	if size > journalGrowth*int64(p.o.Limits.LocalBytes) {
		p.rejournal()
	}
}

func (j *journal) append(txs types.Transactions) (size int64, err error) {
	b, err := encode(txs)
	if err != nil {
		return 0, err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file == nil {
		return 0, errors.New("the journal could not be opened")
	}
	if _, err := j.file.WriteAt(b, j.size); err != nil {
		return j.size, err // the next one is written over it
	}
	j.size += int64(len(b))
	j.dirty = true
	for _, tx := range txs {
		j.fresh = append(j.fresh, tx.Hash())
	}
	return j.size, nil
}

// rejournal writes the journal anew with what waits.
func (p *Pool) rejournal() {
	if p.journal == nil {
		return
	}
	if err := p.journal.rewrite(p.locals); err != nil {
		p.o.Warn(fmt.Errorf("write the journal of transactions %s anew: %w", p.journal.path, err))
	}
}

// locals returns what waits of local accounts.
func (p *Pool) locals() (txs types.Transactions) {
	p.mu.RLock()
	defer p.mu.RUnlock()
	for _, a := range p.accounts {
		if a.local {
			txs = append(txs, transactions(a.txs)...)
		}
	}
	return txs
}

// rewrite replaces the file. The transactions are asked for when no other can be appended:
// what came before is among them, and what comes then is appended to the new file.
func (j *journal) rewrite(all func() types.Transactions) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	b, err := encode(all())
	if err != nil {
		return err
	}
	if err := vfs.WriteDurably(j.fs, j.path, b); err != nil {
		return err
	}
	f, err := j.fs.Open(j.path, true)
	if err != nil {
		return errors.Join(err, j.shut())
	}
	err = j.shut()
	j.file, j.size = f, int64(len(b))
	j.clean()
	return err
}

// shut closes the file, if it is open.
func (j *journal) shut() error {
	if j.file == nil {
		return nil
	}
	f := j.file
	j.file = nil
	return f.Close()
}

// syncJournal makes durable what was appended a while ago, if some of it still waits.
func (p *Pool) syncJournal() {
	if p.journal == nil {
		return
	}
	waits := func(hash common.Hash) bool { return p.Get(hash) != nil }
	if err := p.journal.syncIf(waits); err != nil {
		p.o.Warn(fmt.Errorf("local transactions may not survive a power cut: %w", err))
		p.rejournal()
	}
}

// syncIf makes the file durable if something waits that was there the last time, too.
func (j *journal) syncIf(waits func(common.Hash) bool) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if slices.ContainsFunc(j.older, waits) {
		return j.sync()
	}
	j.older, j.fresh = j.fresh, nil
	return nil
}

// sync makes durable what was appended; with the lock held.
func (j *journal) sync() error {
	if !j.dirty || j.file == nil {
		return nil
	}
	j.clean()
	return j.file.Sync()
}

// clean notes that nothing is to be made durable.
func (j *journal) clean() { j.dirty, j.fresh, j.older = false, nil, nil }

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return errors.Join(j.sync(), j.shut())
}
