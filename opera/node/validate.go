package node

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/chain"
	"tarn/opera/emitter"
	"tarn/opera/inter"
	"tarn/opera/keyfiles"
	"tarn/opera/p2p"
	"tarn/store/vfs"
)

// validator is what speaks for the validator that the options name.
type validator struct {
	cancel context.CancelFunc
	done   chan struct{}
	silent atomic.Pointer[error]
}

// silence returns why the validator says nothing any more, nil if there is none, or none is
// known.
func (v *validator) silence() error {
	if v == nil {
		return nil
	}
	if err := v.silent.Load(); err != nil {
		return fmt.Errorf("the validator makes no events any more, until the next start: %w", *err)
	}
	return nil
}

// validate begins to speak for the validator that the options name, with transactions of a
// pool, which may be nil. It returns nil if they name none.
func (s *services) validate(n *Node, peers *p2p.Node, pool emitter.Pool) (*validator, error) {
	c := &s.Emitter
	if c.Validator.ID == 0 {
		return nil, nil
	}
	o, err := s.emitterOptions(n, pool)
	if err == nil {
		o.Signer, err = s.signer()
	}
	if err != nil {
		return nil, fmt.Errorf("validator %d: %w", c.Validator.ID, err)
	}
	if o.Network = peers; peers == nil {
		o.Network = nobody{}
	}
	em, err := emitter.New(o)
	if err != nil {
		return nil, fmt.Errorf("validator %d: %w", c.Validator.ID, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	v := &validator{cancel: cancel, done: make(chan struct{})}
	s.log.Info("Validating", "validator", c.Validator.ID, "journal", o.Journal,
		"protection", c.EmitIntervals.DoublesignProtection)
	go func() {
		defer close(v.done)
		if err := em.Run(ctx); err != nil {
			v.silent.Store(&err)
			s.endSilenced(n, err)
		}
	}()
	return v, nil
}

// endSilenced ends the node, whose validator can say nothing any more, as go-opera ends: what it would
// take would not be executed, and another start may go on. If the validator may sign twice, the node
// does not start again before an operator has looked (go-opera, utils/errlock).
func (s *services) endSilenced(n *Node, err error) {
	if n.Cause() != nil {
		return // the node ends, with what it waited for
	}
	if n.version.unsupportedError() != nil {
		// The network demanded it in this moment. The node serves on, as go-opera does.
		s.log.Error("The validator makes no events any more, until the next start", "err", err)
		return
	}
	if !errors.Is(err, emitter.ErrLocked) {
		n.Stop(fmt.Errorf("the validator makes no events any more, until the next start: %w", remedy(err)))
		return
	}
	path := filepath.Join(s.Node.DataDir, errlock)
	err = fmt.Errorf("node is permanently stopping due to an issue; fix it and then delete file %q: %w", path, err)
	n.Stop(errors.Join(err, vfs.WriteDurably(vfs.OS, path, []byte(err.Error()))))
}

// close ends it after the event that it is at.
func (v *validator) close() {
	if v != nil {
		v.cancel()
		<-v.done
	}
}

// nobody is the network of a node without peers.
type nobody struct{}

func (nobody) PeerCount() int           { return 0 }
func (nobody) Overtakes() bool          { return false }
func (nobody) Broadcast(*inter.Payload) {}
func (nobody) Connected(inter.EventID)  {}

func (s *services) emitterOptions(n *Node, pool emitter.Pool) (emitter.Options, error) {
	c, i := &s.Emitter, &s.Emitter.EmitIntervals
	o := emitter.Options{
		Chain: n.Chain(), Writer: n, Pool: pool, Validator: inter.ValidatorID(c.Validator.ID),
		Journal: c.PrevEmittedEventFile.Path,
		Intervals: emitter.Intervals{
			Min: i.Min, Max: i.Max, Confirming: i.Confirming, ParallelInstance: i.ParallelInstanceProtection,
			DoubleSign: i.DoublesignProtection,
		},
		Thresholds: emitter.Thresholds{LimitedTPS: c.LimitedTpsThreshold, NoTxs: c.NoTxsThreshold,
			Emergency: c.EmergencyThreshold},
		MaxTxsPerAddress: c.MaxTxsPerAddress, MaxParents: int(c.MaxParents), TxsStale: c.TxsCacheInvalidation,
		Version: c.VersionToPublish,
		Votes:   func(c *chain.Chain) emitter.Votes { return c.Votes() },
		Paused:  func() error { return cmp.Or(n.version.unsupportedError(), n.room()) },
		Notice: func(err error) {
			if errors.Is(err, emitter.ErrPaused) {
				s.log.Info("Validator", "notice", err)
				return
			}
			s.log.Warn("Validator", "err", err)
		},
	}
	// The journal is replaced, which would put a file in the place of a device.
	if info, err := os.Stat(o.Journal); err == nil && !info.Mode().IsRegular() {
		return o, fmt.Errorf("%s cannot keep the last own event: it is no file", o.Journal)
	}
	return o, nil
}

// signer returns who signs for the validator.
func (s *services) signer() (emitter.Signer, error) {
	v := &s.Emitter.Validator
	public := inter.PublicKey{Type: v.PubKey.Type, Raw: v.PubKey.Raw}
	known, err := s.fakeKey()
	if err != nil {
		return nil, err
	}
	if known != nil && bytes.Equal(crypto.FromECDSAPub(&known.PublicKey), public.Raw) &&
		public.Type == inter.Secp256k1Key {
		return emitter.Key{Private: known}, nil
	}
	passwords, err := keyfiles.ReadPasswords(s.Emitter.Password)
	if err != nil {
		return nil, err
	}
	w, err := s.keys.open(passwords)
	if err != nil {
		return nil, err
	}
	key, err := w.UnlockValidator(public)
	if err != nil {
		return nil, fatal{fmt.Errorf("Failed to unlock validator key: %w", err)}
	}
	s.log.Info("Unlocked validator key", "pubkey", public)
	return emitter.Key{Private: key}, nil
}
