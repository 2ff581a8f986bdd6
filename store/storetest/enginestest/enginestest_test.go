// Package enginestest runs the suite on all seven engines, as they are opened by those
// who use them.
package enginestest

import (
	"fmt"
	"os"
	"testing"

	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
	"tarn/store/storetest"
)

var suite = storetest.Suite{Engines: engines()}

// engines lists the page engine in its four modes, and the three LSM engines.
func engines() []storetest.Engine {
	var all []storetest.Engine
	for _, mode := range engine.Modes() {
		all = append(all, storetest.Engine{
			Name:              "page/" + mode.String(),
			Open:              opener(engine.Options{Kind: engine.Page, Mode: mode}),
			StoresUndo:        true,
			Limited:           true,
			Bounded:           mode == page.MappedPrivate,
			RefusesMemoryDisk: mode != page.Mapped,
		})
	}
	for _, kind := range engine.Kinds() {
		if kind == engine.Page {
			continue
		}
		all = append(all, storetest.Engine{
			Name:        string(kind),
			Open:        opener(engine.Options{Kind: kind}),
			OpenFailing: openFailing(string(kind)),
			Bounded:     true,
		})
	}
	return all
}

func opener(o engine.Options) func(string, storetest.Knobs) (store.Store, error) {
	return func(dir string, k storetest.Knobs) (store.Store, error) {
		o := o
		o.LimitBytes, o.GuardBytes = k.LimitBytes, k.GuardBytes
		o.PrivateBytes, o.OverlayBytes = k.MemoryBytes, k.MemoryBytes
		o.ReadOnly = k.ReadOnly
		o.BeforeCheckpoint = k.BeforeCheckpoint
		return engine.Open(dir, o)
	}
}

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(suite.Main(m))
}

func TestConformance(t *testing.T)  { suite.Conformance(t) }
func TestModel(t *testing.T)        { suite.Model(t) }
func TestModelFull(t *testing.T)    { suite.ModelFull(t) }
func TestModelFailing(t *testing.T) { suite.ModelFailing(t) }
func TestKill(t *testing.T)         { suite.Kill(t) }
func TestNoSpace(t *testing.T)      { suite.NoSpace(t) }
func TestMemoryDisk(t *testing.T)   { suite.MemoryDisk(t) }
func TestPowerCut(t *testing.T)     { suite.PowerCut(t) }

func TestPowerCutAfterOpen(t *testing.T) { suite.PowerCutAfterOpen(t) }
