package emitter

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"tarn/opera/inter"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/recordfs"
	"tarn/store/vfs/torntail"
)

func nothing() error { return nil }

// contentOf is a record's content that is told apart from others.
func contentOf(n byte, size int) (id inter.EventID, raw []byte) {
	id[31] = n
	return id, bytes.Repeat([]byte{n}, size)
}

func write(t *testing.T, j *journal, n byte, size int) {
	t.Helper()
	id, raw := contentOf(n, size)
	if err := j.write(id, raw, nil); err != nil {
		t.Fatal(err)
	}
}

// openTestJournal is the journal in a file, with a ledger that has everything.
func openTestJournal(t *testing.T, files vfs.FS, path string) *journal {
	t.Helper()
	j, err := openJournal(files, path, nothing)
	if err != nil {
		t.Fatal(err)
	}
	return j
}

// overwrite writes bytes into the journal's file.
func overwrite(t *testing.T, files vfs.FS, b []byte, at int64) {
	t.Helper()
	f, err := files.Open("/last", true)
	if err == nil {
		_, err = f.WriteAt(b, at)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		t.Fatal(err)
	}
}

// keptBytes are the records that a file keeps.
func keptBytes(t *testing.T, files vfs.FS, path string) (all []byte) {
	t.Helper()
	j := openTestJournal(t, files, path)
	for _, content := range j.kept {
		all = append(all, idOf(content)[31])
	}
	return all
}

// After a power cut at any write the journal has every event that was written since the
// ledger was made durable, and perhaps the one that was being written.
func TestAJournalKeepsWhatTheLedgerMayLack(t *testing.T) {
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 1))
	disk := recordfs.New(memfs.New())
	type moment struct {
		at            int
		settled, last byte
	}
	var moments []moment
	now := moment{}
	j, err := openJournal(disk, "/last", func() error {
		now.settled = now.last
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for n := byte(1); n <= 60; n++ {
		write(t, j, n, r.IntN(halfBytes/8))
		if n%7 == 0 { // it was not connected, and the next one takes its place
			if err := j.withdraw(); err != nil {
				t.Fatal(err)
			}
			write(t, j, n, 100)
		}
		now.at, now.last = disk.Position(), n
		moments = append(moments, now)
	}
	states := 0
	for state := range disk.Recording().Some(recordfs.Options{From: 0, Count: 10 * *crashStates, Seed: s}) {
		states++
		var settled, last byte
		for _, m := range moments {
			if m.at <= state.At {
				settled, last = m.settled, m.last
			}
		}
		all := keptBytes(t, state.FS, "/last")
		for n := settled + 1; n <= last; n++ {
			if !slices.Contains(all, n) && n%7 != 0 {
				t.Fatalf("of the events %d to %d there are %d\n%v", settled+1, last, all, state)
			}
		}
		if len(all) > 0 && all[len(all)-1] < last || len(all) == 0 && last > 0 {
			t.Fatalf("the last is %d, the journal has %d\n%v", last, all, state)
		}
	}
	t.Logf("%d states", states)
}

// A process may be killed at any call. What the next one reads of the journal, and tells others,
// is there after a power cut, whoever had to make it durable.
func TestWhatAStartReadsOfAJournalIsDurable(t *testing.T) {
	states := 0
	for nth := 1; ; nth++ {
		disk := recordfs.New(memfs.New())
		process := errorfs.New(disk)
		died := process.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: nth, Ever: true, Err: syscall.ESRCH, Part: true})
		j, err := openJournal(process, "/emitter/last", nothing)
		for n := byte(1); n <= 4 && err == nil; n++ {
			id, raw := contentOf(n, 100)
			if err = j.write(id, raw, nil); err == nil && n == 2 {
				err = j.withdraw()
			}
		}
		if died() == 0 {
			break
		}
		found, err := openJournal(disk, "/emitter/last", nothing)
		if err != nil {
			t.Fatalf("killed at call %d: %v", nth, err)
		}
		for state := range disk.Recording().States(recordfs.Options{From: disk.Position(), Count: 50}) {
			states++
			left, err := openJournal(state.FS, "/emitter/last", nothing)
			if err != nil || left.id() != found.id() || len(left.kept) != len(found.kept) {
				t.Fatalf("killed at call %d: a start read %v, and after a power cut there is %v, %v\n%v",
					nth, found.id(), left.id(), err, state)
			}
		}
		write(t, found, 9, 100)
		for state := range disk.Recording().States(recordfs.Options{From: disk.Position(), Count: 50}) {
			states++
			if all := keptBytes(t, state.FS, "/emitter/last"); len(all) == 0 || all[len(all)-1] != 9 {
				t.Fatalf("killed at call %d: an event was written then, and after a power cut there are %d\n%v",
					nth, all, state)
			}
		}
	}
	t.Logf("%d states", states)
}

// An own event costs its sectors, no new file and no name.
func TestAnOwnEventWritesItsSectorsAlone(t *testing.T) {
	files := errorfs.New(memfs.New())
	j := openTestJournal(t, files, "/last")
	write(t, j, 1, 300)
	var ops []errorfs.Op
	files.Trace(func(op errorfs.Op, _ string) { ops = append(ops, op) })
	before := j.last.end
	write(t, j, 2, 300)
	if !slices.Equal(ops, []errorfs.Op{errorfs.Write, errorfs.Sync}) || j.last.end-before != vfs.Sector {
		t.Errorf("%v, %d bytes", ops, j.last.end-before)
	}
}

// A half is written over only once the ledger has made durable what is in it.
func TestAJournalThatIsNotSettledForgetsNothing(t *testing.T) {
	files, refused := memfs.New(), errors.New("the ledger cannot be made durable")
	may := nothing
	j, err := openJournal(files, "/last", func() error { return may() })
	if err != nil {
		t.Fatal(err)
	}
	write(t, j, 1, 300)
	may = func() error { return refused }
	for n := byte(2); n < 20; n++ {
		id, raw := contentOf(n, halfBytes/4)
		if err := j.write(id, raw, nil); err != nil {
			if !errors.Is(err, refused) || len(keptBytes(t, files, "/last")) != int(n)-1 {
				t.Errorf("%v after %d events; %d", err, n-1, keptBytes(t, files, "/last"))
			}
			return
		}
	}
	t.Error("a half was written over")
}

// Whatever was written by go-opera or an older program is read, and gone on from.
func TestOlderJournalsAreRead(t *testing.T) {
	id, raw := contentOf(9, 100)
	for name, c := range map[string]struct{ file, want []byte }{
		"an id": {id[:], []byte{9}}, "an id and an event": {append(id[:], raw...), []byte{9}}, "empty": {},
	} {
		files := memfs.New()
		files.Put("/last", memfs.NewBlob(c.file))
		if got := keptBytes(t, files, "/last"); !bytes.Equal(got, c.want) {
			t.Errorf("%s: %d", name, got)
		}
		j := openTestJournal(t, files, "/last")
		write(t, j, 10, 100)
		if got := keptBytes(t, files, "/last"); !bytes.Equal(got, append(c.want, 10)) {
			t.Errorf("%s: %d after one more", name, got)
		}
	}
}

// While a node runs, and after a crash, go-opera finds an id from which it does not go on; after
// an end it finds that of the last event, and may write its own over it.
func TestGoOperaGoesOnAfterAnEndOnly(t *testing.T) {
	files := memfs.New()
	j := openTestJournal(t, files, "/last")
	write(t, j, 1, 100)
	begins := func() inter.EventID { return inter.EventID(files.Blob("/last").Bytes()) }
	if got := begins(); got != noEvent() || got.Epoch() != 1<<32-1 {
		t.Errorf("a running node's file begins with %x", got)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	if got := begins(); got != j.id() {
		t.Errorf("the file begins with %x", got)
	}
	j = openTestJournal(t, files, "/last")
	write(t, j, 2, 100)
	if got := begins(); got != noEvent() {
		t.Errorf("a running node's file begins with %x", got)
	}
	if err := j.close(); err != nil {
		t.Fatal(err)
	}
	other, _ := contentOf(3, 0)
	overwrite(t, files, other[:], 0)
	if got := keptBytes(t, files, "/last"); !bytes.Equal(got, []byte{3}) {
		t.Errorf("after go-opera: %d", got)
	}
}

// Damage to a record that others follow, or to the header, is told of and not taken for the
// end.
func TestADamagedJournalIsRefused(t *testing.T) {
	whole := memfs.New()
	j := openTestJournal(t, whole, "/last")
	for n := byte(1); n <= 3; n++ {
		write(t, j, n, 1000)
	}
	for at, refused := range map[int64]bool{
		int64(idSize + 3): true, int64(idSize + 17): true, headerSize + 3: true, headerSize + 700: true,
		headerSize + 3*512 + 40: true,
		j.last.from + 40:        false, // it may have been torn, and nobody has seen it
		j.last.end + 40:         false,
	} {
		files := whole.Clone()
		overwrite(t, files, []byte{0x5a}, at)
		if _, err := openJournal(files, "/last", nothing); (err != nil) != refused {
			t.Errorf("a wrong byte at %d: %v", at, err)
		}
	}
}

// Whatever happens to the records of a journal, it is refused with file and offset, or has all events
// but one that may have been torn, the last; that one is kept.
func TestDamageNeverTakesEventsInSilence(t *testing.T) {
	s := seed(t)
	r := rand.New(rand.NewPCG(s, 9))
	for round := range 400 {
		whole := memfs.New()
		j := openTestJournal(t, whole, "/last")
		last := byte(1 + r.IntN(20))
		where := map[byte][2]int64{}
		for n := byte(1); n <= last; n++ {
			write(t, j, n, r.IntN(halfBytes/6))
			where[n] = [2]int64{j.last.from, j.last.end}
		}
		all, file := keptBytes(t, whole, "/last"), bytes.Clone(whole.Blob("/last").Bytes())
		at := headerSize + r.IntN(len(file)-headerSize)
		length := 1 + r.IntN(min(2000, len(file)-at))
		for i := at; i < at+length; i++ {
			file[i] ^= byte(1 + r.IntN(255))
		}
		files := memfs.New()
		files.Put("/last", memfs.NewBlob(file))
		again, err := openJournal(files, "/last", nothing)
		if damage := new(torntail.Damage); err != nil {
			if !errors.As(err, &damage) || damage.Path != "/last" || damage.Remedy == "" {
				t.Fatalf("seed %d, round %d: %v", s, round, err)
			}
			continue
		}
		var have []byte
		for _, content := range again.kept {
			have = append(have, idOf(content)[31])
		}
		// The half before the present one is not needed: the ledger has it.
		for n, lies := range where {
			whole := lies[1] <= int64(at) || lies[0] >= int64(at+length)
			if half := lies[0] >= j.last.half && lies[1] <= j.last.half+j.last.size; whole && half &&
				bytes.IndexByte(all, n) >= 0 && bytes.IndexByte(have, n) < 0 {
				t.Fatalf("seed %d, round %d: %d bytes at %d are damaged, the journal had %d, lacks %d and has %d",
					s, round, length, at, all, n, have)
			}
		}
	}
}

// A record that was being written is kept beside the file, and said.
func TestATornRecordIsKept(t *testing.T) {
	files := memfs.New()
	j := openTestJournal(t, files, "/last")
	write(t, j, 1, 100)
	write(t, j, 2, 3000)
	from, end := j.last.from, j.last.end
	b := bytes.Clone(files.Blob("/last").Bytes())
	clear(b[from+1024 : end]) // of its sectors the first ones came to the disk
	files.Put("/last", memfs.NewBlob(b))
	j = openTestJournal(t, files, "/last")
	kept := files.Blob("/last.bad")
	if id := j.id(); id[31] != 1 || j.removed.Offset != from || kept == nil ||
		!bytes.Equal(kept.Bytes(), b[from:from+int64(len(kept.Bytes()))]) {
		t.Errorf("the last is %d, removed %v", id[31], j.removed)
	}
	write(t, j, 2, 100)
	if j = openTestJournal(t, files, "/last"); j.id()[31] != 2 || j.removed.Bytes != 0 {
		t.Errorf("after one more: %v", j.removed)
	}
}

// An event larger than a half gets a larger file, and the one before it is still there.
func TestALargeEventIsKept(t *testing.T) {
	files := memfs.New()
	j := openTestJournal(t, files, "/last")
	write(t, j, 1, 100)
	write(t, j, 2, 3*halfBytes)
	if got := keptBytes(t, files, "/last"); !bytes.Equal(got, []byte{1, 2}) {
		t.Errorf("%d", got)
	}
	if err := j.withdraw(); err != nil {
		t.Fatal(err)
	}
	if got := keptBytes(t, files, "/last"); !bytes.Equal(got, []byte{1}) {
		t.Errorf("%d, once it is withdrawn", got)
	}
}
