// Package chaintest opens chains of fakenets in folders of their own, for tests of what
// stands on a chain.
//
// It owns the store and the history of a chain, and how they are put together. It feeds no
// events, and is linked into no program that users get.
package chaintest

import (
	"errors"
	"path/filepath"

	"tarn/opera/chain"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/engine"
)

// Options of a chain. Zero values stand for the defaults.
type Options struct {
	Engine engine.Options // of a new store; page by default
	// Store, if not nil, returns what stands between the chain and its store.
	Store func(store.Store) store.Store
	// Connected, if not nil, is told of each block after it was published.
	Connected func(*chain.Block)
	// Pushed, if not nil, is told of each block while it can be undone.
	Pushed func(inter.BlockInfo, *chain.Block, chain.ChangedRows) error
	// Warn, if not nil, is told what the chain and its history warn of.
	Warn func(error)
	// Beginnings has the state with which the epoch began held.
	Beginnings bool
}

// Chain is an open chain with its store. See [chain.Chain] for goroutines.
type Chain struct {
	*chain.Chain
	store store.Store
}

// New makes the chain of a fakenet in a folder that has none.
func New(dir string, validators int, o Options) (*Chain, error) {
	if o.Engine.Kind == "" {
		o.Engine.Kind = engine.Page
	}
	return open(dir, o, func(co chain.Options) error {
		g, err := fakenet.New(fakenet.Options{Validators: validators})
		if err != nil {
			return err
		}
		return chain.ApplyGenesis(co, g)
	})
}

// Open opens the chain of a folder that New has made.
func Open(dir string, o Options) (*Chain, error) {
	return open(dir, o, func(chain.Options) error { return nil })
}

func open(dir string, o Options, begin func(chain.Options) error) (*Chain, error) {
	history := chain.NewHistory(chain.HistoryOptions{Dir: filepath.Join(dir, "history"), Notice: o.Warn})
	o.Engine.BeforeCheckpoint = history.Sync
	s, err := engine.Open(filepath.Join(dir, "state"), o.Engine)
	if err != nil {
		return nil, err
	}
	co := chain.Options{Store: s, History: history, Connected: o.Connected, Pushed: o.Pushed, Warn: o.Warn,
		Beginnings: o.Beginnings}
	if o.Store != nil {
		co.Store = o.Store(s)
	}
	c := &Chain{store: s}
	if err = begin(co); err == nil {
		c.Chain, err = chain.Open(co)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return c, nil
}

// Store is the chain's store, for those who stand beside the chain.
func (c *Chain) Store() store.Store { return c.store }

// Close ends the chain without a checkpoint, as a kill does. A second time it does nothing.
func (c *Chain) Close() error {
	if c.store == nil {
		return nil
	}
	err := errors.Join(c.Chain.Close(), c.store.Close())
	c.store = nil
	return err
}
