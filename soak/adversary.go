package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// adversary is a test that takes a seed and a size.
type adversary struct {
	Kind, Name string
	What       string   // it does, and what must hold
	Package    string   // from the module's root, as "./store/page"
	Run        string   // pattern of tests
	Fuzz       string   // or a fuzz target
	Args       []string // of the test program; $seed and $n are the turn's
	Env        []string // of the test program
	Unit       string   // what $n counts, or Count
	Size       int      // $n of the first turn, after which the time that it took decides; 0 is always 1
	Most       int      // $n at most, if not 0
	// Count finds how many there were in what the test says: the sum of its first group, or of
	// a fuzz target the last. Without it a turn that passes is $n.
	Count *regexp.Regexp
	Race  bool
	Whole bool // a package's tests in random order: `soak flaky`
	Needs []need
	Limit time.Duration // after which a turn hangs
}

// need is something that not every machine has. It says what is missing.
type need func(o options) string

// asRoot is the need of whoever makes file systems.
func asRoot(options) string {
	if os.Geteuid() != 0 {
		return "not root, who makes file systems of its own to cut their power"
	}
	for _, name := range []string{"mkfs.ext4", "losetup", "mount"} {
		if _, err := exec.LookPath(name); err != nil {
			return name + " is not installed"
		}
	}
	return ""
}

func judges(o options) string {
	if !o.judges {
		return "-judges was not said: the original is fetched or built once, in minutes"
	}
	return ""
}

func compiler(options) string {
	for _, name := range []string{"gcc", "clang", "cc"} {
		if _, err := exec.LookPath(name); err == nil {
			return ""
		}
	}
	return "no C compiler, which the race detector needs"
}

// missing says what an adversary lacks, if anything.
func (a *adversary) missing(o options) string {
	var lacks []string
	for _, n := range a.Needs {
		if why := n(o); why != "" {
			lacks = append(lacks, why)
		}
	}
	return strings.Join(lacks, "; ")
}

// turn is one time that an adversary has its way.
type turn struct {
	Seed uint64 `json:"seed"`
	N    int    `json:"n"`
}

// arguments are what the test program of a turn is told, but for what bounds it.
func (a *adversary) arguments(t turn) []string {
	fill := strings.NewReplacer("$seed", strconv.FormatUint(t.Seed, 10), "$n", strconv.Itoa(t.N)).Replace
	var args []string
	switch {
	case a.Fuzz != "":
		args = append(args, "-test.run=^$", "-test.fuzz=^"+a.Fuzz+"$")
	case a.Run != "":
		args = append(args, "-test.run="+a.Run)
	}
	for _, arg := range a.Args {
		args = append(args, fill(arg))
	}
	return args
}

// environment is what a turn's program finds set beside what everybody has set.
func (a *adversary) environment(t turn) []string {
	env := append([]string(nil), a.Env...)
	if a.Whole { // another number of processors in each of four turns
		env = append(env, "GOMAXPROCS="+strconv.Itoa(1+int(t.Seed/stride)%4))
	}
	return env
}

// command is what a person types to have a turn again.
func (a *adversary) command(t turn) string {
	var words []string
	for _, e := range a.environment(t) {
		name, value, _ := strings.Cut(e, "=")
		words = append(words, name+"="+quoteWord(value))
	}
	if a.Race {
		words = append(words, "CGO_ENABLED=1")
	}
	words = append(words, "go", "test", "-v", "-count=1", "-timeout="+a.limit().String())
	if a.Race {
		words = append(words, "-race")
	}
	words = append(words, a.Package)
	for _, arg := range a.arguments(t) {
		words = append(words, quoteWord(strings.Replace(arg, "-test.", "-", 1)))
	}
	return strings.Join(words, " ")
}

// plain are words that a shell leaves as they are.
var plain = regexp.MustCompile(`^[A-Za-z0-9_./=:,@-]+$`)

func quoteWord(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// limit is after what time a turn hangs.
func (a *adversary) limit() time.Duration {
	if a.Limit > 0 {
		return a.Limit
	}
	return 15 * time.Minute
}

// nextSize is the size of the turn after one of n that took so long, when turns shall take
// target: no more than four times as many at once, because the time is not always theirs.
func (a *adversary) nextSize(n int, took, target time.Duration) int {
	if a.Size == 0 {
		return 1
	}
	next := n * 4
	if took > 0 {
		next = min(next, int(float64(n)*target.Seconds()/took.Seconds()))
	}
	if a.Most > 0 {
		next = min(next, a.Most)
	}
	return max(1, next)
}

// check refuses what no turn can be had of.
func (a *adversary) check() error {
	seeded := false
	for _, arg := range a.Args {
		seeded = seeded || strings.Contains(arg, "$seed")
	}
	switch {
	case a.Kind == "" || a.Name == "" || a.What == "" || a.Package == "":
		return fmt.Errorf("adversary %q of %q lacks a kind, a name, a package, or what it does", a.Name, a.Package)
	case a.Fuzz == "" && !seeded:
		return fmt.Errorf("adversary %q takes no seed", a.Name)
	}
	return nil
}
