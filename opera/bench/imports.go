package bench

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"tarn/bench/watcher"
	"tarn/internal/figures"
	"tarn/opera/eventfile"
	"tarn/opera/inter"
)

// every is between two readings of a process.
const every = 20 * time.Millisecond

// Import is what one import cost: the whole life of a process on an empty folder.
type Import struct {
	Subject   string
	Seconds   float64
	Processor float64 // seconds
	Peak      int64   // resident memory, the mapped file included
	Anonymous int64   // the most memory behind which there is no file
	Written   int64   // bytes to the disk, without what was deleted before it got there
	State     int64   // bytes of disk that the state has; all of go-opera's folder
	History   int64   // and the logs
}

// disk is all that is kept.
func (i *Import) disk() int64 { return i.State + i.History }

// ours tells apart our engines from go-opera's presets.
func ours(subject string) bool { return !slices.Contains(presets, subject) }

// subjects are go-opera's presets and our engines.
func (m *measurement) subjects() []string { return slices.Concat(presets, m.config.Engines) }

// command is one of go-opera's, over a folder.
func (m *measurement) command(subject, dir string, words ...string) watcher.Command {
	args := []string{"--fakenet", "0/1", "--datadir", dir, "--datadir.minfreedisk", "0"}
	c := watcher.Command{Path: m.config.Tarn, Log: filepath.Join(dir, "log"), Every: every}
	switch {
	case !ours(subject):
		c.Path = m.peer.Command(m.ctx).Path
		args = append(args, "--db.preset", subject)
	case engineOf(subject) == "page":
		args = append([]string{"opera"}, append(args, "--db.engine", "page", "--db.mapmode", subject)...)
	default:
		args = append([]string{"opera"}, append(args, "--db.engine", subject)...)
	}
	if ours(subject) {
		args = append(args, "--db.recovery", m.config.Recovery.String())
	}
	c.Args = append(args, words...)
	return c
}

// engineOf returns the engine of one of [Engines].
func engineOf(subject string) string {
	switch subject {
	case "mapped_private", "mapped", "heap", "locked":
		return "page"
	}
	return subject
}

// importFile has a subject import a file into a new folder.
func (m *measurement) importFile(subject, events string) (*Import, error) {
	dir, err := m.folder(subject)
	if err != nil {
		return nil, err
	}
	if err := figures.FlushDisk(dir); err != nil {
		return nil, err
	}
	begun := time.Now()
	child, err := watcher.Start(m.command(subject, dir, "import", "events", events))
	if err != nil {
		return nil, err
	}
	if err := child.Wait(m.ctx); err != nil {
		return nil, err
	}
	i := &Import{Subject: subject, Seconds: time.Since(begun).Seconds(), Peak: child.Peak()}
	cpu, disk, _ := child.Total()
	i.Processor, i.Written = cpu.Seconds(), disk.Net()
	for _, s := range child.Samples() {
		i.Anonymous = max(i.Anonymous, s.Anonymous)
	}
	if err := figures.FlushDisk(dir); err != nil {
		return nil, err
	}
	if i.State, i.History, err = kept(dir); err != nil {
		return nil, err
	}
	m.logf("%s: %.2f s, processor %.2f s, %d MB written, %d MB kept", subject, i.Seconds, i.Processor, i.Written/1e6, i.disk()/1e6)
	return i, os.RemoveAll(dir)
}

// kept counts the disk that files take: those of our history, and all others but the log.
func kept(dir string) (state, history int64, err error) {
	logs := filepath.Join(dir, "chaindata", "history") + string(filepath.Separator)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path == filepath.Join(dir, "log") {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		size := info.Size()
		if s, ok := info.Sys().(*syscall.Stat_t); ok {
			size = s.Blocks * 512 // holes are nothing
		}
		if strings.HasPrefix(path, logs) {
			history += size
		} else {
			state += size
		}
		return nil
	})
	return state, history, err
}

// rounds has each subject import a file, in turns.
func (m *measurement) rounds(events string) ([]Import, error) {
	var all []Import
	for range m.config.Rounds {
		for _, subject := range m.subjects() {
			i, err := m.importFile(subject, events)
			if err != nil {
				return all, err
			}
			all = append(all, *i)
		}
	}
	return all, nil
}

// medians of the imports of a subject.
func medians(all []Import, subject string) Import {
	own := figures.Only(all, func(i Import) bool { return i.Subject == subject })
	size := func(of func(Import) int64) int64 {
		return int64(figures.Median(own, func(i Import) float64 { return float64(of(i)) }))
	}
	return Import{
		Subject:   subject,
		Seconds:   figures.Median(own, func(i Import) float64 { return i.Seconds }),
		Processor: figures.Median(own, func(i Import) float64 { return i.Processor }),
		Peak:      size(func(i Import) int64 { return i.Peak }), Anonymous: size(func(i Import) int64 { return i.Anonymous }),
		Written: size(func(i Import) int64 { return i.Written }),
		State:   size(func(i Import) int64 { return i.State }), History: size(func(i Import) int64 { return i.History }),
	}
}

// better is go-opera's better preset in what a number says.
func better(all []Import, of func(Import) float64) float64 {
	least := of(medians(all, presets[0]))
	for _, p := range presets[1:] {
		least = min(least, of(medians(all, p)))
	}
	return least
}

// content counts what is in a file of events.
type content struct {
	txs, events int
	bytes       int64
}

func read(path string) (c content, err error) {
	in, err := eventfile.Open(path)
	if err != nil {
		return c, err
	}
	defer in.Close()
	for raw, err := range in.All() {
		if err != nil {
			return c, err
		}
		p, err := inter.DecodePayload(raw)
		if err != nil {
			return c, err
		}
		c.events, c.txs, c.bytes = c.events+1, c.txs+len(p.Txs), c.bytes+int64(len(raw))
	}
	return c, nil
}

func (m *measurement) imports() (*Section, error) {
	events, err := m.chain(&m.config.Work)
	if err != nil {
		return nil, err
	}
	c, err := read(events)
	if err != nil {
		return nil, err
	}
	all, err := m.rounds(events)
	if err != nil {
		return nil, err
	}
	w := m.config.Work
	s := &Section{Imports: all, Tables: []figures.Table{m.importTable(all, "Import of events", fmt.Sprintf(
		"%s transactions in %s events, %s MB: %s transfers of tokens, %s of money, %s calls of a heavy contract, %s accounts. Each line is the whole life of a process on an empty folder: start, genesis, import, the state made durable, end.",
		figures.Count(float64(c.txs)), figures.Count(float64(c.events)), figures.Megabytes(c.bytes), figures.Count(float64(w.Tokens)),
		figures.Count(float64(w.Plain)), figures.Count(float64(w.Heavy)), figures.Count(float64(w.Accounts))), float64(c.txs))}}
	for _, e := range m.config.Engines {
		i := medians(all, e)
		s.Targets.AtLeast("import rate, "+e+", by the better go-opera's", better(all, func(i Import) float64 { return i.Seconds })/i.Seconds, 3, "times")
	}
	i := medians(all, m.config.Engines[0])
	s.Targets.AtMost("on disk, by the smaller go-opera's", float64(i.disk())/better(all, func(i Import) float64 { return float64(i.disk()) }), 1.0/3, "")
	s.Targets.AtMost("bytes written by a byte of history", float64(i.Written)/float64(i.History), 3, "")
	s.Targets.AtMost("memory", float64(i.Peak)/(1<<20), 1<<10, "MiB")
	return s, nil
}

// importTable shows imports, with so many transactions each.
func (m *measurement) importTable(all []Import, title, how string, txs float64) figures.Table {
	t := figures.Table{Title: title, How: how, Head: []string{
		"", "s", "tx/s", "rate by the better go-opera's", "processor, s", "memory, MB", "of it no file, MB", "written, MB", "state, MB", "history, MB", "kept by the smaller go-opera's",
	}}
	seconds := better(all, func(i Import) float64 { return i.Seconds })
	disk := better(all, func(i Import) float64 { return float64(i.disk()) })
	for _, subject := range m.subjects() {
		i := medians(all, subject)
		history := figures.Megabytes(i.History)
		name := subject
		if !ours(subject) {
			name, history = "go-opera "+subject, figures.None
		} else if engineOf(subject) == "page" {
			name = "page " + subject
		}
		t.Add(name, figures.Significant(i.Seconds), figures.Count(txs/i.Seconds), figures.Ratio(seconds/i.Seconds), figures.Significant(i.Processor),
			figures.Megabytes(i.Peak), figures.Megabytes(i.Anonymous), figures.Megabytes(i.Written), figures.Megabytes(i.State), history, figures.Ratio(float64(i.disk())/disk))
	}
	return t
}

func (m *measurement) slots() (*Section, error) {
	events, err := m.chain(&Work{Seed: 1, Accounts: 20, Slots: m.config.Slots})
	if err != nil {
		return nil, err
	}
	c, err := read(events)
	if err != nil {
		return nil, err
	}
	all, err := m.rounds(events)
	if err != nil {
		return nil, err
	}
	s := &Section{Imports: all, Tables: []figures.Table{m.importTable(all, "Fresh slots", fmt.Sprintf(
		"%s slots that were empty, %d in each of %d transactions, imported from a file of events into an empty folder.",
		figures.Count(float64(m.config.Slots*SlotsEach)), SlotsEach, m.config.Slots), float64(c.txs))}}
	for _, e := range m.config.Engines {
		if engineOf(e) == "page" {
			// The limit is that of the full size.
			s.Targets.AtMost("written, "+e, float64(medians(all, e).Written)/1e6, 60*float64(m.config.Slots)/300, "MB")
		}
	}
	return s, nil
}
