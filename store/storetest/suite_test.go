package storetest_test

import (
	"os"
	"testing"

	"tarn/store"
	"tarn/store/storetest"
)

// suite is the suite over the sketch: as an engine that stores undo, and as one
// that keeps the irreversible revision only.
var suite = storetest.Suite{
	Engines: []storetest.Engine{sketchEngine("sketch", true, sound), sketchEngine("sketch_irreversible", false, sound)},
	Ops:     8000,
	Kills:   6,
	Cuts:    4,
	Rounds:  1,
}

func sketchEngine(name string, undo bool, f fault) storetest.Engine {
	return storetest.Engine{
		Name: name,
		Open: func(dir string, k storetest.Knobs) (store.Store, error) {
			return openSketch(dir, k, undo, f)
		},
		StoresUndo: undo,
		Limited:    undo, // once is enough
		Bounded:    true,
	}
}

func TestMain(m *testing.M) {
	if f, ok := faultFromEnvironment(); ok {
		suite.Engines = faulty(f)
	}
	os.Exit(suite.Main(m))
}

func TestModel(t *testing.T)      { suite.Model(t) }
func TestModelFull(t *testing.T)  { suite.ModelFull(t) }
func TestKill(t *testing.T)       { suite.Kill(t) }
func TestMemoryDisk(t *testing.T) { suite.MemoryDisk(t) }
func TestPowerCut(t *testing.T)   { suite.PowerCut(t) }

// Rows of the sketch are a slice, so that filling a file system with them takes half a minute.
func TestNoSpace(t *testing.T) {
	if testing.Short() {
		t.Skip("fills file systems with the sketch's rows; takes half a minute")
	}
	suite.NoSpace(t)
}

// With -short one sketch does: the other one differs in what it keeps of undo.
func TestConformance(t *testing.T) {
	s := suite
	if testing.Short() {
		s.Engines = s.Engines[:1]
	}
	s.Conformance(t)
}
