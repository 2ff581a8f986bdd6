// Package finalizer is the finalizers of a node: their keys, what they must not forget, and their
// votes. It owns the safety file and the lock beside it. How to vote is package finality's to decide,
// and where votes go is the caller's.
//
// # Invariant
//
// No vote is returned before what it leads to is durable. A finalizer that is killed or loses its
// power at any moment never votes twice in a time slot, nor against a vote of its own that binds it.
//
// A copy of the folder on another machine is another finalizer with the same key: nothing here can tell.
// An older copy of the file is refused only if it is damaged.
package finalizer

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"tarn/antelope/crypto"
	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// Options are those of a node's finalizers.
type Options struct {
	Keys  []*crypto.BLSPrivateKey // one that is given twice is one finalizer's
	Dir   string                  // finalizers-dir, made if need be
	Files vfs.FS                  // nil for the disk's
	Log   *slog.Logger            // nil for none
}

// Finalizers are those of a node. Any goroutine may call their methods.
type Finalizers struct {
	keys []key
	lock io.Closer
	log  *slog.Logger

	mu       sync.Mutex
	safeties *finality.Safeties
	initial  finality.Safety // of a finalizer that remembers nothing
	voted    bool            // in this life
}

type key struct {
	private *crypto.BLSPrivateKey
	public  types.BLSPublicKey
	refusal refusal
}

// lockName is the name of the file that keeps two processes from voting with one safety file.
const lockName = "LOCK"

// Open reads the safety file. A file that is damaged, or that another process votes with, is an error.
func Open(o Options) (*Finalizers, error) {
	if o.Files == nil {
		o.Files = vfs.OS
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	f := &Finalizers{log: o.Log}
	var public []types.BLSPublicKey
	for _, k := range o.Keys {
		p := k.Public()
		if slices.Contains(public, p) {
			continue // one finalizer, which votes once
		}
		public = append(public, p)
		f.keys = append(f.keys, key{private: k, public: p})
	}
	if err := vfs.MkdirAll(o.Files, o.Dir); err != nil {
		return nil, fmt.Errorf("make the finalizers' folder: %w", err)
	}
	lock, holder, err := o.Files.Lock(filepath.Join(o.Dir, lockName), true)
	if errors.Is(err, vfs.ErrLocked) {
		return nil, fmt.Errorf("the finalizers' folder %s is used by another process (%s): a finalizer must vote once",
			o.Dir, holder)
	}
	if err != nil {
		return nil, fmt.Errorf("lock the finalizers' folder %s: %w", o.Dir, err)
	}
	f.lock = lock
	path := filepath.Join(o.Dir, finality.SafetyFileName)
	if f.safeties, err = finality.OpenSafeties(o.Files, path, public); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if f.safeties.Fresh() {
		f.log.Info(fmt.Sprintf("There is no safety file %s of finalizers: it is made with the first vote. This "+
			"is normal for a new key. If one of the keys has voted before, stop the node and use a new key, or "+
			"restore finalizers-dir if no key has voted since the copy was made: without the file a finalizer "+
			"may contradict its earlier vote",
			path))
	}
	return f, nil
}

// Close lets another process vote.
func (f *Finalizers) Close() error { return f.lock.Close() }

// Keys are the public keys.
func (f *Finalizers) Keys() []types.BLSPublicKey {
	list := make([]types.BLSPublicKey, len(f.keys))
	for i := range f.keys {
		list[i] = f.keys[i].public
	}
	return list
}

// Begin says where a finalizer begins that remembers nothing: locked on the newest block that is known
// to be final, or, when the chain goes over to Savanna's rules, as if it had voted for the block that
// is the last one before (Spring: set_default_safety_information).
func (f *Finalizers) Begin(s finality.Safety) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.initial = s
}

// safetyOf is what a finalizer remembers.
func (f *Finalizers) safetyOf(k types.BLSPublicKey) finality.Safety {
	if s, _ := f.safeties.Get(k); s != (finality.Safety{}) {
		return s
	}
	return f.initial
}

// save makes durable what some of the finalizers remember from now on, and where the others begin that
// remember nothing, as nodeos does: it may go on with the file (Spring: set_default_safety_information,
// save_finalizer_safety_info).
func (f *Finalizers) save(changed map[types.BLSPublicKey]finality.Safety) error {
	all := make(map[types.BLSPublicKey]finality.Safety, len(f.keys))
	for i := range f.keys {
		k := f.keys[i].public
		all[k] = f.safetyOf(k)
	}
	maps.Copy(all, changed)
	return f.safeties.Save(all)
}

// Vote votes for a block whose header, or whose execution, was found good: once for each finalizer
// that is in a policy of the block and may vote. What that leads to is durable when it returns. After
// an error no vote was cast.
func (f *Finalizers) Vote(s *finality.State) ([]finality.Vote, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var votes []finality.Vote
	changed := map[types.BLSPublicKey]finality.Safety{}
	for i := range f.keys {
		k := &f.keys[i]
		if !s.IsFinalizer(k.public) {
			continue
		}
		safety := f.safetyOf(k.public)
		decision, next := safety.Decide(s)
		if decision == finality.NoVote {
			k.refuse(f.log, &safety, s)
			continue
		}
		vote, err := k.sign(s, decision == finality.StrongVote)
		if err != nil {
			return nil, fmt.Errorf("vote for block %d: %w", s.Num(), err)
		}
		votes, changed[k.public] = append(votes, vote), next
	}
	if len(votes) == 0 {
		return nil, nil
	}
	if err := f.save(changed); err != nil {
		return nil, fmt.Errorf("vote for block %d: %w", s.Num(), err)
	}
	f.voted = true
	for i := range f.keys {
		if _, ok := changed[f.keys[i].public]; ok {
			f.keys[i].noteVote(f.log, s)
		}
	}
	return votes, nil
}

// sign makes a vote.
func (k *key) sign(s *finality.State, strong bool) (v finality.Vote, err error) {
	digest := s.Digest()
	message := digest[:]
	if !strong {
		message = finality.WeakMessage(digest)
	}
	v = finality.Vote{Block: s.ID, Strong: strong, Key: k.public}
	v.Signature, err = k.private.Sign(message)
	return v, err
}

// Learn takes over from a certificate for a block, which was verified, that finalizers of this node
// have voted strongly for that block, in a life whose safety file is lost. After the first vote of this
// process it does nothing (Spring: my_finalizers_t::maybe_update_fsi).
func (f *Finalizers) Learn(s *finality.State, qc *types.QuorumCertificate) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.voted || !qc.IsStrong() {
		return nil
	}
	changed := map[types.BLSPublicKey]finality.Safety{}
	for i := range f.keys {
		k := f.keys[i].public
		if !s.VotedStrongly(k, qc) {
			continue
		}
		if next, news := f.safetyOf(k).Learn(s); news {
			changed[k] = next
		}
	}
	if len(changed) == 0 {
		return nil
	}
	if err := f.save(changed); err != nil {
		return fmt.Errorf("learn of votes for block %d: %w", s.Num(), err)
	}
	return nil
}
