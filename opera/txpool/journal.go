package txpool

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"path/filepath"
	"slices"
	"sync"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/rlp"

	"tarn/store/vfs"
	"tarn/store/vfs/torntail"
)

// The journal is a file of transactions, one after the other as RLP, as go-opera's is. What
// is written lives through a kill at once, and through a power cut two seconds later. What
// does not wait any more by then is in a block, and has no sync of its own. The format has no
// checksum: what is no transaction by its encoding is left out by the next start, and kept beside the file, and
// whole ones behind it come back. One that is damaged and still a transaction is another one, whose
// sender has no money: the pool refuses it, and the start says so.

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
	var refused, unread error
	none := 0
	// What has waited is not asked for the tip of this moment, as it is not while the pool goes on.
	tip := p.head.MinTip
	p.head.MinTip = new(big.Int)
	err := j.load(func(txs types.Transactions) {
		for i, err := range p.addLocals(txs) {
			if errors.As(err, new(*unreadError)) {
				unread = err
			} else if err != nil && !slices.ContainsFunc(expected, func(e error) bool { return errors.Is(err, e) }) {
				none++
				refused = fmt.Errorf("transaction %v of the journal of transactions %s is refused: %w",
					txs[i].Hash(), j.path, err)
			}
		}
	}, p.o.Warn)
	p.head.MinTip = tip
	if none > 0 {
		p.o.Warn(fmt.Errorf("%d transactions of the journal do not come back, the last one because: %w", none, refused))
	}
	if err = errors.Join(err, unread); err != nil {
		p.o.Warn(fmt.Errorf(
			"local transactions are not kept until the next start, and those of the journal %s are not all there: %w",
			j.path, err))
		return
	}
	p.journal = j
	p.rejournal()
}

// expected are the errors with which the pool refuses a transaction whose time has passed.
var expected = []error{ErrNonceTooLow, ErrAlreadyKnown}

// load gives what is in the file to add, in parts. Where there is no transaction it says so, keeps
// the file from there on, and goes on with the next one. An error is one of the disk: then the file must
// not be written anew.
func (j *journal) load(add func(types.Transactions), warn func(error)) error {
	if there, err := j.fs.Exists(j.path); err != nil || !there {
		return err
	}
	f, err := j.fs.Open(j.path, false)
	if err != nil {
		return err
	}
	size, err := f.Size()
	if err == nil {
		err = j.read(&scanner{file: f, size: size, budget: searchRatio * (size + most)}, add, warn)
	}
	return errors.Join(err, f.Close())
}

// read does the work of load.
func (j *journal) read(s *scanner, add func(types.Transactions), warn func(error)) error {
	const part = 1024
	var txs types.Transactions
	read, kept := 0, false
	for at := int64(0); at < s.size; {
		tx, end, err := s.transaction(at)
		if err != nil {
			return err
		}
		if tx == nil {
			if end, err = s.next(at); err != nil {
				return err
			}
			lost := fmt.Errorf(
				"the journal of transactions has %d bytes that are no transaction behind %d transactions: "+
					"%s: offset %d", end-at, read, j.path, at)
			if !kept {
				removed, err := torntail.Keep(j.fs, s.file, j.path, at, s.size)
				if err != nil {
					return errors.Join(lost, err)
				}
				kept, lost = true, fmt.Errorf("%w; the file from there on is kept in %s", lost, removed.Kept)
			}
			warn(lost)
		} else {
			read++
			txs = append(txs, tx)
		}
		if at = end; len(txs) == part || at >= s.size && len(txs) > 0 {
			add(txs)
			txs = nil
		}
	}
	return nil
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
