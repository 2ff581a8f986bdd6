package lsm

import (
	"flag"
	"math/rand/v2"
	"syscall"
	"testing"

	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
)

var (
	sealSeed  = flag.Uint64("lsm.seed", 1, "seed of what happens to seals")
	sealLives = flag.Int("lsm.lives", 100, "seals whose processes are killed again and again")
)

// promise is what a seal may say from a position of the record on.
type promise struct {
	from        int
	least, most uint64
	doing       string
}

// sealLife is a seal through processes that are killed.
type sealLife struct {
	t        *testing.T
	r        *rand.Rand
	disk     *recordfs.FS
	promises []promise
	durable  uint64 // the newest sequence whose writing succeeded, or that a process stands on
	tried    uint64 // the newest that was to be written
}

func (l *sealLife) now(doing string, least, most uint64) {
	l.promises = append(l.promises, promise{l.disk.Position(), least, most, doing})
}

// live is a process: it reads the seal, makes it durable, and seals flushes until it is
// killed. Syncs fail now and then.
func (l *sealLife) live() {
	kill := errorfs.New(l.disk)
	f := sealFile{kill, "/SEAL"}
	read, err := f.read()
	if err != nil {
		l.t.Fatal(err)
	}
	if read.sequence < l.durable || read.sequence > l.tried {
		l.t.Fatalf("a start reads %d, %d was durable and %d written", read.sequence, l.durable, l.tried)
	}
	killed := kill.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: 1 + l.r.IntN(12), Ever: true,
		Err: syscall.ESRCH, Part: true})
	failed := kill.Inject(errorfs.Fault{Ops: errorfs.Sync, Nth: 1 + l.r.IntN(5), Err: syscall.EIO})
	l.durable = l.older(read)
	l.now("settle", l.durable, l.tried)
	sealed := read
	if err := f.settle(read); err != nil {
		if killed()+failed() == 0 {
			l.t.Fatal(err)
		}
		l.garble(read)
		return
	}
	l.durable = read.sequence // what an earlier life tried may still show
	for killed() == 0 {
		next := sealed
		next.slot = sealSlot - sealed.slot
		if l.r.IntN(3) == 0 {
			next.list.Size++
		} else {
			l.tried++
			next.sequence = l.tried
		}
		l.now("seal", l.durable, l.tried)
		if err := f.write(next); err != nil {
			l.garble(next)
			continue
		}
		sealed, l.durable = next, next.sequence
	}
}

// garble is what a power cut may do to the slot that was being written, which the record
// of the disk leaves whole because it is a single sector.
func (l *sealLife) garble(s seal) {
	if l.r.IntN(2) == 0 {
		return
	}
	f, err := l.disk.Open("/SEAL", true)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, sealSize)
	for i := range b {
		b[i] = byte(l.r.Uint32())
	}
	if _, err := f.WriteAt(b, s.slot); err != nil {
		l.t.Fatal(err)
	}
	if err := f.Sync(); err != nil {
		l.t.Fatal(err)
	}
}

// older is what a start may fall back to: the disk may damage a slot that is being written,
// even with what the slot holds. Where the other slot is sound, too, that one remains.
func (l *sealLife) older(read seal) uint64 {
	f, err := l.disk.Open("/SEAL", false)
	if err != nil {
		l.t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, sealSize)
	if _, err := f.ReadAt(b, sealSlot-read.slot); err != nil {
		return read.sequence
	}
	other, err := decodeSeal("/SEAL", b)
	if err != nil {
		return read.sequence
	}
	return other.sequence
}

// At every moment of every process a power cut leaves a seal that says at least what was
// promised, and nothing that was not written.
func TestASealThatCrashesAgainAndAgainKeepsItsPromises(t *testing.T) {
	states := 0
	for round := range uint64(*sealLives) {
		l := &sealLife{t: t, r: rand.New(rand.NewPCG(*sealSeed, round)), disk: recordfs.New(memfs.New())}
		if err := (sealFile{l.disk, "/SEAL"}).make(seal{kind: "memory"}); err != nil {
			t.Fatal(err)
		}
		begin := l.disk.Position()
		for range 8 {
			l.live()
		}
		for s := range l.disk.Recording().States(recordfs.Options{From: begin, Count: 300, Seed: *sealSeed}) {
			i := 0
			for i+1 < len(l.promises) && l.promises[i+1].from <= s.At {
				i++
			}
			p := l.promises[i]
			read, err := sealFile{s.FS, "/SEAL"}.read()
			if err != nil || read.sequence < p.least || read.sequence > p.most {
				t.Fatalf("seed %d, round %d, while a process was to %s: sequence %d, %v; promised %d, written %d\n%v",
					*sealSeed, round, p.doing, read.sequence, err, p.least, p.most, s)
			}
			states++
		}
	}
	t.Logf("states=%d", states)
}
