package suite

import (
	"context"

	"tarn/bench/record"
)

// Window is the name of the suite in which a new node gets blocks for a time.
const Window = "window"

func windowSuite() Suite {
	return Suite{
		Name: Window,
		How: "As `sync`, for a fixed time, with a chain that takes longer. Measured are the blocks that " +
			"the node has after this time, and the bytes that it has written when it ends.",
		Article: "blocks in 60 minutes (F7)",
		Time:    "--window",
		Disk:    "the chain, twice",
		options: func(o *record.Options) []Option {
			return []Option{sourceOption(o),
				{"window", "time of window, in which the chain must not end", Seconds{&o.Window},
					wrongIf(!(o.Window > 0), "a window of %g s: above 0", o.Window)}}
		},
		needs: follows,
		chart: record.Chart{Metric: blocks, Title: "blocks received in the time"},
		metrics: counts(more(number, blocks), more(perSecond, blockRate), of(seconds, processor, source),
			of(bytesUnit, written)),
		collect: []collector{privateMemory(), residentMemory()},
		run:     runWindow,
	}
}

func runWindow(ctx context.Context, l *life, found *findings) error {
	return following(ctx, l, Window, found, func(s, from *server) (map[string]float64, error) {
		got, values, err := follow(ctx, l, s, from, lengthOf(l.options.Window))
		if err == nil {
			values[blocks] = float64(got.last - got.first)
		}
		return values, err
	})
}
