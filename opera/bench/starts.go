package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"tarn/bench/watcher"
	"tarn/internal/figures"
	"tarn/opera/chain"
	"tarn/opera/node"
	"tarn/opera/oracle"
	"tarn/store/engine"
)

// Start is a start after a kill.
type Start struct {
	Subject  string
	Told     uint64  // the last block that was told before the kill
	Found    uint64  // the head after the start
	Killed   float64 // seconds after the beginning of the import
	Open     float64 // seconds from the beginning of the process until the chain was open
	Finished bool    // the import went on to the head of one that was not killed
	Refused  string  // what go-opera said if it did not start: nothing is found then
}

// Tell opens the chain of a folder on one of [Engines], imports a file of events, and writes a
// line when the chain is open and one for each block that was told. It is the program that is
// killed.
func Tell(ctx context.Context, dir, subject, recovery, events string, out io.Writer) (err error) {
	o := node.Options{Dir: dir, Log: slog.New(slog.DiscardHandler), Genesis: &node.Beginning{Validators: 1}}
	if o.Recovery, err = time.ParseDuration(recovery); err != nil {
		return err
	}
	if o.Engine.Kind, err = engine.ParseKind(engineOf(subject)); err != nil {
		return err
	}
	if o.Engine.Kind == engine.Page {
		if o.Engine.Mode, err = engine.ParseMode(subject); err != nil {
			return err
		}
	}
	n, err := node.Open(ctx, o)
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "open", n.Chain().Head().Number)
	n.Subscribe(func(b *chain.Block) { fmt.Fprintln(out, "block", b.Number) })
	return errors.Join(n.Import(ctx, events), n.Close())
}

// toldLine is a block that was told, by ours or by go-opera.
var toldLine = regexp.MustCompile(`(?m)^(?:block |open |INFO.*New block.* index=)([0-9]+)`)

// lastTold is the last block that a log tells, 0 if none.
func lastTold(log string) (uint64, error) {
	text, err := os.ReadFile(log)
	if err != nil {
		return 0, err
	}
	all := toldLine.FindAllSubmatch(text, -1)
	if len(all) == 0 {
		return 0, nil
	}
	return strconv.ParseUint(string(all[len(all)-1][1]), 10, 64)
}

// telling is our import with its blocks told, or go-opera's, which tells them in its log.
func (m *measurement) telling(subject, dir, events string) watcher.Command {
	if !ours(subject) {
		return m.command(subject, filepath.Join(dir, "data"), "import", "events", events)
	}
	return watcher.Command{
		Path: m.config.Tarn, Args: []string{"told", filepath.Join(dir, "data"), subject, m.config.Recovery.String(), events},
		Log: filepath.Join(dir, "data", "log"), Every: every,
	}
}

func (m *measurement) starts() (*Section, error) {
	events, err := m.chain(&m.config.Work)
	if err != nil {
		return nil, err
	}
	s := new(Section)
	heads := map[string]uint64{}
	whole := map[string]time.Duration{}
	for _, subject := range m.subjects() {
		if heads[subject], whole[subject], err = m.uninterrupted(subject, events); err != nil {
			return nil, err
		}
	}
	for range m.config.Rounds {
		for _, subject := range m.subjects() {
			start, err := m.start(subject, events, whole[subject]/2, heads[subject])
			if err != nil {
				return nil, err
			}
			if start.Refused != "" {
				m.logf("%s: killed after %.2f s and block %d, does not start: %s", subject, start.Killed, start.Told, start.Refused)
			} else {
				m.logf("%s: killed after %.2f s and block %d, open after %.2f s at block %d", subject, start.Killed, start.Told, start.Open, start.Found)
			}
			s.Starts = append(s.Starts, *start)
		}
	}
	s.Tables = []figures.Table{startTable(m.subjects(), s.Starts)}
	for _, e := range m.config.Engines {
		var open, lost float64
		for _, x := range s.Starts {
			if x.Subject == e {
				open, lost = max(open, x.Open), max(lost, float64(x.Told)-float64(x.Found))
				if !x.Finished {
					return s, fmt.Errorf("%s: the import that was killed came to another head", e)
				}
			}
		}
		s.Targets.AtMost("slowest start, "+e, open, m.config.Recovery.Seconds(), "s")
		s.Targets.AtMost("blocks told and lost, "+e, max(lost, 0), 0, "")
	}
	return s, nil
}

// place makes the folder of an import that is to be killed.
func (m *measurement) place(subject string) (string, error) {
	dir, err := m.folder(subject)
	if err != nil {
		return "", err
	}
	return dir, os.Mkdir(filepath.Join(dir, "data"), 0o755)
}

// uninterrupted is the head of an import that is not killed, and how long it takes.
func (m *measurement) uninterrupted(subject, events string) (head uint64, took time.Duration, err error) {
	dir, err := m.place(subject)
	if err != nil {
		return 0, 0, err
	}
	begun := time.Now()
	c := m.telling(subject, dir, events)
	child, err := watcher.Start(c)
	if err == nil {
		err = child.Wait(m.ctx)
	}
	if err != nil {
		return 0, 0, err
	}
	took = time.Since(begun)
	if head, err = lastTold(c.Log); err != nil {
		return 0, 0, err
	}
	return head, took, os.RemoveAll(dir)
}

// start kills an import after a while and starts again.
func (m *measurement) start(subject, events string, after time.Duration, head uint64) (*Start, error) {
	dir, err := m.place(subject)
	if err != nil {
		return nil, err
	}
	c := m.telling(subject, dir, events)
	child, err := watcher.Start(c)
	if err != nil {
		return nil, err
	}
	begun := time.Now()
	// A short import has told nothing by then.
	for told := uint64(0); told == 0 && err == nil; {
		select {
		case <-time.After(max(after-time.Since(begun), time.Millisecond)):
			told, err = lastTold(c.Log)
		case <-child.Done():
			return nil, errors.Join(fmt.Errorf("%s ended within %v", subject, time.Since(begun)), child.Wait(m.ctx))
		case <-m.ctx.Done():
			err = m.ctx.Err()
		}
	}
	child.Kill()
	if err != nil {
		return nil, err
	}
	s := &Start{Subject: subject, Killed: time.Since(begun).Seconds()}
	if s.Told, err = lastTold(c.Log); err != nil {
		return nil, err
	}
	if ours(subject) {
		err = m.startAgain(s, c, head)
	} else {
		err = m.startPeer(s, dir)
	}
	if err != nil {
		return nil, err
	}
	return s, os.RemoveAll(dir)
}

// startAgain starts ours, and has it import the rest.
func (m *measurement) startAgain(s *Start, c watcher.Command, head uint64) error {
	c.Log += "-again"
	begun := time.Now()
	child, err := watcher.Start(c)
	if err != nil {
		return err
	}
	for s.Open == 0 {
		text, err := os.ReadFile(c.Log)
		if err != nil {
			return err
		}
		if line, _, whole := strings.Cut(string(text), "\n"); whole {
			s.Open = time.Since(begun).Seconds()
			if _, err := fmt.Sscanf(line, "open %d", &s.Found); err != nil {
				return fmt.Errorf("%s says %q: %w", c.Log, line, err)
			}
			break
		}
		select {
		case <-child.Done():
			return errors.Join(errors.New("it ended before its chain was open"), child.Wait(m.ctx))
		case <-time.After(2 * time.Millisecond):
		}
	}
	if err := child.Wait(m.ctx); err != nil {
		return err
	}
	got, err := lastTold(c.Log)
	s.Finished = got == head
	return err
}

// startPeer starts go-opera as a node, until it answers. After some kills it does not start
// again: then its database says that it is dirty, or that its genesis is not whole.
func (m *measurement) startPeer(s *Start, dir string) error {
	begun := time.Now()
	node, err := m.peer.Start(m.ctx, oracle.Config{Dir: dir, Validators: 1, Preset: s.Subject})
	var ended *oracle.EndedError
	if errors.As(err, &ended) && ended.Said != "" {
		s.Refused = ended.Said
		return nil
	}
	if err != nil {
		return err
	}
	s.Open = time.Since(begun).Seconds()
	var number string
	err = node.Call(m.ctx, &number, "eth_blockNumber")
	if err == nil {
		s.Found, err = strconv.ParseUint(number, 0, 64)
	}
	return errors.Join(err, node.Stop())
}

func startTable(subjects []string, all []Start) figures.Table {
	t := figures.Table{
		Title: "Start after a kill",
		How:   "kill -9 in the middle of the import, then a start. A block is told when whoever subscribed to blocks, or reads go-opera's log, has heard of it. Open is from the beginning of the process until the chain is at its head; go-opera's until its first answer, which has more to begin. A go-opera that does not start has lost all blocks; its times are of the rounds in which it started.",
		Head:  []string{"", "killed after, s", "open after, s", "blocks told and lost", "did not start"},
	}
	for _, subject := range subjects {
		own := figures.Only(all, func(s Start) bool { return s.Subject == subject })
		opened := figures.Only(own, func(s Start) bool { return s.Refused == "" })
		name := subject
		if !ours(subject) {
			name = "go-opera " + subject
		}
		open := "–"
		if len(opened) > 0 {
			open = figures.Significant(figures.Median(opened, func(s Start) float64 { return s.Open }))
		}
		t.Add(name, figures.Significant(figures.Median(own, func(s Start) float64 { return s.Killed })), open,
			figures.Count(figures.Median(own, func(s Start) float64 { return max(0, float64(s.Told)-float64(s.Found)) })),
			fmt.Sprintf("%d of %d", len(own)-len(opened), len(own)))
	}
	return t
}
