// Package subjectflag reads what `--on` names: programs, each in one of its modes, and says
// which protocol they speak.
//
// It owns the notation. It starts nothing.
package subjectflag

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"tarn/store/engine"
	"tarn/store/page"
)

// Programs that can be measured.
const (
	Tarn   = "tarn"
	Nodeos = "nodeos"
	Opera  = "opera"
)

// Protocols of chains.
const (
	Antelope = "antelope"
	OperaNet = "opera"
)

// SeekingLevelDB is LevelDB that compacts the files that many reads looked through in vain,
// as go-opera uses it; tarn's leveldb does not.
const SeekingLevelDB = "leveldb+seek"

// Engine is what keeps the state of a tarn in a mode that is no map mode, and whether it
// compacts what reads looked through.
func (s Subject) Engine() (kind string, seeking bool) {
	kind, _, seeking = strings.Cut(s.Mode, "+")
	return kind, seeking
}

// Subject is a program in one of its modes.
type Subject struct {
	Name    string // as it was given
	Program string
	Path    string // of the executable, absolute
	Mode    string
}

// Modes are those of a program, its usual one first. Those of tarn are the page engine's
// map modes and the other engines.
func Modes(program string) []string {
	switch program {
	case Tarn:
		usual := page.MappedPrivate.String()
		others := slices.DeleteFunc(engine.ModeNames(), func(mode string) bool { return mode == usual })
		return slices.Concat([]string{usual}, others, engine.FolderNames(), []string{SeekingLevelDB})
	case Nodeos:
		return engine.ModeNames() // which are named for nodeos' own
	case Opera:
		return []string{"pbl-1", "ldb-1", "legacy-ldb", "legacy-pbl"}
	}
	return nil
}

// Parse reads subjects, each name[=path][:mode], separated by commas. own is the path of
// this program, which tarn is without a path.
func Parse(text, own string) ([]Subject, error) {
	var all []Subject
	for one := range strings.SplitSeq(text, ",") {
		s, err := parse(one, own)
		if err != nil {
			return nil, fmt.Errorf("subject %q: %w", one, err)
		}
		if slices.ContainsFunc(all, func(x Subject) bool { return x.Name == s.Name }) {
			return nil, fmt.Errorf("subject %q is named twice", one)
		}
		all = append(all, s)
	}
	return all, nil
}

func parse(one, own string) (Subject, error) {
	s := Subject{Name: one}
	rest, path, given := strings.Cut(one, "=")
	of := rest
	if given {
		of = path
	}
	if at := strings.LastIndexByte(of, ':'); at >= 0 {
		of, s.Mode = of[:at], of[at+1:]
		if s.Mode == "" {
			return s, errors.New("there is no mode after the colon")
		}
	}
	s.Program = of
	if given {
		s.Program, s.Path = rest, of
	}
	modes := Modes(s.Program)
	if modes == nil {
		return s, fmt.Errorf("no program is called %q: tarn[:MODE], nodeos=PATH[:MODE] or opera=PATH[:PRESET]",
			s.Program)
	}
	if s.Mode == "" {
		s.Mode = modes[0]
	}
	if !slices.Contains(modes, s.Mode) {
		return s, fmt.Errorf("%s has no mode %q; there are %s", s.Program, s.Mode, strings.Join(modes, ", "))
	}
	return s, s.find(own, given)
}

// find makes the path absolute, of a file that can be executed.
func (s *Subject) find(own string, given bool) error {
	if !given {
		if s.Program != Tarn {
			return fmt.Errorf("its path is missing: %s=PATH:%s", s.Program, s.Mode)
		}
		s.Path = own
	}
	if s.Path == "" {
		return errors.New("its path is empty")
	}
	path, err := exec.LookPath(s.Path)
	if err != nil && !errors.Is(err, exec.ErrDot) {
		return fmt.Errorf("find the program: %w", err)
	}
	if s.Path, err = filepath.Abs(path); err != nil {
		return fmt.Errorf("find the program: %w", err)
	}
	return nil
}

// Protocol is the one that all subjects speak: asked, or that of nodeos or opera, whose
// neighbour tarn speaks it too, or Antelope.
func Protocol(all []Subject, asked string) (string, error) {
	if asked != "" && asked != Antelope && asked != OperaNet {
		return "", fmt.Errorf("no chain is called %q: %s or %s", asked, Antelope, OperaNet)
	}
	found := asked
	for _, s := range all {
		p := map[string]string{Nodeos: Antelope, Opera: OperaNet}[s.Program]
		if p == "" {
			continue
		}
		if found != "" && p != found {
			return "", fmt.Errorf("%s has a chain of %s, not of %s: they cannot be measured beside each other",
				s.Name, p, found)
		}
		found = p
	}
	if found == "" {
		found = Antelope
	}
	return found, nil
}
