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
func TestNoSpace(t *testing.T)    { suite.NoSpace(t) }
func TestMemoryDisk(t *testing.T) { suite.MemoryDisk(t) }
func TestPowerCut(t *testing.T)   { suite.PowerCut(t) }

func TestConformance(t *testing.T) { suite.Conformance(t) }
