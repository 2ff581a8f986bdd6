// Package storetest is the suite that every engine of the store passes:
// conformance to the contract, random work against a model, kills, power cuts
// and a full disk. It owns the model of a store and the judgement of what an
// engine did; it never imports an engine. A package that knows engines lists
// them in a [Suite] and calls its methods from its own tests:
//
//	var suite = storetest.Suite{Engines: []storetest.Engine{...}}
//
//	func TestMain(m *testing.M)         { os.Exit(suite.Main(m)) }
//	func TestConformance(t *testing.T)  { suite.Conformance(t) }
//	func TestModel(t *testing.T)        { suite.Model(t) }
//	func TestModelFull(t *testing.T)    { suite.ModelFull(t) }
//	func TestModelFailing(t *testing.T) { suite.ModelFailing(t) }
//	func TestKill(t *testing.T)         { suite.Kill(t) }
//	func TestPowerCut(t *testing.T)     { suite.PowerCut(t) }
//	func TestPowerCutAfterOpen(t *testing.T) { suite.PowerCutAfterOpen(t) }
//	func TestNoSpace(t *testing.T)      { suite.NoSpace(t) }
//	func TestMemoryDisk(t *testing.T)   { suite.MemoryDisk(t) }
//
// Main is needed because the test binary runs itself again as the process that
// is killed, cut off or locked out.
package storetest

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"tarn/store"
)

// Engine is one engine under test, or one mode of it.
type Engine struct {
	// Name is the subtest's name: "page/mapped", "pebble".
	Name string
	// Open opens the store in dir, which it makes if need be.
	Open func(dir string, k Knobs) (store.Store, error)
	// OpenFailing, if not nil, is Open for a store whose checkpoints can be made to
	// fail at any of their steps.
	OpenFailing func(dir string, k Knobs) (store.Store, Sabotage, error)
	// StoresUndo: an image holds the head and the way back to the irreversible
	// revision. Otherwise the irreversible revision is all that survives.
	StoresUndo bool
	// Limited: LimitBytes and GuardBytes are enforced.
	Limited bool
	// Bounded: MemoryBytes makes the store take checkpoints by itself.
	Bounded bool
	// RefusesMemoryDisk: a folder on a file system in memory is refused.
	RefusesMemoryDisk bool
}

// Knobs are the options that the suite sets; zero means the engine's default.
// Sizes are in bytes.
type Knobs struct {
	LimitBytes  int64
	GuardBytes  int64
	MemoryBytes int64 // private pages or overlay: more asks for a checkpoint
	ReadOnly    bool
	// BeforeCheckpoint is called with the revision of an image before that
	// image becomes the durable one. An error fails the checkpoint.
	BeforeCheckpoint func(revision uint64) error
}

// Suite is a list of engines and the size of a run. Every field can be set by
// the flag -storetest.<field> or the environment variable STORETEST_<FIELD>; a
// flag wins.
type Suite struct {
	Engines []Engine

	Seed   uint64 // 0: from the clock
	Ops    int    // of a round of the model test
	Rounds int    // of the model test, for each engine
	Kills  int    // for each engine
	Cuts   int    // power cuts, for each engine
	NoSkip bool   // a part that cannot run here fails instead of being skipped
}

// defaults are the sizes of a quick run.
func (s *Suite) defaults() {
	for _, f := range []struct {
		field *int
		size  int
	}{{&s.Ops, 12_000}, {&s.Rounds, 1}, {&s.Kills, 4}, {&s.Cuts, 2}} {
		if *f.field == 0 {
			*f.field = f.size
		}
	}
	if s.Seed == 0 {
		s.Seed = 1
	}
}

// Main runs the tests, or, in a process that a test of the suite has started,
// that process's part. It returns the exit code.
func (s *Suite) Main(m *testing.M) int {
	s.defaults()
	if role := os.Getenv(roleVariable); role != "" {
		return s.play(role)
	}
	if err := s.environment(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	flag.Uint64Var(&s.Seed, "storetest.seed", s.Seed, "seed of all random choices; 0 takes one from the clock")
	flag.IntVar(&s.Ops, "storetest.ops", s.Ops, "operations in a round of the model test")
	flag.IntVar(&s.Rounds, "storetest.rounds", s.Rounds, "rounds of the model test for each engine")
	flag.IntVar(&s.Kills, "storetest.kills", s.Kills, "kills for each engine")
	flag.IntVar(&s.Cuts, "storetest.cuts", s.Cuts, "power cuts for each engine")
	flag.BoolVar(&s.NoSkip, "storetest.noskip", s.NoSkip,
		"fail where a test would be skipped for want of root or loop devices")
	flag.Parse()
	if s.Seed == 0 {
		s.Seed = uint64(time.Now().UnixNano())
	}
	return m.Run()
}

func (s *Suite) environment() error {
	for name, set := range map[string]func(string) error{
		"SEED":   func(v string) (err error) { s.Seed, err = strconv.ParseUint(v, 10, 64); return },
		"OPS":    func(v string) (err error) { s.Ops, err = strconv.Atoi(v); return },
		"ROUNDS": func(v string) (err error) { s.Rounds, err = strconv.Atoi(v); return },
		"KILLS":  func(v string) (err error) { s.Kills, err = strconv.Atoi(v); return },
		"CUTS":   func(v string) (err error) { s.Cuts, err = strconv.Atoi(v); return },
		"NOSKIP": func(v string) (err error) { s.NoSkip, err = strconv.ParseBool(v); return },
	} {
		v, ok := os.LookupEnv("STORETEST_" + name)
		if !ok {
			continue
		}
		if err := set(v); err != nil {
			return fmt.Errorf("environment variable STORETEST_%s: %w", name, err)
		}
	}
	return nil
}

// each runs test for every engine as a parallel subtest of the engine's name.
func (s *Suite) each(t *testing.T, test func(t *testing.T, e Engine)) {
	for _, e := range s.Engines {
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			test(t, e)
		})
	}
}

func (s *Suite) engine(name string) (Engine, error) {
	for _, e := range s.Engines {
		if e.Name == name {
			return e, nil
		}
	}
	return Engine{}, fmt.Errorf("no engine %q in the suite", name)
}

// skip ends a test that cannot run here, or fails it if that is not allowed.
func (s *Suite) skip(t *testing.T, reason string) {
	t.Helper()
	if s.NoSkip {
		t.Fatalf("must not be skipped: %s", reason)
	}
	t.Skip(reason)
}

// source is the random source number n of a seed, for one engine.
func source(seed uint64, engine string, n int) *rand.Rand {
	h := seed
	for _, c := range []byte(engine) {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return rand.New(rand.NewPCG(h, uint64(n)))
}

// replay is the command that repeats a run of one engine.
func (s *Suite) replay(t *testing.T, flags ...string) string {
	return fmt.Sprintf("go test -run '^%s$' -storetest.seed=%d %s", t.Name(), s.Seed, strings.Join(flags, " "))
}
