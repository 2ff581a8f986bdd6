// Package livepage serves one page on which the numbers of a process move: an hour of
// them by the second and a day by the minute, from a memory that does not grow.
//
// It owns the sampling, the rings, the page and its listener. It knows no protocol: which
// numbers there are, what they are called and what is normal is told by who opens it. It
// changes nothing in the process, answers GET and nothing else, and has no login: whoever reaches
// its address sees the numbers.
package livepage

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"tarn/httpserver"
)

// Unit is what a number counts; the page writes it accordingly.
type Unit string

// The units.
const (
	Count       Unit = ""
	PerSecond   Unit = "/s"
	Seconds     Unit = "s"
	Percent     Unit = "%"
	Bytes       Unit = "B"
	BytesSecond Unit = "B/s"
	BitsSecond  Unit = "bit/s"
	BytesYear   Unit = "B/y" // the page adds for how long a disk of a given rating lasts
	Text        Unit = "text"
)

// The bounds: what is kept, and what strangers can have at once.
const (
	sampleTime    = time.Second
	secondsKept   = 3600 // samples
	minutesKept   = 24 * 60
	maxSeries     = 200 // of all panels together
	maxFigures    = 50
	maxViewers    = 20
	maxConnection = 100
	clientShare   = 4 // an address has this part of both
)

// Series is one curve. Value is called on the sampling goroutine only, once a second, after
// Options.Read; NaN is unknown.
type Series struct {
	Name  string
	Value func() float64
	// Rate says that Value is a total that grows, and its growth a second is shown. Where it
	// has shrunk, nothing is known.
	Rate bool
	// Scale multiplies what is shown; 0 is 1.
	Scale float64
}

// Panel is one picture with curves of one unit.
type Panel struct {
	Group, Title string
	Help         string // what it is, and what is normal
	Unit         Unit
	Stacked      bool // the curves are parts of one whole
	Series       []Series
}

// Figure is a number of the moment. Value is called as that of [Series] is. Words is in its
// place where the unit is Text.
type Figure struct {
	Group, Title string
	Help         string
	Unit         Unit
	Value        func() float64
	Words        func() string
}

// Options are what a dashboard shows. Groups are shown in the order of their first panel or
// figure, panels and figures in theirs.
type Options struct {
	Title, Version string
	Read           func() // reads what the values are of, on the sampling goroutine; nil for nothing
	Panels         []Panel
	Figures        []Figure
	Trusted        httpserver.Trusted // whose addresses have no share of the viewers; nil is this machine's
	Log            *slog.Logger       // nil for none
}

// Validate checks the options together.
func (o *Options) Validate() error {
	var errs []error
	series := 0
	seen := map[string]bool{}
	for _, p := range o.Panels {
		if p.Group == "" || p.Title == "" || len(p.Series) == 0 {
			errs = append(errs, fmt.Errorf("panel %q of %q has no group, no title or no series", p.Title, p.Group))
		}
		if key := p.Group + "\n" + p.Title; seen[key] {
			errs = append(errs, fmt.Errorf("two panels of %q are called %q", p.Group, p.Title))
		} else {
			seen[key] = true
		}
		for _, s := range p.Series {
			series++
			if s.Name == "" || s.Value == nil {
				errs = append(errs, fmt.Errorf("a series of panel %q has no name or no value", p.Title))
			}
		}
	}
	for _, f := range o.Figures {
		if f.Group == "" || f.Title == "" || (f.Unit == Text) != (f.Words != nil) ||
			(f.Unit == Text) == (f.Value != nil) {
			errs = append(errs, fmt.Errorf("figure %q of %q has no group, no title, or not the value of its unit",
				f.Title, f.Group))
		}
	}
	if series > maxSeries || len(o.Figures) > maxFigures {
		errs = append(errs, fmt.Errorf("%d series and %d figures are more than %d and %d",
			series, len(o.Figures), maxSeries, maxFigures))
	}
	return errors.Join(errs...)
}

// Dashboard samples, and serves its page, until it is closed.
type Dashboard struct {
	o       Options
	samples *samples
	server  *httpserver.Server
	address string // as the listener has it
	hosts   map[string]bool
	stop    context.CancelFunc
	ended   <-chan struct{} // closed when it is to end
	running sync.WaitGroup
	viewers *httpserver.Shares
}

// CheckAddress tells what is wrong with the address of a dashboard, which is host:port; an
// empty host is all interfaces.
func CheckAddress(address string) error {
	if _, port, err := net.SplitHostPort(address); err != nil || port == "" {
		return fmt.Errorf("%q is no host:port", address)
	}
	return nil
}

// Open begins to sample, and to serve at an address, host:port, until Close.
func Open(ctx context.Context, address string, o Options) (*Dashboard, error) {
	d, err := listen(ctx, address, o)
	if err == nil {
		d.running.Go(d.sample)
	}
	return d, err
}

// listen begins to serve what nobody samples yet.
func listen(ctx context.Context, address string, o Options) (*Dashboard, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := errors.Join(o.Validate(), CheckAddress(address)); err != nil {
		return nil, fmt.Errorf("open the dashboard: %w", err)
	}
	d := newDashboard(o)
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("open the dashboard: %w", err)
	}
	d.hosts[strings.ToLower(host)] = true
	listeners, err := httpserver.ListenTCP(ctx, host, port)
	if err != nil {
		return nil, fmt.Errorf("serve the dashboard at %s: %w", address, err)
	}
	d.address = listeners[0].Addr().String()
	running, stop := context.WithCancel(context.Background())
	d.stop, d.ended = stop, running.Done()
	for i, l := range listeners {
		if t, ok := l.Addr().(*net.TCPAddr); ok && !t.IP.IsLoopback() {
			o.Log.Warn("The dashboard can be reached from other machines; it has no login",
				"address", l.Addr().String())
		}
		if err := d.server.Serve(l, d); err != nil {
			for _, rest := range listeners[i+1:] {
				err = errors.Join(err, rest.Close())
			}
			stop()
			return nil, errors.Join(err, d.server.Close())
		}
	}
	return d, nil
}

// newDashboard returns one that neither samples nor listens.
func newDashboard(o Options) *Dashboard {
	return &Dashboard{
		o: o, samples: newSamples(&o, time.Now()), hosts: map[string]bool{"localhost": true},
		viewers: httpserver.NewShares(maxViewers, maxViewers/clientShare),
		server: httpserver.New(httpserver.Options{MaxBytesInFlight: 1 << 20, MaxConnections: maxConnection,
			MaxEach: maxConnection / clientShare, Trusted: o.Trusted, Log: o.Log}),
	}
}

// sample takes a sample each second until the dashboard ends.
func (d *Dashboard) sample() {
	tick := time.NewTicker(sampleTime)
	defer tick.Stop()
	for {
		d.samples.take(time.Now())
		select {
		case <-tick.C:
		case <-d.ended:
			return
		}
	}
}

// URL is where the page is.
func (d *Dashboard) URL() string { return "http://" + d.address + "/" }

// closeTime is how long viewers have to take their last answer.
const closeTime = time.Second

// Close ends the sampling and closes the listeners. The functions of the options are not
// called any more when it returns.
func (d *Dashboard) Close() error {
	d.stop()
	d.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := d.server.Stop(ctx); err != nil && ctx.Err() == nil {
		return fmt.Errorf("close the dashboard: %w", err)
	}
	return nil // who has not taken the answer in this time has none
}
