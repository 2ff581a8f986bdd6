package enginestest

import (
	"errors"
	"fmt"
	"testing"

	"tarn/store"
	"tarn/store/storetest"
)

// A flush that fails at a step says so, and one after it does all that is missing.
func TestAFailedStepIsTold(t *testing.T) {
	for _, e := range suite.Engines {
		if e.OpenFailing == nil {
			continue
		}
		t.Run(e.Name, func(t *testing.T) {
			t.Parallel()
			x, sabotage, err := e.OpenFailing(t.TempDir(), storetest.Knobs{})
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := x.Close(); err != nil {
					t.Error(err)
				}
			}()
			table, err := x.CreateTable("rows")
			if err != nil {
				t.Fatal(err)
			}
			f := sabotage.(*failing)
			for i, step := range []string{"before", "batch", "row", "commit", "lying commit", "seal open", "seal write",
				"seal sync"} {
				if err := x.Put(table, fmt.Append(nil, "key ", i), []byte(step)); err != nil {
					t.Fatal(err)
				}
				f.failAt(step, 0)
				if err := flush(x); !errors.Is(err, errPlanted) {
					t.Errorf("a flush that fails at its step %q returned %v", step, err)
				}
				f.Heal()
				if err := flush(x); err != nil {
					t.Errorf("the flush after one that failed at its step %q: %v", step, err)
				}
			}
		})
	}
}

func flush(x store.Store) error {
	c, err := x.Checkpoint()
	if err != nil {
		return err
	}
	return c.Wait()
}
