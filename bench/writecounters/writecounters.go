// Package writecounters asks a node what it writes, and why: the counters of bytes in the metrics
// that it serves as Prometheus' text.
//
// It owns those counters' names. It only asks, and believes what it is told: the kernel's
// count stands beside it elsewhere.
package writecounters

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

	"tarn/bench/record"
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

// CheckURL says why a text is no URL of a node.
func CheckURL(text string) error {
	u, err := url.Parse(text)
	if err != nil {
		return fmt.Errorf("--url: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return fmt.Errorf("--url %s: it must be like http://127.0.0.1:8888", text)
	}
	return nil
}

// What a node of ours says of its checkpoints, without labels.
const (
	finished  = "tarn_checkpoints_total"
	lastAge   = "tarn_checkpoint_age_seconds"
	lastBytes = "tarn_checkpoint_bytes"
)

// Told is what a node says it has written, in bytes: its state by cause, the rest by what
// the files keep. Plain is what it says of its checkpoints, by the metrics' names.
type Told struct{ State, Files, Plain map[string]float64 }

// Checkpoints are those between two answers that so many seconds lie between; false if the
// node does not tell, or never had one.
func (t Told) Checkpoints(first Told, seconds float64) (record.Checkpoints, bool) {
	all, tells := t.Plain[finished]
	age, one := t.Plain[lastAge]
	if !tells || !one {
		return record.Checkpoints{}, false
	}
	n := all - first.Plain[finished]
	if n <= 0 {
		return record.Checkpoints{Bytes: t.Plain[lastBytes], Between: age}, true
	}
	written := 0.0
	for _, cause := range []string{"checkpoint", "meta"} {
		written += t.State[cause] - first.State[cause]
	}
	// From the last one before the first answer, or from there if there was none.
	length := seconds + first.Plain[lastAge] - age
	return record.Checkpoints{Number: n, Bytes: written, Between: length / n}, true
}

// Since is what was written between two answers; an error if the node began anew meanwhile.
func (t Told) Since(first Told) (Told, error) {
	state, ok1 := grown(first.State, t.State)
	files, ok2 := grown(first.Files, t.Files)
	if !ok1 || !ok2 {
		return Told{}, errors.New("the node began anew meanwhile")
	}
	return Told{State: state, Files: files}, nil
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

// Read asks the node of a URL, at the path of Prometheus' text if it has none.
func Read(ctx context.Context, base string) (_ Told, err error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	where := strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		where += metricsPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return Told{}, fmt.Errorf("ask the node: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return Told{}, fmt.Errorf("ask the node: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return Told{}, fmt.Errorf("ask the node: %s answers %s (tarn nodeos serves it with --plugin "+
			"eosio::prometheus_plugin)", where, res.Status)
	}
	all, err := parse(io.LimitReader(res.Body, metricsBytes))
	if err == nil && len(all.State)+len(all.Files) == 0 {
		err = errors.New("it tells nothing of what it writes")
	}
	if err != nil {
		return Told{}, fmt.Errorf("read the metrics of %s: %w", where, err)
	}
	return all, nil
}

// most is the most causes, and the most kinds of files, that are read.
const most = 100

// parse finds the counters of bytes in Prometheus' text.
func parse(in io.Reader) (Told, error) {
	all := Told{map[string]float64{}, map[string]float64{}, map[string]float64{}}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		if name, value, ok := strings.Cut(lines.Text(), " "); ok &&
			(name == finished || name == lastAge || name == lastBytes) {
			n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
			if err != nil {
				return Told{}, fmt.Errorf("%s: %w", name, err)
			}
			all.Plain[name] = n
			continue
		}
		name, value, ok := strings.Cut(lines.Text(), "} ")
		number := strings.Fields(value)
		family, labels, labelled := strings.Cut(name, "{")
		if !ok || len(number) == 0 || !labelled || !strings.HasSuffix(family, causeSuffix) {
			continue
		}
		into, of := all.State, label(labels, "cause")
		if family == filesFamily {
			into, of = all.Files, label(labels, "files")
		}
		if of == "" || family == filesFamily && of == stateFiles {
			continue
		}
		n, err := strconv.ParseFloat(number[0], 64)
		if err != nil {
			return Told{}, fmt.Errorf("%s: %w", name, err)
		}
		if into[of] += n; len(into) > most {
			return Told{}, fmt.Errorf("more than %d causes", most)
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
