package bench

import (
	"context"

	"tarn/bench/causes"
)

// asked is what a node said when a watch began.
type asked struct {
	url   string
	first causes.Told
	err   error
}

// ask asks the node now; "" is none.
func ask(ctx context.Context, url string) *asked {
	a := &asked{url: url}
	if url != "" {
		a.first, a.err = causes.Read(ctx, url)
	}
	return a
}

// since asks again, and says what was written since then, or why that is not known.
func (a *asked) since() (grown causes.Told, why string) {
	if a.url == "" {
		return causes.Told{}, ""
	}
	err := a.err
	if err == nil {
		grown, err = causes.Read(context.Background(), a.url) // also after an interrupt
	}
	if err == nil {
		grown, err = grown.Since(a.first)
	}
	if err != nil {
		return causes.Told{}, err.Error()
	}
	return grown, ""
}
