package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"

	"tarn/store/vfs"
)

// fileLimit is the most that a file may have: a watch of a month at a reading each second.
const fileLimit = 1 << 30

// Save writes a run or a watch, durably and whole or not at all.
func Save(name string, record any) error {
	text, err := json.Marshal(record)
	if err == nil {
		err = vfs.WriteDurably(vfs.OS, name, append(text, '\n'))
	}
	if err != nil {
		return fmt.Errorf("write the record %s: %w", name, err)
	}
	return nil
}

// Load reads a file of [Save]: one of the two is not nil.
func Load(name string) (*Run, *Watch, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read a record: %w", err)
	}
	if info.Size() > fileLimit {
		return nil, nil, fmt.Errorf("read a record: %s has %d bytes, more than %d", name, info.Size(), fileLimit)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, nil, fmt.Errorf("read a record: %w", err)
	}
	run, watch, err := Parse(text)
	if err != nil {
		return nil, nil, fmt.Errorf("read the record %s: %w", name, err)
	}
	return run, watch, nil
}

// Parse reads the text of a record: one of the two is not nil.
func Parse(text []byte) (*Run, *Watch, error) {
	var head struct {
		Kind   string `json:"kind"`
		Schema int    `json:"schema"`
	}
	if err := json.Unmarshal(text, &head); err != nil {
		return nil, nil, err
	}
	if head.Kind != KindRun && head.Kind != KindWatch {
		return nil, nil, fmt.Errorf("its kind is %q: no record of this program", head.Kind)
	}
	if head.Schema < oldest || head.Schema > Schema {
		return nil, nil, fmt.Errorf("its format is number %d, this program knows %d to %d", head.Schema, oldest, Schema)
	}
	strict := json.NewDecoder(bytes.NewReader(text))
	strict.DisallowUnknownFields()
	if head.Kind == KindWatch {
		var w Watch
		if err := strict.Decode(&w); err != nil {
			return nil, nil, err
		}
		return nil, &w, w.validate()
	}
	var r Run
	if err := strict.Decode(&r); err != nil {
		return nil, nil, err
	}
	return &r, nil, r.validate()
}

func (w *Watch) validate() error {
	if len(w.Samples) == 0 {
		return errors.New("there is no reading in it")
	}
	return inOrder(w.Samples)
}

// validate finds what no run has, so that nobody has to ask later.
func (r *Run) validate() error {
	suites, subjects := map[string]bool{}, map[string]bool{}
	for _, s := range r.Suites {
		if suites[s.Name] {
			return fmt.Errorf("suite %q is there twice", s.Name)
		}
		suites[s.Name] = true
		keys := map[string]bool{}
		for _, m := range s.Metrics {
			if keys[m.Key()] {
				return fmt.Errorf("suite %q has the value %q twice", s.Name, m.Key())
			}
			keys[m.Key()] = true
		}
	}
	for _, s := range r.Subjects {
		if subjects[s.Name] {
			return fmt.Errorf("subject %q is there twice", s.Name)
		}
		subjects[s.Name] = true
	}
	for i, l := range r.Lives {
		if !suites[l.Suite] || !subjects[l.Subject] || l.Round < 1 || l.Round > len(r.Lives) {
			return fmt.Errorf("life %d is of suite %q, subject %q, round %d, which are not there",
				i, l.Suite, l.Subject, l.Round)
		}
		if err := inOrder(l.Samples); err != nil {
			return fmt.Errorf("life %d: %w", i, err)
		}
	}
	return nil
}

func inOrder(samples []Sample) error {
	last := math.Inf(-1)
	for i, s := range samples {
		if s.Seconds < last {
			return fmt.Errorf("reading %d is before the one before", i)
		}
		last = s.Seconds
	}
	return nil
}
