package bench

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/store/engine"

	"tarn/internal/figuretable"
)

// Trap is what random updates at a steady rate make the kernel write.
type Trap struct {
	Subject     string
	Took        time.Duration
	Updates     int
	Checkpoints int
	Written     int64 // bytes, by the kernel's account of the process
	Between     int64 // of it outside checkpoints; -1 where it cannot be told
	Device      int64 // bytes written to the whole disk; -1 if unknown
	Grown       int64 // bytes that the store's file became longer
}

// trapTick is the length of a revision: as in the chains, half a second.
const trapTick = 500 * time.Millisecond

func (t task) trap(s Subject) (_ *Trap, err error) {
	st, err := openSeam(s, t.Data, budget{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	src := newSource(NewRows(t.Config.Rows), t.Config.Seed, 6)
	r := &Trap{Subject: s.Name}
	checkpoint, every, size := int64(0), t.Config.TrapEvery, st.Stats().Size
	err = r.run(t.Data, t.Config.Trap, t.Config.TrapRate, func(n int) error {
		if err := st.Begin(); err != nil {
			return err
		}
		for at := 0; at < n; at += batchRows {
			if err := st.put(src.changes(), min(batchRows, n-at)); err != nil {
				return err
			}
		}
		return errors.Join(st.finish(), st.Publish())
	}, func(elapsed time.Duration) error {
		if elapsed < every*time.Duration(r.Checkpoints+1) {
			return nil
		}
		r.Checkpoints++
		c, err := checkpointNow(st, t.Data)
		checkpoint += c.Written
		return err
	})
	r.Between, r.Grown = r.Written-checkpoint, st.Stats().Size-size
	return r, err
}

// run calls change with the updates of each tick until the time is up, and after
// each looks whether a checkpoint is due.
func (r *Trap) run(
	dir string, d time.Duration, rate int, change func(n int) error, due func(time.Duration) error,
) error {
	if err := figuretable.FlushDisk(dir); err != nil {
		return err
	}
	before, err := fileWrites()
	if err != nil {
		return err
	}
	device := figuretable.DeviceWrites(dir)
	start := time.Now()
	ticks := max(int(d/trapTick), 1)
	for i := range ticks {
		n := int(float64(rate) * trapTick.Seconds())
		if err := change(n); err != nil {
			return err
		}
		r.Updates += n
		elapsed := time.Duration(i+1) * trapTick
		time.Sleep(time.Until(start.Add(elapsed)))
		if err := due(elapsed); err != nil {
			return err
		}
	}
	r.Took = time.Since(start)
	after, err := fileWrites()
	if err != nil {
		return err
	}
	r.Written = after - before
	if err := figuretable.FlushDisk(dir); err != nil { // what is under way to the disk
		return err
	}
	if r.Device = -1; device >= 0 {
		r.Device = figuretable.DeviceWrites(dir) - device
	}
	return nil
}

// bareTrap changes random places of a file in a shared mapping, without advice
// to the kernel, as many stores do.
func (t task) bareTrap() (_ *Trap, err error) {
	size := int64(t.Config.Rows) * (KeySize + ValueSize) * 3 / 2 // about the page store's
	f, err := os.Create(filepath.Join(t.Data, "mapped"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	piece := make([]byte, 1<<20)
	for at := int64(0); at < size; at += int64(len(piece)) {
		if _, err := f.Write(piece); err != nil {
			return nil, err
		}
	}
	area, err := unix.MmapPtr(int(f.Fd()), 0, nil, uintptr(size), unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		return nil, fmt.Errorf("map %d bytes: %w", size, err)
	}
	defer func() { err = errors.Join(err, unix.MunmapPtr(area, uintptr(size))) }()
	src := newSource(NewRows(t.Config.Rows), t.Config.Seed, 7)
	r := &Trap{Subject: "shared mapping without advice", Between: -1}
	return r, r.run(t.Data, t.Config.TrapBare, t.Config.TrapRate, func(n int) error {
		for range n {
			at := src.rng.Int64N(size/8) * 8
			*(*uint64)(unsafe.Add(area, at)) = src.rng.Uint64()
		}
		return nil
	}, func(time.Duration) error { return nil })
}

// traps measures the map modes and a bare mapping.
func (p *parent) traps() (*Section, error) {
	s := &Section{}
	for _, of := range p.config.selectedSubjects() {
		if of.Kind != engine.Page || of.Mode.String() == "locked" {
			continue
		}
		dir, err := p.copyOf(of)
		if err != nil {
			return nil, err
		}
		p.logf("random updates at a steady rate: %s", of.Name)
		r, err := call[Trap](p, task{Work: workTrap, Subject: of.Name, Data: dir})
		if err != nil {
			return nil, err
		}
		s.Traps = append(s.Traps, r)
		if err := os.RemoveAll(dir); err != nil {
			return nil, err
		}
	}
	dir := p.path("work")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	p.logf("random updates at a steady rate: bare mapping")
	r, err := call[Trap](p, task{Work: workBareTrap, Data: dir})
	if err != nil {
		return nil, err
	}
	s.Traps = append(s.Traps, r)
	s.trapTable(p.config)
	return s, os.RemoveAll(dir)
}

func (s *Section) trapTable(c Config) {
	t := figuretable.Table{
		Title: "Random updates at a steady rate",
		How: fmt.Sprintf(
			"%s updates of random rows a second, a published revision every %s s, a checkpoint every %s s. Written: "+
				"/proc/self/io write_bytes. Disk: what the whole device was written meanwhile (/proc/diskstats), the "+
				"kernel's write-back after the end included; others' writes count too. "+
				"The last row is no store: 8 bytes at random places of a file as large, in a plain MAP_SHARED "+
				"mapping, the pages read in as the kernel likes.",
			figuretable.Count(float64(c.TrapRate)), figuretable.Significant(trapTick.Seconds()),
			figuretable.Significant(c.TrapEvery.Seconds())),
		Head: []string{"store", "seconds", "updates", "checkpoints", "MB written", "between checkpoints, MB",
			"bytes written / update", "disk, MB", "disk, MB/s"},
	}
	for _, r := range s.Traps {
		between, disk, rate := figuretable.None, figuretable.None, figuretable.None
		if r.Between >= 0 {
			between = figuretable.Megabytes(r.Between)
		}
		if r.Device >= 0 {
			disk, rate = figuretable.Megabytes(r.Device), figuretable.Significant(float64(r.Device)/1e6/r.Took.Seconds())
		}
		checkpoints := figuretable.None
		if r.Checkpoints > 0 {
			checkpoints = fmt.Sprint(r.Checkpoints)
		}
		t.Add(r.Subject, figuretable.Significant(r.Took.Seconds()), figuretable.Count(float64(r.Updates)), checkpoints,
			figuretable.Megabytes(r.Written), between,
			figuretable.Count(float64(r.Written)/float64(r.Updates)), disk, rate)
		if r.Subject == "mapped_private" {
			s.Targets.AtMost("KB written between checkpoints at this rate, "+growth, float64(r.Between)/1e3,
				inodes(r.Grown), "KB")
		}
	}
	s.Tables = append(s.Tables, t)
}
