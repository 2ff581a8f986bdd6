package chain

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/opera/eventcheck"
	"tarn/opera/genesis/fakenet"
	"tarn/opera/inter"
	"tarn/store/page"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

// arrival is a vote or a record that comes to a chain.
type arrival struct {
	what  string
	add   func(*Chain) error
	again error // what is said if the chain has it
	block inter.BlockNumber
}

// arrivals are what was sent, in an order in which it is taken. Records of blocks are shuffled.
func (s *parcel) arrivals(r *rand.Rand) (list []arrival) {
	for _, record := range s.epochs {
		for _, vote := range s.epochVotes[record.Epoch] {
			list = append(list, arrival{fmt.Sprint("a vote for epoch ", record.Epoch),
				func(c *Chain) error { return c.AddEpochVote(vote) }, eventcheck.ErrAlreadyProcessedEV, 0})
		}
		list = append(list, arrival{fmt.Sprint("the record of epoch ", record.Epoch),
			func(c *Chain) error { return addEpoch(c, record) }, eventcheck.ErrAlreadyProcessedER, 0})
	}
	var blocks []arrival
	for _, record := range s.blocks {
		blocks = append(blocks, arrival{fmt.Sprint("the record of block ", record.Number),
			func(c *Chain) error { return c.AddBlockRecord(record) }, eventcheck.ErrAlreadyProcessedBR, record.Number})
	}
	r.Shuffle(len(blocks), func(i, j int) { blocks[i], blocks[j] = blocks[j], blocks[i] })
	for _, votes := range s.blockVotes {
		list = append(list, arrival{fmt.Sprint("votes for blocks to ", votes.Val.Last()),
			func(c *Chain) error { return c.AddBlockVotes(votes) }, eventcheck.ErrAlreadyProcessedBVs, 0})
	}
	return append(list, blocks...)
}

// kept is what a crash after a position of the recording must leave.
type kept struct {
	at       int
	arrivals int // that many are in a durable image
	head     uint64
}

// recordsLife gives a chain what was sent, some of its own events in between, and makes images.
func recordsLife(
	t *testing.T, disk *recordfs.FS, list []arrival, r *rand.Rand, events [][]byte,
) (begun int, promises []kept) {
	t.Helper()
	s, err := diskBelow(disk, "/", page.Heap)
	if err != nil {
		t.Fatal(err)
	}
	g, err := fakenet.New(fakenet.Options{Validators: 1})
	if err == nil {
		err = ApplyGenesis(Options{Store: s, History: s.history}, g)
	}
	if err != nil {
		t.Fatal(err)
	}
	begun = disk.Position()
	c := openChain(t, s)
	promises = []kept{{at: begun, head: s.Head()}}
	fed := 0
	for i, a := range list {
		if err := a.add(c); err != nil && !errors.Is(err, a.again) {
			t.Fatalf("%s: %v", a.what, err)
		}
		if r.IntN(6) == 0 && fed < len(events)/2 {
			fed = min(fed+1+r.IntN(len(events)/20), len(events)/2)
			feed(t, c, events[:fed])
		}
		if i%2 == 0 {
			continue // records of epochs are shown all the same
		}
		if err := c.ShowRecords(); err != nil {
			t.Fatal(err)
		}
		if i%4 == 1 && r.IntN(2) == 0 {
			continue
		}
		done, err := c.Checkpoint()
		if err = errors.Join(err, done.Wait()); err != nil {
			t.Fatal(err)
		}
		promises = append(promises, kept{disk.Position(), i + 1, s.Head()})
	}
	if err := errors.Join(c.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	return begun, promises
}

// takesAgain opens a chain from what a crash left, gives it all once more, and then its events. It
// must have what was kept, and take the rest.
func takesAgain(
	t *testing.T, disk *memfs.FS, list []arrival, k kept, s *parcel, original *Chain, r recorded,
) (had int, err error) {
	t.Helper()
	at, err := diskOf(disk)
	if err != nil {
		return 0, err
	}
	defer at.Close()
	if at.Head() < k.head {
		return 0, fmt.Errorf("the store is of block %d, and %d was durable", at.Head(), k.head)
	}
	c, err := Open(Options{Store: at, History: at.history})
	if err != nil {
		return 0, err
	}
	defer c.Close()
	for i, a := range list {
		switch err := a.add(c); {
		case errors.Is(err, a.again):
			had++
		case err != nil:
			return had, fmt.Errorf("%s comes again: %w", a.what, err)
		case i < k.arrivals:
			return had, fmt.Errorf("%s was durable, and is lost", a.what)
		}
	}
	if err := c.ShowRecords(); err != nil {
		return had, err
	}
	last := s.blocks[len(s.blocks)-1].Number
	block, epoch := c.votes.Undecided()
	fillBlock, fillEpoch, err := c.firstUnfilled()
	want := s.epochs[len(s.epochs)-1].Epoch + 1
	if err != nil || block != last+1 || epoch != want || fillBlock != last+1 || fillEpoch != want {
		return had, fmt.Errorf(
			"undecided are block %d and epoch %d, and there lack block %d and epoch %d, instead of %d and %d: %v",
			block, epoch, fillBlock, fillEpoch, last+1, want, err)
	}
	s.same(t, c, original)
	if _, err := c.Feed(context.Background(), source(r.events), nil); err != nil {
		return had, err
	}
	for i, want := range r.blocks {
		if got, err := lineOf(c, i+1); err != nil || got != want {
			return had, fmt.Errorf("block %d is\n%s, %v, go-opera's\n%s", i+1, got, err, want)
		}
	}
	return had, at.history.Verify(func(bad error) { err = errors.Join(err, bad) }, nil)
}

// A power cut among votes and records leaves a chain that has what an image had, takes the rest
// when it comes again, and makes the same blocks itself afterwards.
func TestAPowerCutAmongRecordsLosesNothingOfAnImage(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s := send(t, original)
	seed := crashing(t)
	random := rand.New(rand.NewPCG(seed, 0))
	list := s.arrivals(random)
	disk := recordfs.New(memfs.New())
	begun, promises := recordsLife(t, disk, list, random, r.events)
	states, ahead := 0, 0
	for state := range disk.Recording().Some(recordfs.Options{From: begun, Count: crashCount(), Seed: seed}) {
		states++
		var k kept
		for _, p := range promises {
			if p.at <= state.At {
				k = p
			}
		}
		had, err := takesAgain(t, state.FS, list, k, &s, original, r)
		if err != nil {
			t.Fatalf("%v\n%v", err, state)
		}
		if had > k.arrivals {
			ahead++
		}
	}
	t.Logf("%d states after %d images of %d votes and records; %d had more than the last image that was waited for",
		states, len(promises)-1, len(list), ahead)
	if states == 0 || len(promises) < 3 {
		t.Error("nothing was tried")
	}
}

// A kill loses no record of a block that was shown. Votes and records of epochs since the last
// image come again.
func TestAKillLosesNoBlockThatWasShown(t *testing.T) {
	r := record(t)
	original := filledChain(t, r)
	s := send(t, original)
	disk := memfs.New()
	at, err := diskOf(disk)
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	c := newChain(t, at)
	defer closeChain(t, c)
	list := s.arrivals(rand.New(rand.NewPCG(1, 0)))
	for _, a := range list {
		if err := a.add(c); err != nil {
			t.Fatalf("%s: %v", a.what, err)
		}
	}
	if err := c.ShowRecords(); err != nil {
		t.Fatal(err)
	}
	left, again := disk.Clone(), disk.Clone()
	killed, err := diskOf(left)
	if err != nil {
		t.Fatal(err)
	}
	d := openChain(t, killed)
	for _, a := range list {
		if a.block == 0 {
			continue
		}
		if err := a.add(d); !errors.Is(err, a.again) {
			t.Errorf("%s was shown before the kill: %v", a.what, err)
		}
	}
	if err := errors.Join(d.Close(), killed.Close()); err != nil {
		t.Fatal(err)
	}
	if _, err := takesAgain(t, again, list, kept{}, &s, original, r); err != nil {
		t.Fatal(err)
	}
}
