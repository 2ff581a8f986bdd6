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

// A node says what it writes for in its metrics (Prometheus' text): each counter whose
// name ends so, with a label "cause".
const (
	causeSuffix  = "_written_bytes_total"
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

// causes is what a node said it had written, by cause, when a watch began.
type causes struct {
	url   string
	first map[string]float64
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
func (c *causes) since() (grown map[string]float64, why string) {
	if c.url == "" {
		return nil, ""
	}
	if c.err != nil {
		return nil, c.err.Error()
	}
	now, err := readCauses(context.Background(), c.url) // also after an interrupt
	if err != nil {
		return nil, err.Error()
	}
	grown = map[string]float64{}
	for name, n := range now {
		if n < c.first[name] {
			return nil, "the node began anew meanwhile"
		}
		grown[name] = n - c.first[name]
	}
	return grown, ""
}

func readCauses(ctx context.Context, base string) (_ map[string]float64, err error) {
	ctx, cancel := context.WithTimeout(ctx, metricsTime)
	defer cancel()
	where := strings.TrimSuffix(base, "/")
	if u, err := url.Parse(base); err == nil && strings.Trim(u.Path, "/") == "" {
		where += metricsPath
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return nil, fmt.Errorf("ask the node: %w", err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the node: %w", err)
	}
	defer func() { err = errors.Join(err, res.Body.Close()) }()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ask the node: %s answers %s (tarn nodeos serves it with --plugin eosio::prometheus_plugin)", where, res.Status)
	}
	all, err := parseCauses(io.LimitReader(res.Body, metricsBytes))
	if err == nil && len(all) == 0 {
		err = errors.New("it tells nothing by cause")
	}
	if err != nil {
		return nil, fmt.Errorf("read the metrics of %s: %w", where, err)
	}
	return all, nil
}

// causesMost is the most causes that are read.
const causesMost = 100

// parseCauses finds the counters of bytes in Prometheus' text, by cause.
func parseCauses(in io.Reader) (map[string]float64, error) {
	all := map[string]float64{}
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		name, value, ok := strings.Cut(lines.Text(), "} ")
		number := strings.Fields(value)
		family, labels, labelled := strings.Cut(name, "{")
		_, rest, has := strings.Cut(labels, `cause="`)
		cause, _, whole := strings.Cut(rest, `"`)
		if !ok || len(number) == 0 || !labelled || !has || !whole || !strings.HasSuffix(family, causeSuffix) {
			continue
		}
		n, err := strconv.ParseFloat(number[0], 64)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		if all[cause] += n; len(all) > causesMost {
			return nil, fmt.Errorf("more than %d causes", causesMost)
		}
	}
	return all, lines.Err()
}
