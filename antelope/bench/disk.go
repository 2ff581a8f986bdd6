package bench

import (
	"context"
	"fmt"
	"path/filepath"
	"sync"
	"time"

	"tarn/antelope/oracle"
	"tarn/antelope/types"
	"tarn/internal/figures"
)

// Disk is what a node had written in a while. Sizes are in bytes.
type Disk struct {
	Subject, Mode, Work string
	Took                time.Duration
	Transfers           int
	Written             int64 // by the process, as the kernel counts it
	Device              int64 // to the whole disk, by whoever; -1 where the kernel does not tell
	BlockLog            int64 // that the block log and its index grew
}

// Rest is what was written for anything but the block log.
func (d Disk) Rest() int64 { return d.Written - d.BlockLog }

// The works of section disk.
const (
	workLoad = "load"
	workIdle = "idle"
	workSlow = "a few"
)

func (b *bench) disk() (*Section, error) {
	c, err := b.transfers()
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for _, m := range []struct{ subject, mode string }{{tarn, "mapped_private"}, {tarn, "mapped"}, {nodeos, "mapped"}} {
		p := plan{subject: m.subject, snapshot: c.snapshot, produce: true, extra: []string{"--database-map-mode", m.mode}}
		err := b.with(p, func(n *node) error {
			for _, w := range []struct {
				name   string
				length time.Duration
				rate   int
			}{{workLoad, b.config.Load, b.config.LoadRate}, {workIdle, b.config.Idle, 0}, {workSlow, b.config.Slow, b.config.SlowRate}} {
				b.logf("disk: %s %s: %s", m.subject, m.mode, w.name)
				d, err := b.diskOnce(n, w.length, w.rate)
				if err != nil {
					return fmt.Errorf("%s: %w", w.name, err)
				}
				d.Subject, d.Mode, d.Work = m.subject, m.mode, w.name
				s.Disks = append(s.Disks, d)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	s.diskTable(b)
	return s, nil
}

// diskOnce counts while so many transfers per second come.
func (b *bench) diskOnce(n *node, length time.Duration, rate int) (d Disk, err error) {
	if err := figures.FlushDisk(b.config.Dir); err != nil {
		return d, err
	}
	w, err := n.watch()
	if err != nil {
		return d, err
	}
	defer w.close()
	blocks := filepath.Join(n.Dir(), "blocks")
	logged := func() int64 { return sizes(blocks, "blocks.log", "blocks.index") }
	begin := time.Now()
	if d.Written, err = n.written(); err != nil {
		return d, err
	}
	log, device := logged(), figures.DeviceWrites(b.config.Dir)
	if err := b.steady(n, length, rate); err != nil {
		return d, err
	}
	after, err := n.written()
	if err != nil {
		return d, err
	}
	d.Written, d.BlockLog, d.Took = after-d.Written, logged()-log, time.Since(begin)
	if err := figures.FlushDisk(b.config.Dir); err != nil { // what is on its way
		return d, err
	}
	if d.Device = -1; device >= 0 {
		d.Device = figures.DeviceWrites(b.config.Dir) - device
	}
	err = w.read()
	d.Transfers = w.accepted()
	return d, err
}

// steady sends so many transfers per second for a while, as a peer; none with rate 0.
func (b *bench) steady(n *node, length time.Duration, rate int) error {
	chain, head, _, err := b.head(n)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(b.ctx, length)
	defer cancel()
	if rate == 0 {
		<-ctx.Done()
		return b.ctx.Err()
	}
	link, err := oracle.DialPeer(b.ctx, n.P2P(), chain)
	if err != nil {
		return err
	}
	defer link.Close()
	queue := make(chan *types.PackedTransaction)
	failed := make(chan error, 1)
	var wg sync.WaitGroup
	wg.Go(func() {
		_, err := link.Transactions(b.ctx, queue, rate)
		failed <- err
	})
	defer wg.Wait()
	defer close(queue)
	source := oracle.NewTransferSource(b.config.Seed, chain, head, 1)
	for {
		p, err := source.Next()
		if err != nil {
			return err
		}
		select {
		case queue <- p:
		case err := <-failed:
			return err
		case <-ctx.Done():
			return b.ctx.Err()
		}
	}
}

func (s *Section) diskTable(b *bench) {
	c := b.config
	t := figures.Table{Title: "Bytes written",
		How: fmt.Sprintf("%d transfers per second for %s, then nothing for %s, then %d per second for %s. Written is what the kernel counts for the process "+
			"when a page of a file becomes dirty, less what is deleted before it gets to the disk; the disk counts all that anybody wrote, the file system's own included.",
			c.LoadRate, c.Load, c.Idle, c.SlowRate, c.Slow),
		Head: []string{"node", "mode", "work", "transfers", "written MB", "block log MB", "rest MB", "rest KB/s", "rest B a transfer", "disk MB"}}
	for _, d := range s.Disks {
		each, device := figures.None, figures.None
		if d.Transfers > 0 {
			each = figures.Significant(float64(d.Rest()) / float64(d.Transfers))
		}
		if d.Device >= 0 {
			device = figures.Megabytes(d.Device)
		}
		t.Add(d.Subject, d.Mode, d.Work, figures.Count(float64(d.Transfers)), figures.Megabytes(d.Written), figures.Megabytes(d.BlockLog),
			figures.Megabytes(d.Rest()), figures.Significant(float64(d.Rest())/1e3/d.Took.Seconds()), each, device)
		if d.Subject == tarn && d.Mode == "mapped_private" && d.Work == workSlow {
			s.Targets.AtMost(fmt.Sprintf("KB/s written at %d transfers per second, block log left out", c.SlowRate), float64(d.Rest())/1e3/d.Took.Seconds(), 12, "KB/s")
		}
	}
	s.Tables = append(s.Tables, t)
}
