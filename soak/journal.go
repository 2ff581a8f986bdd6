package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// entry is a line of the journal.
type entry struct {
	At    time.Time `json:"at"`
	Event event     `json:"event"`

	// Of a beginning: the command was started.
	Commit  string `json:"commit,omitempty"`
	Machine string `json:"machine,omitempty"`
	First   uint64 `json:"first,omitempty"` // seed of each adversary's first turn

	// Of turns and their ends.
	Adversary string `json:"adversary,omitempty"`
	Kind      string `json:"kind,omitempty"`
	turn
	Scratch string `json:"scratch,omitempty"` // the turn's temporary files

	// Of an end.
	Seconds float64 `json:"seconds,omitempty"`
	verdict
	Command string `json:"command,omitempty"` // has it again, if something was found
	Output  string `json:"output,omitempty"`  // file in the folder, likewise
	Again   string `json:"again,omitempty"`   // how the same turn ended the second time, likewise
}

// event is what an entry tells of.
type event string

const (
	began event = "begin"
	begun event = "turn"
	ended event = "end"
	left  event = "stop"
)

const (
	journalName = "journal.jsonl"
	lockName    = "lock"
)

// journal is the file of entries, one a line, each durable before the next thing is done.
type journal struct {
	file    *os.File
	lock    *os.File
	entries []entry
}

// openJournal opens or begins the journal of a folder, which it keeps for this process.
func openJournal(dir string) (*journal, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for what is done: %w", err)
	}
	lock, err := os.OpenFile(filepath.Join(dir, lockName), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: another soak works in this folder; say another -dir: %w",
			lock.Name(), err), lock.Close())
	}
	j := &journal{lock: lock}
	if j.file, err = os.OpenFile(filepath.Join(dir, journalName), os.O_CREATE|os.O_RDWR, 0o644); err == nil {
		err = j.read()
	}
	if err != nil {
		return nil, errors.Join(err, j.close())
	}
	return j, nil
}

// read takes what is there. Of a process that was killed the last line may be half written,
// which is cut. Any other line that cannot be read is damage.
func (j *journal) read() error {
	b, err := io.ReadAll(j.file)
	if err != nil {
		return fmt.Errorf("read the journal: %w", err)
	}
	at := int64(0)
	for len(b) > 0 {
		line, rest, whole := bytes.Cut(b, []byte("\n"))
		if !whole {
			break
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("%s at offset %d: no entry of a journal; move the folder away to begin anew: %w",
				j.file.Name(), at, err)
		}
		j.entries = append(j.entries, e)
		at += int64(len(line)) + 1
		b = rest
	}
	if err := j.file.Truncate(at); err != nil {
		return fmt.Errorf("cut half a line from the journal: %w", err)
	}
	_, err = j.file.Seek(at, io.SeekStart)
	return err
}

// add writes an entry.
func (j *journal) add(e entry) error {
	line, err := json.Marshal(e)
	if err != nil {
		return err
	}
	if _, err = j.file.Write(append(line, '\n')); err == nil {
		err = j.file.Sync()
	}
	if err != nil {
		return fmt.Errorf("write the journal: %w", err)
	}
	j.entries = append(j.entries, e)
	return nil
}

func (j *journal) close() error {
	var err error
	if j.file != nil {
		err = j.file.Close()
	}
	// A program that is being started has the lock's file too, until it runs.
	return errors.Join(err, unix.Flock(int(j.lock.Fd()), unix.LOCK_UN), j.lock.Close())
}

// timeWorked is how long the command was at work, over all its starts: from each beginning to the
// last entry before the next.
func timeWorked(entries []entry) (sum time.Duration) {
	var from, to time.Time
	for _, e := range entries {
		if e.Event == began {
			sum += to.Sub(from)
			from = e.At
		}
		to = e.At
	}
	return sum + to.Sub(from)
}

// open are the turns that were begun and did not end, oldest first: the process was killed,
// or told to stop.
func open(entries []entry) (list []entry) {
	for _, e := range entries {
		switch e.Event {
		case begun, ended:
			for i, o := range list {
				if o.Adversary == e.Adversary && o.turn == e.turn {
					list = append(list[:i], list[i+1:]...)
					break
				}
			}
			if e.Event == begun {
				list = append(list, e)
			}
		}
	}
	return list
}
