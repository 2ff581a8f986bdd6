// Package procsampler reads a process again and again by the kernel's files, and keeps the
// readings. Of a process that this program starts it also keeps the whole life: how it
// was started, what it wrote in all, how it ended.
//
// It never changes or asks a process that it did not start. Those that it started end
// with it.
package procsampler

import (
	"errors"
	"io/fs"
	"time"

	"golang.org/x/sys/unix"

	"tarn/bench/record"
	"tarn/internal/figuretable"
	"tarn/procusage"
)

// Options say what is read, and how often. Threads and the page table, whose walk is
// dear for a large process, are read more rarely: no more often than Pages, and so that
// walks take at most a share of 1/WalkShare of the time.
type Options struct {
	PID       int
	Pages     time.Duration
	WalkShare int
	Around    bool // also its threads' curves, its files, their disk, its network
}

// Watcher keeps the readings of one process. One goroutine uses it.
type Watcher struct {
	Began   time.Time
	Samples []record.Sample
	ByName  map[string]float64 // CPU seconds by thread name, of those that ran at the last walk
	Walk    time.Duration      // the slowest walk of the page table
	Peak    int64              // the most that was resident since the process began, in bytes
	// a folder on the disk whose bytes are in the samples, with Around; "" if none is counted
	Device string

	options Options
	first   procusage.Process
	threads map[string]time.Duration // at the beginning
	next    time.Time                // when the page table may be walked again

	files   files
	device  int64 // the disk's count at the beginning
	network procusage.Network
	apart   error // why there is no network
}

// ErrOther says that the process is gone, and that another has its number.
var ErrOther = errors.New("another process has its number")

// New begins to watch with a first reading. Only a process's own user and root may.
func New(o Options) (*Watcher, error) {
	w := &Watcher{options: o, Began: time.Now()}
	var err, terr error
	w.first, err = procusage.Read(o.PID)
	w.threads, terr = procusage.ReadThreads(o.PID)
	if o.Around {
		w.files = files{began: w.Began, grown: map[string]*record.File{}}
		terr = errors.Join(terr, w.files.read(o.PID))
		w.Device = w.files.device()
		w.device = figuretable.DeviceWrites(w.Device)
		w.network, w.apart = procusage.ReadNetwork(o.PID)
	}
	return w, errors.Join(err, terr, w.Sample())
}

// Files are those that were written, as far as readings saw them. It reads once more if the
// process is there.
func (w *Watcher) Files() []record.File {
	if w.options.Around {
		w.files.read(w.options.PID) //nolint:errcheck // it may have ended
	}
	return w.files.list()
}

// Network says whose network the samples count: that which others share, "shared"; one that
// this program is not in, "own"; or none, "".
func (w *Watcher) Network() string {
	switch {
	case !w.options.Around || w.apart != nil:
		return ""
	case w.network.Own:
		return record.NetworkOwn
	}
	return record.NetworkShared
}

// FromBirth begins to watch a process that was just started: its counters began at 0, and
// there is no reading yet.
func FromBirth(o Options) *Watcher {
	return &Watcher{options: o, Began: time.Now(), first: procusage.Process{Start: time.Now()}}
}

// Gone tells whether a failure of [Watcher.Sample] only says that the process has ended.
func Gone(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ESRCH) || errors.Is(err, ErrOther)
}

// Sample adds a reading.
func (w *Watcher) Sample() error {
	p, err := procusage.Read(w.options.PID)
	if err != nil {
		return err
	}
	if p.Start.Sub(w.first.Start).Abs() > time.Minute/2 {
		return ErrOther
	}
	s := w.sample(p)
	w.Peak = max(w.Peak, p.PeakSize)
	if err := w.around(&s); err != nil {
		return err
	}
	if !time.Now().Before(w.next) {
		if err := w.detail(&s); err != nil {
			return err
		}
	}
	w.Samples = append(w.Samples, s)
	return nil
}

func (w *Watcher) sample(p procusage.Process) record.Sample {
	return record.Sample{
		Seconds: time.Since(w.Began).Seconds(),
		User:    (p.User - w.first.User).Seconds(), System: (p.System - w.first.System).Seconds(),
		Anonymous: p.Memory.Anonymous, File: p.Memory.File, Shared: p.Memory.Shared, Swap: p.Memory.Swap,
		Read: p.Disk.Read - w.first.Disk.Read, Written: p.Disk.Net() - w.first.Disk.Net(),
		MajorFaults: p.MajorFaults - w.first.MajorFaults, Threads: p.Threads,
	}
}

// around reads what the kernel counts around the process.
func (w *Watcher) around(s *record.Sample) error {
	if !w.options.Around {
		return nil
	}
	if w.Device != "" {
		s.Device = figuretable.DeviceWrites(w.Device) - w.device
	}
	if w.apart != nil {
		return nil
	}
	n, err := procusage.ReadNetwork(w.options.PID)
	s.NetworkIn, s.NetworkOut = n.In-w.network.In, n.Out-w.network.Out
	return err
}

// detail reads what is too dear for each reading.
func (w *Watcher) detail(s *record.Sample) error {
	begin := time.Now()
	pages, err := procusage.ReadPages(w.options.PID)
	if err != nil {
		return err
	}
	took := time.Since(begin)
	w.Walk, w.next = max(w.Walk, took), begin.Add(max(w.options.Pages, time.Duration(w.options.WalkShare)*took))
	s.PrivateDirty = pages.PrivateDirty
	threads, err := procusage.ReadThreads(w.options.PID)
	if err != nil {
		return err
	}
	w.ByName = map[string]float64{}
	for name, used := range threads {
		w.ByName[name] = max(0, used-w.threads[name]).Seconds()
	}
	if w.options.Around {
		s.ByThread = w.ByName
		return w.files.read(w.options.PID)
	}
	return nil
}
