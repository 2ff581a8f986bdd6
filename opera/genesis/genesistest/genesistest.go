// Package genesistest writes a genesis whole, for tests: a node writes the parts of one as it
// reads them.
package genesistest

import (
	"errors"
	"io"
	"iter"

	"tarn/opera/genesis"
)

// Write writes a genesis as a file whose sections have one part each, and returns the
// roots of its units. The folder is for temporary files.
func Write(out io.Writer, s genesis.Source, folder string) (genesis.Hashes, error) {
	w := genesis.NewWriter(out, s.Header(), folder)
	hashes := genesis.Hashes{}
	for _, part := range []struct {
		section string
		copy    func(*genesis.UnitWriter) error
	}{
		{genesis.Epochs, func(u *genesis.UnitWriter) error { return each(s.Epochs(), u.Epoch) }},
		{genesis.Blocks, func(u *genesis.UnitWriter) error { return each(s.Blocks(), u.Block) }},
		{genesis.State, func(u *genesis.UnitWriter) error { return each(s.Items(), u.Item) }},
	} {
		u, err := w.Unit(part.section)
		if err != nil {
			return nil, err
		}
		if err := part.copy(u); err != nil {
			return nil, errors.Join(err, u.Discard())
		}
		if hashes[part.section], err = u.Close(); err != nil {
			return nil, err
		}
	}
	return hashes, nil
}

// each gives values to a function until there is an error.
func each[T any](values iter.Seq2[T, error], do func(T) error) error {
	for v, err := range values {
		if err == nil {
			err = do(v)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
