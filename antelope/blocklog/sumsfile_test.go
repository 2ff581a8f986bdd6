package blocklog

import (
	"bytes"
	"errors"
	"log/slog"
	"math/rand/v2"
	"strings"
	"testing"

	"tarn/antelope/types"
	"tarn/store/vfs/memfs"
	"tarn/store/vfs/torntail"
)

const sumsPath = testDir + "/" + SumsName

// forgeries of a block are the block with another signature, and with another extension: its id and
// its transactions stay.
func forgeries(t *testing.T, s sample) map[string][]byte {
	t.Helper()
	var signed, extended types.SignedBlock
	must(t, errors.Join(types.Decode(s.data, &signed), types.Decode(s.data, &extended)))
	signed.ProducerSignature.Compact[20] ^= 4
	extended.Extensions[0].Data[3] ^= 4
	return map[string][]byte{"signature": signed.Append(nil), "extension": extended.Append(nil)}
}

// extendedBlock is the next block of a chain, with an extension behind its transactions.
func extendedBlock(t *testing.T, c *chain) sample {
	t.Helper()
	c.next(300)
	b, err := decodeBlock(c.last.data)
	must(t, err)
	b.Extensions = append(b.Extensions, types.Extension{Type: 2, Data: []byte("additional signatures")})
	c.last = sample{b.BlockNum(), b.ID(), b.Append(nil)}
	return c.last
}

// A signature or an extension that was damaged while the log was closed is named with its file and
// offset, and a hard replay keeps the blocks before it: also where the block has moved since.
func TestDamageThatNoBlockNamesIsFound(t *testing.T) {
	moves := map[string]struct {
		before, after Options
		move          func(t Tool) error
	}{
		"where it was":      {},
		"pruned since":      {after: Options{RetainBlocks: ptr(uint32(100))}},
		"vacuumed since":    {before: Options{RetainBlocks: ptr(uint32(20))}},
		"in a partition":    {before: Options{Stride: ptr(uint32(4))}, after: Options{Stride: ptr(uint32(4))}},
		"trimmed in front":  {move: func(t Tool) error { return t.TrimFront(9, "") }},
		"trimmed at an end": {move: func(t Tool) error { return t.TrimEnd(25) }},
	}
	for name, x := range moves {
		t.Run(name, func(t *testing.T) {
			fs := memory()
			set := func(o Options) Options { o.Dir, o.FS, o.Now = testDir, fs, testOptions(nil).Now; return o }
			l := mustOpen(t, set(x.before))
			c := newChain(newRand(t), 3)
			begin(t, l, c)
			add(t, l, c, 10, 900)
			s := extendedBlock(t, c)
			must(t, l.Append(s.num, s.id, s.data))
			add(t, l, c, 18, 900)
			must(t, l.Close())
			if x.move != nil {
				must(t, x.move(Tool{Dir: testDir, FS: fs, Now: testOptions(nil).Now}))
			}
			must(t, mustOpen(t, set(x.after)).Close())
			for what, forged := range forgeries(t, s) {
				hurt := fs.mem.Clone()
				o := set(x.after)
				o.FS = testFS{hurt, hurt}
				l := mustOpen(t, o)
				at, _, path := whereIs(t, l, s.num)
				write(t, hurt, path, at, forged)
				b, err := l.ReadRaw(s.num)
				told := new(torntail.Damage)
				if !errors.As(err, &told) || told.Path != path || told.Offset != at ||
					!strings.Contains(told.Detail, sumsPath) {
					t.Errorf("%s: %d bytes, %v", what, len(b), err)
				}
				if _, err := l.ReadRaw(s.num + 1); err != nil {
					t.Errorf("%s: the next block: %v", what, err)
				}
				must(t, l.Close())
				if x.after.RetainBlocks != nil || x.after.Stride != nil {
					continue
				}
				done, err := Tool{Dir: testDir, FS: o.FS, Now: o.Now}.Repair(0)
				if err != nil || done.Head != s.num-1 || done.Reason == nil {
					t.Errorf("%s: a repair keeps block %d: %v, %v", what, done.Head, done.Reason, err)
				}
			}
		})
	}
}

func write(t *testing.T, fs *memfs.FS, path string, at int64, b []byte) {
	t.Helper()
	f, err := fs.Open(path, true)
	must(t, err)
	_, err = f.WriteAt(b, at)
	must(t, errors.Join(err, f.Close()))
}

// Whatever is done to the file of checksums, or if it is another log's, all blocks are read, and
// the log takes more; and the file is believed where it is right.
func TestDamagedChecksumsHarmNoBlock(t *testing.T) {
	r := newRand(t)
	fs := memory()
	o := testOptions(fs)
	l := mustOpen(t, o)
	c := newChain(r, 3)
	begin(t, l, c)
	want := add(t, l, c, 30, 300)
	must(t, l.Close())
	intact := fs.mem.Blob(sumsPath).Bytes()
	for range 300 {
		hurt := fs.mem.Clone()
		b, from, to, how := spoil(r, intact)
		if r.IntN(20) == 0 {
			b, from, to, how = anotherLogs(t, r), 0, len(b), "another log's"
		}
		hurt.Put(sumsPath, memfs.NewBlob(b))
		o.FS = testFS{hurt, hurt}
		var said bytes.Buffer
		o.Logger = slog.New(slog.NewTextHandler(&said, nil))
		l := mustOpen(t, o)
		if err := check(l, want); err != nil {
			t.Errorf("%s: %v", how, err)
		}
		from, to = max(from, sumsHeaderBytes), min(to, len(b))
		wrong := from < to && len(bytes.Trim(b[from:to], "\x00")) > 0 && from < len(intact) &&
			!bytes.Equal(b[from:to], intact[from:to])
		if text := said.String(); wrong &&
			(!strings.Contains(text, sumsPath) || strings.Count(text, "level=WARN") != 1) {
			t.Errorf("%s: the log says %q", how, text)
		}
		more := chain{rand: rand.New(rand.NewPCG(1, 2)), last: want[len(want)-1]}
		add(t, l, &more, 3, 300)
		must(t, l.Close())
		l = mustOpen(t, o)
		at, _, path := whereIs(t, l, more.last.num)
		header, _, _ := unchecked(more.last.data)
		damage(t, hurt, path, at+int64(header)+9, 1)
		if _, err := l.ReadRaw(more.last.num); err == nil {
			t.Errorf("%s: what is appended since has no checksum", how)
		}
		must(t, l.Close())
	}
}

// anotherLogs is the file of checksums of another log of the same blocks' numbers.
func anotherLogs(t *testing.T, r *rand.Rand) []byte {
	fs := memory()
	l := mustOpen(t, testOptions(fs))
	c := newChain(r, 3)
	begin(t, l, c)
	add(t, l, c, 30, 300)
	must(t, l.Close())
	return fs.mem.Blob(sumsPath).Bytes()
}

// A log that begins anew, below or above what it had, or is cut and goes on otherwise, is held to what was
// appended last; also if another program wrote the blocks up to behind the cut.
func TestChecksumsFollowALogThatBeginsAnew(t *testing.T) {
	r := newRand(t)
	for range 30 {
		fs := memory()
		o := testOptions(fs)
		if r.IntN(2) == 0 {
			o.Stride = ptr(uint32(5))
		}
		l := mustOpen(t, o)
		c := newChain(r, 50)
		begin(t, l, c)
		want := add(t, l, c, 20, 300)
		theirs := 0
		if r.IntN(2) == 0 {
			must(t, l.Close())
			must(t, fs.Remove(sumsPath))
			l, theirs = mustOpen(t, o), len(want)
			want = append(want, add(t, l, c, 3, 300)...)
			must(t, l.Flush())
		}
		if r.IntN(2) == 0 {
			at := r.IntN(len(want) - 1)
			must(t, l.Truncate(want[at].num))
			want, theirs = want[:at+1], min(theirs, at+1)
			c.last = want[at]
		} else if first := uint32(20 + r.IntN(1000)); o.Stride == nil {
			c = newChain(r, first)
			want, theirs = begin(t, l, c), 0
		}
		want = append(want, add(t, l, c, 10, 300)...)
		must(t, l.Close())
		l = mustOpen(t, o)
		must(t, check(l, want))
		if size := fs.mem.Blob(sumsPath).Size(); size > sumsHeaderBytes+sumBytes*40 {
			t.Errorf("%d bytes of checksums", size)
		}
		for _, s := range want[theirs:] {
			if record := l.stored.read(s.num, 1); bytes.Equal(record, make([]byte, sumBytes)) {
				t.Errorf("block %d has no checksum", s.num)
			}
		}
		must(t, l.Close())
	}
}
