package snapshot_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/snapshot"
	"tarn/antelope/state"
	"tarn/internal/refdata"
	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// database is an empty state in a store of its own.
type database struct {
	store store.Store
	state *state.State
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	return openDatabase(t, engine.Options{Kind: engine.Page, Mode: page.Heap, LimitBytes: 256 << 20})
}

func openDatabase(t *testing.T, o engine.Options) *database {
	t.Helper()
	st, err := engine.Open(t.TempDir(), o)
	must(t, err)
	s, err := state.Open(st)
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, st.Close())
	})
	return &database{st, s}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// view shows what has been written so far.
func (d *database) view(t *testing.T) *state.View {
	t.Helper()
	must(t, d.state.Flush())
	must(t, d.store.Publish())
	v, err := d.state.View()
	must(t, err)
	t.Cleanup(func() { must(t, v.Close()) })
	return v
}

func load(t *testing.T, b []byte) (*state.View, consensus.Head) {
	t.Helper()
	r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
	must(t, err)
	d := newDatabase(t)
	head, err := snapshot.Load(r, d.state, nil)
	must(t, err)
	return d.view(t), head
}

// write returns the snapshot of a view.
func write(t *testing.T, v *state.View, head consensus.Head) []byte {
	t.Helper()
	return writeAs(t, v, head, snapshot.Options{})
}

func writeAs(t *testing.T, v *state.View, head consensus.Head, o snapshot.Options) []byte {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "snapshot.bin"))
	must(t, err)
	defer f.Close()
	must(t, snapshot.Write(f, v, head, o))
	b, err := os.ReadFile(f.Name())
	must(t, err)
	return b
}

func TestReferenceSnapshotsOfAllVersionsAreTheSameState(t *testing.T) {
	const want = "68a9a3578db546fa17d4fa4904c284a9fa5f5f2aef3b8aa18a331add97447b03"
	newest := refdata.Read(t, "leap-snapshots/snap_v6.bin.gz")
	for version := uint32(2); version <= 6; version++ {
		t.Run(fmt.Sprint("version ", version), func(t *testing.T) {
			b := refdata.Read(t, fmt.Sprintf("leap-snapshots/snap_v%d.bin.gz", version))
			r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
			must(t, err)
			id, err := snapshot.ChainID(r)
			if err != nil || id.String() != "90d8c7436017001e64891e8b6b7eb0060baeb350048eb52d2cdb594fdbc2617d" {
				t.Errorf("chain id %s, %v", id, err)
			}
			view, head := load(t, b)
			if head.ID.String() != "00000003ad205c959e2af857e2cc621d00a63c3df2b82d38392d5dd162b1c511" {
				t.Errorf("head %s", head.ID)
			}
			hash, err := snapshot.Hash(view, head, snapshot.Options{})
			if err != nil || hash.String() != want {
				t.Errorf("integrity hash %s, %v", hash, err)
			}
			if got := write(t, view, head); !bytes.Equal(got, newest) {
				t.Errorf("written as %d bytes, want the %d of version 6", len(got), len(newest))
			}
		})
	}
}

func TestEveryEngineHoldsTheSameState(t *testing.T) {
	b := refdata.Read(t, "leap-snapshots/snap_v6.bin.gz")
	for _, kind := range []engine.Kind{engine.LevelDB, engine.Pebble, engine.Badger} {
		r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
		must(t, err)
		d := openDatabase(t, engine.Options{Kind: kind})
		head, err := snapshot.Load(r, d.state, nil)
		must(t, err)
		if got := write(t, d.view(t), head); !bytes.Equal(got, b) {
			t.Errorf("%s: another snapshot", kind)
		}
	}
}

// The hashes are of what the original's tool makes of the same snapshots.
func TestReferenceSnapshotsPrintAsTheOriginalPrintsThem(t *testing.T) {
	for name, want := range map[string]string{
		"snap_v6.bin.gz":            "b00c5d050fa67c5bff7a54c54928862464c8411b6b8e67b86ae64235d3409669",
		"snap_v2_prod_sched.bin.gz": "d0d80433f2a6dfbf82f7d7f189d51ec0741a78e3910ff45fdf7aa71c054426b3",
	} {
		view, head := load(t, refdata.Read(t, "leap-snapshots/"+name))
		var out bytes.Buffer
		must(t, snapshot.Export(snapshot.NewJSON(&out), view, head, snapshot.Options{}))
		sum := sha256.Sum256(out.Bytes())
		if got := hex.EncodeToString(sum[:]); got != want {
			t.Errorf("%s: JSON of %d bytes has hash %s", name, out.Len(), got)
		}
	}
}

// The original's tests have the rows in another document.
func TestReferenceRowsAreTheOnesOfTheJSON(t *testing.T) {
	var want struct {
		Sections []struct {
			Name string
			Rows []any
		}
	}
	must(t, json.Unmarshal(refdata.Read(t, "leap-snapshots/snap_v6.json.gz"), &want))
	view, head := load(t, refdata.Read(t, "leap-snapshots/snap_v6.bin.gz"))
	var out bytes.Buffer
	must(t, snapshot.Export(snapshot.NewJSON(&out), view, head, snapshot.Options{}))
	var got map[string]json.RawMessage
	must(t, json.Unmarshal(out.Bytes(), &got))
	if len(got) != len(want.Sections)+2 {
		t.Errorf("%d fields for %d sections", len(got), len(want.Sections))
	}
	for _, s := range want.Sections {
		var section struct {
			Rows []any
			Num  int `json:"num_rows"`
		}
		must(t, json.Unmarshal(got[s.Name], &section))
		if !reflect.DeepEqual(section.Rows, s.Rows) || section.Num != len(s.Rows) {
			t.Errorf("section %s differs", s.Name)
		}
	}
}

func TestASnapshotSurvivesLoadingAndWriting(t *testing.T) {
	view, head := load(t, refdata.Read(t, "leap-snapshots/snap_v2_prod_sched.bin.gz"))
	first := write(t, view, head)
	view, head = load(t, first)
	if second := write(t, view, head); !bytes.Equal(first, second) {
		t.Error("the second snapshot is another one")
	}
}

// nodeos reads the list of functions as a set: its order in a snapshot means nothing.
func TestTheOrderOfASnapshotsFunctionsMeansNothing(t *testing.T) {
	want := refdata.Read(t, "wax/snap_v6.bin.gz")
	at, next := bytes.Index(want, []byte("\x08__addtf3")), bytes.Index(want, []byte("\x08__multf3"))
	if at < 0 || next < 0 {
		t.Fatal("the snapshot has no such functions")
	}
	other := bytes.Clone(want) // two names of a length change places
	copy(other[at+1:], "__multf3")
	copy(other[next+1:], "__addtf3")
	view, head := load(t, other)
	if got := write(t, view, head); !bytes.Equal(got, want) {
		t.Error("it is another state")
	}
}
