package suite

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tarn/bench/record"
	"tarn/bench/subjectflag"
	"tarn/internal/figuretable"
	"tarn/procusage"
)

// Config is a run.
type Config struct {
	Options  record.Options
	Subjects []subjectflag.Subject
	Network  Network
	Source   subjectflag.Subject // gives blocks to those that are measured
	Dir      string              // folder for the nodes, new: the run removes it
	Free     int64               // bytes that must be free there
	InMemory bool                // it is no disk
	Command  []string
	Tell     func(string) // is told each step

	warm  time.Duration  // how long peers are connected before anything is measured
	quiet time.Duration  // how long histories must not have grown for all to be written
	speed func() float64 // how long a fixed work of the processor takes; tests have machines of their own
}

// ErrSpace says that a disk has too little room.
var ErrSpace = errors.New("too little space on the disk")

// Run measures until all rounds are done, the limit of time is near, or ctx ends. What it
// found until then comes with any error but those of the beginning.
func Run(ctx context.Context, c Config) (_ *record.Run, err error) {
	if err := Validate(c.Options); err != nil {
		return nil, err
	}
	if err := Able(c.Network, c.Options.Suites); err != nil {
		return nil, err
	}
	if err := room(filepath.Dir(c.Dir), c.Free); err != nil {
		return nil, err
	}
	if err := limitable(c.Options); err != nil {
		return nil, err
	}
	sources := c.Dir
	if c.Options.SourceDir != "" {
		sources = filepath.Join(c.Options.SourceDir, filepath.Base(c.Dir))
	}
	for _, dir := range slices.Compact([]string{c.Dir, sources}) {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, fmt.Errorf("make the folder of the nodes: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	}
	if c.speed == nil {
		c.speed, c.warm, c.quiet = calibrate, crowdWarm, historyQuiet
	}
	r := &runner{config: c, sources: sources, run: &record.Run{
		Kind: record.KindRun, Schema: record.Schema, Command: c.Command, Began: time.Now(), Ended: record.EndWhole,
		Options: c.Options, Machine: record.Describe(c.Dir),
	}}
	r.run.Machine.InMemory = c.InMemory
	for _, s := range wanted(c.Options) {
		r.run.Suites = append(r.run.Suites, s.describe(c.Network, c.Options))
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	r.warm(ctx)
	err = r.rounds(ctx)
	r.run.Seconds = time.Since(r.run.Began).Seconds()
	switch {
	case ctx.Err() != nil:
		r.run.Ended = record.EndInterrupted
	case err != nil:
		r.run.Ended = record.EndFailed
	}
	return r.run, err
}

// room tells whether a folder's disk has so many bytes free.
func room(dir string, want int64) error {
	s, err := procusage.ReadSpace(dir)
	if err != nil {
		return err
	}
	if s.Free < want {
		return fmt.Errorf("%w: %d MB are free in %s, and %d MB are wanted; another folder can be named with --dir",
			ErrSpace, s.Free/1e6, dir, want/1e6)
	}
	return nil
}

// runner makes one run.
type runner struct {
	config  Config
	run     *record.Run
	sources string // folder of the sources that make blocks
	lived   int    // lives so far, for the names of folders
	bases   map[string]string
}

func (r *runner) tell(format string, args ...any) {
	r.config.Tell(fmt.Sprintf("%6.1f s  %s", time.Since(r.run.Began).Seconds(), fmt.Sprintf(format, args...)))
}

// prepare makes the chain and looks at the programs.
func (r *runner) prepare(ctx context.Context) (err error) {
	r.bases = map[string]string{}
	sums := map[string]string{}
	for _, s := range r.config.Subjects {
		if sums[s.Path] == "" {
			if sums[s.Path], err = hashFile(s.Path); err != nil {
				return fmt.Errorf("read the program of %s: %w", s.Name, err)
			}
		}
		version, err := r.config.Network.Version(ctx, s)
		if err != nil {
			return err
		}
		r.run.Subjects = append(r.run.Subjects, record.Subject{Name: s.Name, Program: s.Program, Path: s.Path,
			SHA256: sums[s.Path], Version: version, Mode: s.Mode})
	}
	r.run.Chain, err = r.config.Network.Chain(ctx, func(line string) { r.tell("%s", line) })
	return err
}

// warm has each subject make the chain's state once, unmeasured: for the suites that
// begin with it, and so that no subject's first round pays for cold caches. What fails
// here fails again where it is measured, and is said there.
func (r *runner) warm(ctx context.Context) {
	for _, s := range r.config.Subjects {
		if ctx.Err() != nil {
			return
		}
		r.tell("warm-up: %s", s.Name)
		_, _ = r.life(s, 0).base(ctx)
	}
}

func hashFile(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	_, err = io.Copy(h, f)
	return hex.EncodeToString(h.Sum(nil)), err
}

// rounds goes round the subjects, the other way round every other time. A pair that the
// machine's speed made unlike is measured once more at the end.
func (r *runner) rounds(ctx context.Context) error {
	var again []subjectflag.Subject
	longest := time.Duration(0)
	enough := func() bool {
		return r.config.Options.Limit > 0 &&
			time.Since(r.run.Began)+longest > time.Duration(r.config.Options.Limit*float64(time.Second))
	}
	round := 1
	for ; round <= r.config.Options.Rounds; round++ {
		if round > 1 && enough() {
			r.run.Ended = record.EndTime
			r.run.Left = append(r.run.Left, fmt.Sprintf("%d of %d rounds, because of the time limit",
				r.config.Options.Rounds-round+1, r.config.Options.Rounds))
			return nil
		}
		begin := time.Now()
		all := slices.Clone(r.config.Subjects)
		if round%2 == 0 {
			slices.Reverse(all)
		}
		if err := r.round(ctx, round, all); err != nil {
			return err
		}
		longest = max(longest, time.Since(begin))
		again = append(again, r.unsteady(round)...)
	}
	for i, s := range again {
		if enough() {
			r.run.Left = append(r.run.Left,
				fmt.Sprintf("%d repeats of pairs that ran at different CPU speeds", len(again)-i))
			return nil
		}
		pair := []subjectflag.Subject{r.config.Subjects[0], s}
		if i%2 == 1 {
			slices.Reverse(pair)
		}
		r.tell("repeated, because the CPU speed changed: %s", s.Name)
		if err := r.round(ctx, round, pair); err != nil {
			return err
		}
		r.unsteady(round)
		round++
	}
	return nil
}

// spareBytes must be free before each life, if as many were asked for at all: on a full disk
// programs fail in ways that say nothing of them.
const spareBytes = 100_000_000

// round measures subjects, one after the other. Only the end of ctx stops it, and a disk that
// is full.
func (r *runner) round(ctx context.Context, round int, all []subjectflag.Subject) error {
	for _, s := range all {
		for _, of := range lives() {
			var wanted []string
			for _, measured := range of.measured() {
				if slices.Contains(r.config.Options.Suites, measured.Name) {
					wanted = append(wanted, measured.Name)
				}
			}
			if len(wanted) == 0 {
				continue
			}
			if round <= r.config.Options.Rounds {
				r.tell("round %d of %d: %s: %v", round, r.config.Options.Rounds, s.Name, wanted)
			} else {
				r.tell("once more: %s: %v", s.Name, wanted)
			}
			if err := room(r.config.Dir, min(r.config.Free, spareBytes)); err != nil {
				return fmt.Errorf("before %s is measured on %s: %w", strings.Join(wanted, ", "), s.Name, err)
			}
			r.live(ctx, r.life(s, round), of, wanted)
			if ctx.Err() != nil {
				return ctx.Err()
			}
		}
	}
	return nil
}

// live runs a life of a suite and keeps what is wanted of it, whatever becomes of it.
func (r *runner) live(ctx context.Context, l *life, s Suite, wanted []string) {
	found := &findings{suites: s.measured(), found: map[string]*record.Life{}}
	began, before := time.Now(), r.config.speed()
	watch := figuretable.Watch(r.run.Machine.CPUs)
	err := s.run(ctx, l, found)
	others := watch()
	after := r.config.speed()
	for _, name := range wanted {
		kept := found.of(name)
		kept.Suite, kept.Round, kept.Subject, kept.Began, kept.Commands = name, l.round, l.subject.Name,
			began, l.commands
		kept.CalibrationBefore, kept.CalibrationAfter, kept.Others = before, after, others
		if kept.Values == nil && err != nil {
			kept.Failure = err.Error()
			r.tell("%s: %s failed: %s", l.subject.Name, name, err)
		}
		r.run.Lives = append(r.run.Lives, kept)
	}
}

// unsteady marks the lives of a round whose machine was of another speed than the first
// subject's, and returns their subjects.
func (r *runner) unsteady(round int) (again []subjectflag.Subject) {
	speed := func(l record.Life) float64 { return (l.CalibrationBefore + l.CalibrationAfter) / 2 }
	reference := map[string]float64{} // by suite
	for _, l := range r.run.Lives {
		if l.Round == round && l.Subject == r.config.Subjects[0].Name && l.Failure == "" {
			reference[l.Suite] = speed(l)
		}
	}
	for i, l := range r.run.Lives {
		of := reference[l.Suite]
		if l.Round != round || of == 0 || l.Failure != "" || l.Subject == r.config.Subjects[0].Name {
			continue
		}
		if ratio := speed(l) / of; ratio > 1+steadyWithin || ratio < 1/(1+steadyWithin) {
			r.run.Lives[i].Unsteady = true
			s := r.config.Subjects[slices.IndexFunc(r.config.Subjects, func(s subjectflag.Subject) bool {
				return s.Name == l.Subject
			})]
			if !slices.Contains(again, s) {
				again = append(again, s)
			}
		}
	}
	return again
}
