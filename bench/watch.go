package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"tarn/bench/procsampler"
	"tarn/bench/record"
	"tarn/bench/report"
	"tarn/bench/writecounters"
)

// Readings come each second; those that are dear take at most a five-hundredth of the time.
const (
	every       = time.Second
	pagesEvery  = 10 * time.Second
	walkedShare = 500
)

// Watched says what is watched.
type Watched struct {
	PID    int
	For    time.Duration
	Rating float64 // terabytes that the disk may be written; 0: not known
	URL    string  // of the node's API, which is asked what it writes for; "" for none
}

func watchCommand() *cobra.Command {
	var o Watched
	var f files
	c := &cobra.Command{
		Use:   "watch --pid N",
		Short: "Watch a process, of this program or any other, and say what it costs",
		Long: "Watch a process, only with the kernel's files, and print how much processor time, memory and disk it\n" +
			"used, and how much it would write in a year. An interrupt ends the watch early, with the report of\n" +
			"the time until then.",
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.PID <= 0 || o.For < time.Second || !(o.Rating >= 0) {
				return usage(errors.New("--pid must be a process, --for at least 1s, --tbw not below 0"))
			}
			if o.URL != "" {
				if err := writecounters.CheckURL(o.URL); err != nil {
					return usage(err)
				}
			}
			if err := f.check(); err != nil {
				return err
			}
			return watch(c, o, f)
		},
	}
	c.Flags().IntVar(&o.PID, "pid", 0, "id of the process")
	c.Flags().DurationVar(&o.For, "for", 10*time.Minute, "how long to watch")
	c.Flags().Float64Var(&o.Rating, "tbw", 600,
		"terabytes that the disk is rated for, to calculate how many years it lasts; 0: unknown")
	c.Flags().StringVar(&o.URL, "url", "", "address of the node's API, such as http://127.0.0.1:8888, to show "+
		"also why the node writes")
	f.flags(c, "", "")
	return c
}

// watch makes the reports of one watch.
func watch(c *cobra.Command, o Watched, f files) error {
	w, broken := Watch(c.Context(), o)
	if w == nil {
		return failed(broken)
	}
	// The table first: it is there even if a file can't be written.
	err := report.WriteWatch(c.OutOrStdout(), w)
	if f.json != "" {
		err = errors.Join(err, record.Save(f.json, w))
	}
	if f.html != "" {
		err = errors.Join(err, report.SaveWatchHTML(f.html, w))
	}
	if err := errors.Join(broken, err); err != nil {
		return failed(err)
	}
	if w.Ended == record.EndInterrupted {
		return &failure{errors.New("interrupted: the report is of the time until then"), exitPartial}
	}
	return nil
}

// Watch reads the process each second until the time is over, ctx ends, or the process
// does; the last two are no errors. If the process can't be read any more for another
// reason, the error comes with what was found until then.
func Watch(ctx context.Context, o Watched) (*record.Watch, error) {
	w, err := procsampler.New(procsampler.Options{PID: o.PID, Pages: pagesEvery, WalkShare: walkedShare, Around: true})
	if err != nil {
		return nil, fmt.Errorf("watch process %d (only its own user and root may): %w", o.PID, err)
	}
	asked := ask(ctx, o.URL)
	ended, err := follow(ctx, w, o.For)
	r := &record.Watch{
		Kind: record.KindWatch, Schema: record.Schema, PID: o.PID, Began: w.Began, Ended: ended, Rating: o.Rating,
		Samples: w.Samples, ByName: w.ByName, Walk: w.Walk.Seconds(), URL: o.URL,
		Files: w.Files(), Device: w.Device, Network: w.Network(),
	}
	asked.since(r)
	if err != nil {
		err = fmt.Errorf("watch process %d after %.0f s: %w", o.PID, time.Since(w.Began).Seconds(), err)
	}
	return r, err
}

// follow reads until something ends, and says what.
func follow(ctx context.Context, w *procsampler.Watcher, length time.Duration) (ended string, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	end := time.NewTimer(length)
	defer end.Stop()
	for ended == "" {
		select {
		case <-tick.C:
		case <-ctx.Done():
			ended = record.EndInterrupted
		case <-end.C:
			ended = record.EndWhole
		}
		switch err := w.Sample(); {
		case procsampler.Gone(err):
			return record.EndGone, nil
		case err != nil:
			return record.EndUnreadable, err
		}
	}
	return ended, nil
}
