package suite

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"tarn/bench/load"
	"tarn/bench/record"
	"tarn/bench/writecounters"
	"tarn/internal/figuretable"
)

// Names of the suites of what a node writes: one that makes blocks, one that follows another.
const (
	Disk       = "disk"
	DiskFollow = "disk-follow"
)

// Names of their values.
const (
	running   = "written while it serves"
	year      = "written in a year"
	lasts     = "a disk lasts"
	device    = "written to the device"
	stateGrew = "state grew"
)

const secondsOfYear = 365 * 24 * 3600

func diskSuite() Suite {
	return Suite{
		Name: Disk,
		How: "Transfers are sent over HTTP at a steady rate, then the process is ended. The bytes written " +
			"in a year are the sum of two terms: the bytes per second while the node serves, and the bytes " +
			"written at the end (a checkpoint), divided by --checkpoint-every. The years are those of a " +
			"disk rated for --tbw terabytes. The bytes of the device are those of the whole disk, of all " +
			"programs, and include the end of the process.",
		Article: "writes to the drive at 10-15 and 15-40 transactions per second, and the years that it lasts (E5, " +
			"E6, E8, W5, W6)",
		Time:    "--for",
		Disk:    "the chain, and what is written",
		options: diskOptions,
		needs:   serves,
		chart: record.Chart{Metric: running, Title: "bytes written while it serves", Articles: []record.Article{
			{Name: "EOS article, mapped, 10 to 15 transactions per second", Value: 4e6},
			{Name: "EOS article, mapped_private, 10 to 15 transactions per second", Value: 12e3},
		}},
		metrics: counts(of(byteRate, running), of(bytesUnit, atEnd), of(yearly, year), more(years, lasts),
			of(bytesUnit, device, blocksGrew, stateGrew), of(percent, share), of(seconds, nearAll)),
		collect: []collector{privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.with(ctx, func(s *server) error { return writing{l, s, s}.measure(ctx, Disk, found) })
		},
	}
}

func diskFollowSuite() Suite {
	return Suite{
		Name: DiskFollow,
		How: "As `disk`, for a node that makes no blocks: the transfers are sent to another node, the " +
			"source. The measured node follows the source, and must have all its blocks at the end. Both share " +
			"the processors.",
		Article: "the same, of a node that makes no blocks itself",
		Time:    "--for",
		Disk:    "the chain, twice, and what is written",
		options: func(o *record.Options) []Option {
			return append(diskOptions(o), sourceOption(o), sourceDirOption(o))
		},
		needs: keepsUp,
		chart: record.Chart{Metric: running, Title: "bytes written while it follows", Articles: []record.Article{
			{Name: "EOS article, mapped, 10 to 15 transactions per second", Value: 4e6},
			{Name: "EOS article, mapped_private, 10 to 15 transactions per second", Value: 12e3},
		}},
		metrics: counts(of(byteRate, running), of(bytesUnit, atEnd), of(yearly, year), more(years, lasts),
			of(bytesUnit, blocksGrew, stateGrew), of(percent, share)),
		collect: []collector{privateMemory()},
		run: func(ctx context.Context, l *life, found *findings) error {
			return l.withFollower(ctx, nil, func(from, s *server) error {
				return writing{l, s, from}.measure(ctx, DiskFollow, found)
			})
		},
	}
}

func diskOptions(o *record.Options) []Option {
	return []Option{
		rateOption(o),
		{"for", "how long disk and disk-follow take in each round", Seconds{&o.For}, nil},
		{"checkpoint-every", "time between checkpoints that the projection to a year assumes", Seconds{&o.Between},
			wrongIf(!(o.Between > 0), "%g s between checkpoints: above 0", o.Between)},
		{"tbw", "terabytes that the disk is rated for, for the years that it lasts in disk and disk-follow; 0: unknown", &o.Rating,
			wrongIf(!(o.Rating >= 0), "%g terabytes that the disk is rated for: not below 0", o.Rating)},
	}
}

// footprint is what a node's files and its disk were at a moment, in bytes.
type footprint struct {
	blocks, state int64
	device        int64 // written to the whole disk so far; -1: the kernel does not tell
}

func footprintOf(dir string) footprint {
	return footprint{occupancy(filepath.Join(dir, "blocks")), stateBytes(dir), figuretable.DeviceWrites(dir)}
}

// writing is a node that writes, while transfers are sent to itself or to the one that it follows.
type writing struct {
	l  *life
	s  *server
	to *server
}

// measure measures what the node writes, and then ends it.
func (w writing) measure(ctx context.Context, suite string, found *findings) error {
	s, o := w.s, w.l.options
	if err := figuretable.FlushDisk(s.dir); err != nil { // what others wrote before is not in the device's bytes
		return err
	}
	var first writecounters.Told
	before := footprintOf(s.dir)
	result, used, err := w.sendSteadily(ctx, func() (err error) {
		if s.Metrics != "" {
			first, err = writecounters.Read(ctx, s.Metrics)
		}
		return err
	})
	if err != nil {
		return err
	}
	told, err := toldSince(ctx, s, first, used.elapsed)
	if err != nil {
		return err
	}
	_, wrote, err := s.stop(ctx)
	if err != nil {
		return err
	}
	if err := figuretable.FlushDisk(s.dir); err != nil {
		return err
	}
	after := footprintOf(s.dir)
	perSecond := float64(used.wrote) / used.elapsed
	aYear := (perSecond + float64(wrote)/o.Between) * secondsOfYear
	values := map[string]float64{
		running: perSecond, atEnd: float64(wrote), year: aYear,
		blocksGrew: float64(after.blocks - before.blocks), stateGrew: float64(after.state - before.state),
		share: used.share(),
	}
	if o.Rating > 0 && aYear > 0 {
		values[lasts] = o.Rating * 1e12 / aYear
	}
	if s == w.to && result.Answers > 0 {
		values[nearAll] = result.Latencies.Quantile(0.99) / 1e9
	}
	if s == w.to && before.device >= 0 && after.device >= 0 {
		values[device] = float64(after.device - before.device)
	}
	kept := found.keep(suite, s.Child, values)
	kept.ByCause, kept.ByFiles = told.State, told.Files
	return nil
}

// sendSteadily sends transfers at the steady rate, and counts what that costs the node, which has all
// blocks of the one that they are sent to when it returns.
func (w writing) sendSteadily(ctx context.Context, begin func() error) (*load.Result, cost, error) {
	n, o := w.l.network.(Serving), w.l.options
	transfers, err := n.Transfers(w.to.URL, w.l.seed())
	if err != nil {
		return nil, cost{}, err
	}
	length := lengthOf(o.For)
	return w.s.charge(func(ready func() error) (result *load.Result, err error) {
		var end time.Time
		begun := func() error {
			end = time.Now().Add(length)
			return errors.Join(begin(), ready())
		}
		if o.Rate == 0 {
			result, err = &load.Result{}, begun()
		} else {
			result, err = load.Open(ctx, o.Rate, length, transfers, n.Accepted, begun)
		}
		if err == nil {
			err = pause(ctx, time.Until(end)) // the last of a few transfers is sent long before
		}
		if err == nil && w.s != w.to {
			err = w.s.level(ctx, w.to)
		}
		return result, err
	})
}

// toldSince is what a node says it wrote since it said so first, per second of a time.
func toldSince(ctx context.Context, s *server, first writecounters.Told, elapsed float64) (writecounters.Told, error) {
	if s.Metrics == "" {
		return writecounters.Told{}, nil
	}
	told, err := writecounters.Read(ctx, s.Metrics)
	if err == nil {
		told, err = told.Since(first)
	}
	if err != nil {
		return writecounters.Told{}, err
	}
	for _, all := range []map[string]float64{told.State, told.Files} {
		for name := range all {
			all[name] /= elapsed
		}
	}
	return told, nil
}
