package finalizer

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"tarn/antelope/finality"
	"tarn/antelope/types"
	"tarn/store/vfs"
)

// openLogged opens the finalizers of twoKeys, whose lines go to a buffer.
func openLogged(t *testing.T, files vfs.FS) (*Finalizers, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	f, err := Open(Options{Keys: twoKeys(), Dir: "/node/finalizers", Files: files,
		Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return f, &log
}

// checkSaid holds what was said since the last time: a line for each finalizer with all words, or nothing.
func checkSaid(t *testing.T, log *bytes.Buffer, words ...string) {
	t.Helper()
	text := log.String()
	log.Reset()
	if len(words) == 0 && text != "" || len(words) > 0 && strings.Count(text, "\n") != 2 {
		t.Errorf("said %q, want %q", text, words)
	}
	for _, w := range words {
		if strings.Count(text, w) != 2 {
			t.Errorf("%q is not said once for each finalizer: %s", w, text)
		}
	}
}

func TestAFinalizerThatMayNotVoteSaysWhyOnceAMinute(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, mem := newChain(t), node(t)
		first := c.next(c.tips[0], false)
		late := first
		for range 3 {
			late = c.next(late, true)
		}
		f := open(t, mem, c)
		if votes, err := f.Vote(late); err != nil || len(votes) != 2 {
			t.Fatalf("%d votes, %v", len(votes), err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		f, log := openLogged(t, mem)
		vote := func(s *finality.State, want int) {
			t.Helper()
			if votes, err := f.Vote(s); err != nil || len(votes) != want {
				t.Fatalf("%d votes for block %d, %v", len(votes), s.Num(), err)
			}
		}
		// The state is older than the safety file.
		vote(first, 0)
		checkSaid(t, log, "level=WARN", "may not vote for block #", "monotony check", late.Time().String(),
			"later block than the state")
		vote(first, 0)
		checkSaid(t, log)
		time.Sleep(sayEvery)
		vote(first, 0)
		checkSaid(t, log, "level=WARN", "monotony check")
		vote(late, 0) // it has voted for this one
		checkSaid(t, log)
		// Another branch, without a certificate that is newer than the lock.
		time.Sleep(sayEvery)
		other := c.next(c.tips[0], false)
		vote(other, 0)
		checkSaid(t, log, "level=WARN", "safety check", "liveness check", "Never remove the safety file")
		vote(c.next(late, true), 2)
		checkSaid(t, log, "level=INFO", "votes again")
		// A switch of forks in this life is nothing to warn of.
		time.Sleep(sayEvery)
		vote(other, 0)
		checkSaid(t, log, "level=INFO", "monotony check")
	})
}

// What a finalizer begins with is said; without that it says that it does not vote.
func TestAMissingSafetyFileIsSaid(t *testing.T) {
	c, mem := newChain(t), node(t)
	f, log := openLogged(t, mem)
	if text := log.String(); !strings.Contains(text, "level=INFO") ||
		!strings.Contains(text, "There is no safety file /node/finalizers/safety.dat") {
		t.Errorf("said %q", text)
	}
	log.Reset()
	if votes, err := f.Vote(c.next(c.tips[0], false)); err != nil || len(votes) != 0 {
		t.Fatalf("%d votes, %v", len(votes), err)
	}
	checkSaid(t, log, "level=WARN", "fsi.lock is empty")
	ref := finality.Remember(c.tips[0].Ref())
	f.Begin(finality.Safety{Last: ref, Lock: ref})
	if votes, err := f.Vote(c.next(c.tips[0], false)); err != nil || len(votes) != 2 {
		t.Fatalf("%d votes, %v", len(votes), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if _, log = openLogged(t, mem); log.Len() > 0 {
		t.Errorf("said with a file: %s", log)
	}
}

// One finalizer's votes say nothing of another, which still may not vote.
func TestARefusalGoesOnBesideTheVotesOfAnotherFinalizer(t *testing.T) {
	c, mem := newChain(t), node(t)
	f, log := openLogged(t, mem)
	ref := finality.Remember(c.tips[0].Ref())
	f.Begin(finality.Safety{Last: ref, Lock: ref})
	late := c.next(c.next(c.next(c.next(c.tips[0], false), true), true), true)
	refused := f.Keys()[1]
	last := finality.Remember(late.Ref())
	if err := f.save(map[types.BLSPublicKey]finality.Safety{refused: {Last: last, Lock: last}}); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	block := c.tips[0]
	for i := range 3 {
		block = c.next(block, false)
		if votes, err := f.Vote(block); err != nil || len(votes) != 1 || votes[0].Key == refused {
			t.Fatalf("%d votes, %v", len(votes), err)
		}
		text, want := log.String(), 1
		log.Reset()
		if i > 0 {
			want = 0 // it was said a moment ago
		}
		if strings.Count(text, "\n") != want || strings.Count(text, refused.String()+" may not vote") != want {
			t.Errorf("block %d: said %q", block.Num(), text)
		}
	}
}
