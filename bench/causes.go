package bench

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// A node says what it writes in its metrics (Prometheus' text): why, of its state, in each
// counter whose name ends so, with a label "cause"; and to which files in one of its own.
const (
	causeSuffix  = "_written_bytes_total"
	filesFamily  = "tarn_written_bytes_total"
	stateFiles   = "state" // of those, what the causes tell
	metricsPath  = "/v1/prometheus/metrics"
	metricsBytes = 8 << 20
	metricsTime  = 5 * time.Second
)

func checkURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("--url %s: it must be like http://127.0.0.1:8888", text)
	}
	return nil
}

// told is what a node says it has written, in bytes: its state by cause, the rest by what
// the files keep.
type told struct{ causes, files map[string]float64 }

// causes is what a node said when a watch began.
type causes struct {
	url   string
	first told
	err   error
}

// askCauses asks the node now; "" is none.
func askCauses(ctx context.Context, url string) *causes {
	c := &causes{url: url}
	if url != "" {
		c.first, c.err = readCauses(ctx, url)
	}
	return c
}

// since asks again, and says what was written since then, or why that is not known.
func (c *causes) since() (_ told, why string) {
	if c.url == "" {
		return told{}, ""
	}
	if c.err != nil {
		return told{}, c.err.Error()
	}
	now, err := readCauses(context.Background(), c.url) // also after an interrupt
	if err != nil {
		return told{}, err.Error()
	}
	causes, ok1 := grown(c.first.causes, now.causes)
	files, ok2 := grown(c.first.files, now.files)
	if !ok1 || !ok2 {
		return told{}, "the node began anew meanwhile"
	}
	return told{causes, files}, ""
}

// grown is by how much counters grew; false if one shrank.
func grown(from, to map[string]float64) (map[string]float64, bool) {
	all := map[string]float64{}
	for name, n := range to {
		if n < from[name] {
			return nil, false
		}
		all[name] = n - from[name]
	}
	return all, true
}

func readCauses(ctx context.Context, base string) (_ told, err error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	where := strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		where += metricsPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return told{}, fmt.Errorf("ask the node: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return told{}, fmt.Errorf("ask the node: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return told{}, fmt.Errorf("ask the node: %s answers %s (tarn nodeos serves it with --plugin eosio::prometheus_plugin)", where, res.Status)
	}
	all, err := parseCauses(io.LimitReader(res.Body, metricsBytes))
	if err == nil && len(all.causes)+len(all.files) == 0 {
		err = errors.New("it tells nothing of what it writes")
	}
	if err != nil {
		return told{}, fmt.Errorf("read the metrics of %s: %w", where, err)
	}
	return all, nil
}

// causesMost is the most causes, and the most kinds of files, that are read.
const causesMost = 100

// parseCauses finds the counters of bytes in Prometheus' text.
func parseCauses(in io.Reader) (told, error) {
	all := told{map[string]float64{}, map[string]float64{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		number := strings.Fields(value)
		family, labels, labelled := strings.Cut(name, "{")
		if !ok || len(number) == 0 || !labelled || !strings.HasSuffix(family, causeSuffix) {
			continue
		}
		into, of := all.causes, label(labels, "cause")
		if family == filesFamily {
			into, of = all.files, label(labels, "files")
		}
		if of == "" || family == filesFamily && of == stateFiles {
			continue
		}
		n, err := strconv.ParseFloat(number[0], 64)
		if err != nil {
			return told{}, fmt.Errorf("%s: %w", name, err)
		}
		if into[of] += n; len(into) > causesMost {
			return told{}, fmt.Errorf("more than %d causes", causesMost)
		}
	}
	return all, lines.Err()
}

// label is the value of one of a counter's labels, "" if it has none of that name.
func label(labels, name string) string {
	for part := range strings.SplitSeq(labels, ",") {
		if value, ok := strings.CutPrefix(part, name+`="`); ok {
			value, _, _ = strings.Cut(value, `"`)
			return value
		}
	}
	return ""
}
