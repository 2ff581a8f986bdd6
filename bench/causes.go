package bench

import (
	"context"
	"time"

	"tarn/bench/record"
	"tarn/bench/writecounters"
)

// asked is what a node said when a watch began.
type asked struct {
	url   string
	first writecounters.Told
	at    time.Time
	err   error
}

// ask asks the node now; "" is none.
func ask(ctx context.Context, url string) *asked {
	a := &asked{url: url, at: time.Now()}
	if url != "" {
		a.first, a.err = writecounters.Read(ctx, url)
	}
	return a
}

// since asks again, and puts into a record what was written since then, or why that is not
// known.
func (a *asked) since(r *record.Watch) {
	if a.url == "" {
		return
	}
	now, err := writecounters.Told{}, a.err
	if err == nil {
		now, err = writecounters.Read(context.Background(), a.url) // also after an interrupt
	}
	grown := writecounters.Told{}
	if err == nil {
		grown, err = now.Since(a.first)
	}
	if err != nil {
		r.Unasked = err.Error()
		return
	}
	r.ByCause, r.ByFiles = grown.State, grown.Files
	if c, ok := now.Checkpoints(a.first, time.Since(a.at).Seconds()); ok {
		r.Checkpoints = &c
	}
}
