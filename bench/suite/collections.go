package suite

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"time"

	"tarn/bench/record"
	"tarn/bench/subjectflag"
)

// Names of the values of collections.
const (
	collections  = "collections"
	pauseNearAll = "99 % of pauses within"
	pauseLongest = "longest pause"
	heap         = "maximum heap"
	garbage      = "garbage per transfer"
)

// ofCollections are the metrics of collections.
func ofCollections() []record.Metric {
	return list(of(number, collections), of(seconds, pauseNearAll, pauseLongest), of(bytesUnit, heap, garbage))
}

// tellsCollections is the environment of a program written in Go, so that it tells of its collections of
// garbage in its log of words: twice as often, that there is something to count.
func tellsCollections(s subjectflag.Subject) []string {
	if s.Program == subjectflag.Nodeos {
		return nil
	}
	return []string{"GODEBUG=gctrace=1", "GOGC=50"}
}

// collection is one of garbage, as GODEBUG=gctrace=1 has it.
type collection struct {
	at            time.Duration // since the process began
	pauses        [2]time.Duration
	before, after int64 // heap at its begin; live at its end; in bytes, of whole MB
}

var collectedLine = regexp.MustCompile(
	`^gc \d+ @([0-9.]+)s .*: ([0-9.]+)\+[0-9.]+\+([0-9.]+) ms clock,.* (\d+)->\d+->(\d+) MB`)

// collectionsOf finds the collections in a log.
func collectionsOf(log []byte) (all []collection) {
	for line := range bytes.Lines(log) {
		m := collectedLine.FindSubmatch(line)
		if m == nil {
			continue
		}
		number := func(i int) float64 {
			v, _ := strconv.ParseFloat(string(m[i]), 64) // digits and a point
			return v
		}
		all = append(all, collection{
			at:     time.Duration(number(1) * 1e9),
			pauses: [2]time.Duration{time.Duration(number(2) * 1e6), time.Duration(number(3) * 1e6)},
			before: int64(number(4)) << 20, after: int64(number(5)) << 20,
		})
	}
	return all
}

// putCollections puts what a node's log has of collections, from a place in it, to the values: the
// pauses, the largest heap, and what was allocated for each transfer, of which so many came in
// a second. A program that tells of none has no such values.
func putCollections(dir string, from int64, perSecond float64, values map[string]float64) error {
	text, err := readFrom(filepath.Join(dir, "log"), from)
	if err != nil {
		return fmt.Errorf("look for collections of garbage: %w", err)
	}
	all := collectionsOf(text)
	if len(all) == 0 {
		return nil
	}
	var pauses []time.Duration
	most := int64(0)
	for _, c := range all {
		pauses = append(pauses, c.pauses[:]...)
		most = max(most, c.before)
	}
	slices.Sort(pauses)
	values[collections], values[heap] = float64(len(all)), float64(most)
	values[pauseNearAll], values[pauseLongest] = pauses[len(pauses)*99/100].Seconds(), pauses[len(pauses)-1].Seconds()
	if each, ok := allocation(all, perSecond); ok {
		values[garbage] = each
	}
	return nil
}

// allocation is what was allocated for each of so many transfers in a second, in the last two
// thirds of the collections' time: by then what a node remembers of its users is there. It is
// false if there were too few collections to tell.
func allocation(all []collection, perSecond float64) (each float64, ok bool) {
	first, last := all[0].at, all[len(all)-1].at
	late := all[slices.IndexFunc(all, func(c collection) bool { return c.at >= first+(last-first)/3 }):]
	count := perSecond * (last - late[0].at).Seconds()
	if count < 1 {
		return 0, false
	}
	sum := int64(0)
	for i := 1; i < len(late); i++ {
		sum += late[i].before - late[i-1].after
	}
	return float64(sum) / count, true
}

// readFrom reads a file from a place in it to its end.
func readFrom(name string, from int64) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if _, err := f.Seek(from, io.SeekStart); err != nil {
		return nil, err
	}
	return io.ReadAll(f)
}
