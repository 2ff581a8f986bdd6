package chain_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"tarn/antelope/chain"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/store"
	"tarn/store/engine"
)

// cancelling ends a context when a block is read.
type cancelling struct {
	*memoryLog
	at     uint32
	cancel func()
}

func (l *cancelling) ReadToExecute(num uint32) ([]byte, error) {
	if num == l.at {
		l.cancel()
	}
	return l.memoryLog.ReadToExecute(num)
}

func TestACancelledReplayDoesNotPassForAWholeOne(t *testing.T) {
	p := forks(t, 1, 100)
	whole := newLoggedChain(t, &p.Genesis, chain.Options{})
	whole.feedShuffled(p.Blocks, 1, false)
	last, id, _ := whole.log.Head()
	ended := 0
	for at := uint32(2); at < last; at += 3 {
		ctx, cancel := context.WithCancel(context.Background())
		n := newLoggedChain(t, &p.Genesis,
			chain.Options{Options: execute.Options{DisableReplayOpts: at%2 == 0}, Threads: 2})
		n.Close()
		n.log.blocks = whole.log.blocks
		n.opt.Blocks = &cancelling{n.log, at, cancel}
		n.open()
		err := n.Resume(ctx, nil, nil)
		cancel()
		switch {
		case err == nil && n.Head().ID != id:
			t.Fatalf("cancelled at block %d, the replay passed for whole at block %d of %d",
				at, n.Head().BlockNum, last)
		case err != nil && !errors.Is(err, context.Canceled):
			t.Fatal(err)
		case err != nil:
			ended++
		}
		n.Close()
		n.opt.Blocks = n.log
		n.open()
		if err := n.Resume(context.Background(), nil, nil); err != nil {
			t.Fatal(err)
		}
		if n.Head().ID != id {
			t.Fatalf("head %d", n.Head().BlockNum)
		}
	}
	if ended == 0 {
		t.Error("no replay ended early")
	}
}

// pressed is a store that, like one whose memory is short, takes a checkpoint at each
// push, before anything else can happen, and keeps a copy of what is on the disk
// then.
type pressed struct {
	store.Store
	t        *testing.T
	from, to string
	copies   int
}

func (s *pressed) Push() error {
	if err := s.Store.Push(); err != nil {
		return err
	}
	c, err := s.Store.Checkpoint()
	if err == nil {
		err = c.Wait()
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.copies++
	if err := os.CopyFS(filepath.Join(s.to, string(rune('a'+s.copies))), os.DirFS(s.from)); err != nil {
		s.t.Fatal(err)
	}
	return nil
}

func TestAnImageTakenWhileABatchIsPushedIsGoodToStartFrom(t *testing.T) {
	p := forks(t, 1, 300)
	whole := newLoggedChain(t, &p.Genesis, chain.Options{})
	whole.feedShuffled(p.Blocks, 1, false)
	_, id, _ := whole.log.Head()
	for _, o := range []engine.Options{{Kind: engine.Page}, {Kind: engine.LevelDB}} {
		from, to := t.TempDir(), t.TempDir()
		inner, err := engine.Open(from, o)
		if err != nil {
			t.Fatal(err)
		}
		st := &pressed{inner, t, from, to, 0}
		resume := func(st store.Store) types.Checksum256 {
			c, err := chain.Open(st, chain.Options{Blocks: whole.log})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Head() == nil {
				if err := c.Genesis(&p.Genesis); err != nil {
					t.Fatal(err)
				}
				if ck, err := st.Checkpoint(); err != nil || ck.Wait() != nil {
					t.Fatal("checkpoint")
				}
			}
			if err := c.Resume(context.Background(), nil, nil); err != nil {
				t.Fatal(err)
			}
			if c.Head().ID != id {
				t.Fatalf("head %d", c.Head().BlockNum)
			}
			return hash(t, c)
		}
		want := resume(st)
		inner.Close()
		if st.copies == 0 {
			t.Fatal("no batch was pushed")
		}
		images, _ := filepath.Glob(filepath.Join(to, "*"))
		for _, dir := range images {
			st, err := engine.Open(dir, o)
			if err != nil {
				t.Fatal(err)
			}
			if got := resume(st); got != want {
				t.Errorf("hash %s, want %s", got, want)
			}
			st.Close()
		}
	}
}
