package difftest

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
	"tarn/store/engine"
)

// ErrDifferent means that our chain came to another state than the judge's, or
// refused one of its blocks. What was written says where.
var ErrDifferent = errors.New("not what nodeos says")

// Compare replays the blocks of the case in dir with our chain, on a store of a
// folder that it makes and removes, and compares the hash and the snapshots. It
// writes what differs.
func Compare(dir string, e engine.Options, o chain.Options, w io.Writer) error {
	m, err := ReadManifest(dir)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	got := filepath.Join(work, SnapshotFile)
	var last *types.TransactionTrace
	o.Hooks.Applied = func(t *types.TransactionTrace, _ *execute.Candidate) { last = t }
	err = replay(dir, filepath.Join(work, "state"), got, e, o, m.Hashes)
	var other *otherState
	switch {
	case errors.As(err, &other) && other.block != m.HeadNum:
		return fmt.Errorf("%s: %w", dir, err)
	case err != nil && other == nil:
		describe(w, last)
		return fmt.Errorf("%s: %w: %w", dir, ErrDifferent, err)
	}
	ours, err := ReadSnapshot(got)
	if err != nil {
		return err
	}
	hash := ours.Hash()
	if hex.EncodeToString(hash[:]) == m.IntegrityHash {
		return nil
	}
	different := fmt.Errorf("%s: %w", dir, &otherState{m.HeadNum, hex.EncodeToString(hash[:]), m.IntegrityHash})
	theirs, err := ReadSnapshot(filepath.Join(dir, SnapshotFile))
	if err != nil {
		return errors.Join(different, err)
	}
	n := Diff(w, theirs, ours, 3)
	return fmt.Errorf("%w, %d rows", different, n)
}

// otherState is that our state after a block is not the judge's.
type otherState struct {
	block     uint32
	got, want string
}

// Error says which hashes differ.
func (e *otherState) Error() string {
	return fmt.Sprintf("%v: hash after block %d is %s, want %s", ErrDifferent, e.block, e.got, e.want)
}

// Unwrap is [ErrDifferent].
func (e *otherState) Unwrap() error { return ErrDifferent }

// replay applies all blocks of a case to an empty store and leaves a snapshot. It
// ends at the first block after which the hash is not the one that is given.
func replay(dir, state, to string, e engine.Options, o chain.Options, hashes map[uint32]string) error {
	return withChain(state, e, o, func(c *chain.Chain) error { return replayInto(c, dir, to, hashes) })
}

// withChain opens a chain in a store of its own, for as long as use takes.
func withChain(folder string, e engine.Options, o chain.Options, use func(*chain.Chain) error) (err error) {
	st, err := engine.Open(folder, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	c, err := chain.Open(st, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	return use(c)
}

func replayInto(c *chain.Chain, dir, to string, hashes map[uint32]string) error {
	if err := blocks(dir, c.Genesis, func(b *types.SignedBlock) error {
		if b.BlockNum() == 1 {
			return nil
		}
		if err := c.Replay(b, nil, execute.Irreversible); err != nil {
			return err
		}
		return checkHash(c, hashes[b.BlockNum()])
	}); err != nil {
		var other *otherState
		if errors.As(err, &other) {
			err = errors.Join(err, writeSnapshot(c, to))
		}
		return err
	}
	return writeSnapshot(c, to)
}

// checkHash compares the state with the hash that the judge had, if it is given.
func checkHash(c *chain.Chain, want string) error {
	if want == "" {
		return nil
	}
	if err := c.Publish(); err != nil {
		return err
	}
	view, err := c.View()
	if err != nil {
		return err
	}
	defer view.Close()
	got, err := snapshot.Hash(view, c.Standing(), snapshot.Options{})
	if err == nil && got.String() != want {
		err = &otherState{c.Head().BlockNum, got.String(), want}
	}
	return err
}

func writeSnapshot(c *chain.Chain, to string) error {
	if err := c.Publish(); err != nil {
		return err
	}
	view, err := c.View()
	if err != nil {
		return err
	}
	defer view.Close()
	f, err := os.Create(to)
	if err != nil {
		return err
	}
	return errors.Join(snapshot.Write(f, view, c.Standing(), snapshot.Options{}), f.Close())
}

// describe writes what our chain made of the transaction that it applied last,
// which is the one that differs if a receipt does.
func describe(w io.Writer, t *types.TransactionTrace) {
	if t == nil {
		return
	}
	fmt.Fprintf(w, "last transaction %s scheduled %v, receipt %+v\n", t.ID, t.Scheduled, t.Receipt)
	if t.Except != nil {
		fmt.Fprintf(w, "  %v\n", t.Except)
	}
	for _, a := range t.ActionTraces {
		fmt.Fprintf(w, "  %d by %d: %s <= %s::%s %v data %x\n", a.Ordinal, a.CreatorOrdinal, a.Receiver,
			a.Action.Account, a.Action.Name, a.Action.Authorization, a.Action.Data)
		if a.Except != nil {
			fmt.Fprintf(w, "    %v\n", a.Except)
		}
	}
	if t.FailedDeferred != nil {
		fmt.Fprint(w, "handles: ")
		describe(w, t.FailedDeferred)
	}
}
