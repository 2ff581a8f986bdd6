package snapshot_test

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/snapshot"
)

// small is a snapshot of a random state, with the place of each section's rows.
func small(t *testing.T, rng *rand.Rand) []byte {
	t.Helper()
	d := newDatabase(t)
	f := randomRows{t, rng, d.state}
	f.fill()
	return write(t, d.view(t), head())
}

func tryLoad(t *testing.T, b []byte) error {
	t.Helper()
	r, err := snapshot.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return err
	}
	_, err = snapshot.Load(r, newDatabase(t).state, nil)
	return err
}

// A snapshot has no checksum: a changed value can pass for one. What is asked is
// that no damage ends the process, and that the structure is checked.
func TestDamageEndsInAnErrorOrAState(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	whole := small(t, rng)
	summaries := bytes.Index(whole, []byte("eosio::chain::block_summary_object"))
	refused := 0
	for range 25 {
		b := bytes.Clone(whole)
		for range 1 + rng.IntN(3) {
			// The summaries are most of it, and there is nothing in them to break.
			at := rng.IntN(len(b) - 65536*32)
			if at > summaries {
				at += 65536 * 32
			}
			b[at] ^= 1 << rng.IntN(8)
		}
		if err := tryLoad(t, b); err != nil {
			refused++
		}
		if err := tryLoad(t, whole[:rng.IntN(len(whole))]); err == nil {
			t.Fatalf("seed %d: a part is loaded", seed)
		}
	}
	t.Logf("seed %d: %d of 25 refused", seed, refused)
}

// patch replaces the rows of a section, and their number.
func patch(t *testing.T, b []byte, name string, rows uint64, content []byte) []byte {
	t.Helper()
	at := bytes.Index(b, append([]byte(name), 0)) - 16
	size := binary.LittleEndian.Uint64(b[at:])
	out := binary.LittleEndian.AppendUint64(bytes.Clone(b[:at]), uint64(8+len(name)+1+len(content)))
	out = binary.LittleEndian.AppendUint64(out, rows)
	out = append(append(append(out, name...), 0), content...)
	return append(out, b[at+8+int(size):]...)
}

func TestSnapshotsThatDoNotFitTogetherAreRefused(t *testing.T) {
	whole := small(t, rand.New(rand.NewPCG(1, 2)))
	rows := func(name string) []byte { return sectionOf(t, whole, "eosio::chain::"+name) }
	twice := func(row []byte) []byte { return append(bytes.Clone(row), row...) }
	word := func(list ...uint64) (b []byte) {
		for _, w := range list {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		return b
	}
	correction, limits, transaction := rows("account_ram_correction_object"), rows(
		"resource_limits::resource_limits_object"), rows("transaction_object")
	orphan := append(word(1, 2, 3, 0, 0), 0, 0, 0, 0, 0, 0, 0)
	reserved := append(word(0, 0, 0, 0, 0), 0, 0, 0, 0, 0, 0, 0)
	table := append(word(1, 2, 3, 4), 2, 0, 0, 0)
	row := func(primary byte) []byte { return append(append([]byte{primary}, make([]byte, 15)...), 0) }
	two := func(a, b byte) []byte {
		return append(append(append(append([]byte(nil), 2), row(a)...), row(b)...), 0, 0, 0, 0, 0)
	}
	for what, c := range map[string]struct {
		name    string
		rows    uint64
		content []byte
		fits    bool
	}{
		"as it is":              {"eosio::chain::chain_snapshot_header", 1, []byte{6, 0, 0, 0}, true},
		"old version":           {"eosio::chain::chain_snapshot_header", 1, []byte{1, 0, 0, 0}, false},
		"new version":           {"eosio::chain::chain_snapshot_header", 1, []byte{7, 0, 0, 0}, false},
		"two versions":          {"eosio::chain::chain_snapshot_header", 2, []byte{6, 0, 0, 0, 6, 0, 0, 0}, false},
		"no version":            {"eosio::chain::chain_snapshot_header", 0, nil, false},
		"no header state":       {"eosio::chain::block_state", 0, nil, false},
		"account twice":         {"eosio::chain::account_ram_correction_object", 2, twice(correction[:16]), false},
		"limits twice":          {"eosio::chain::resource_limits::resource_limits_object", 2, twice(limits[:32]), false},
		"transaction twice":     {"eosio::chain::transaction_object", 2, twice(transaction[:36]), false},
		"summaries missing":     {"eosio::chain::block_summary_object", 2, make([]byte, 64), false},
		"first not reserved":    {"eosio::chain::permission_object", 1, orphan, false},
		"parent missing":        {"eosio::chain::permission_object", 2, append(bytes.Clone(reserved), orphan...), false},
		"only the reserved one": {"eosio::chain::permission_object", 1, reserved, true},
		"table in order":        {"contract_tables", 9, append(bytes.Clone(table), two(1, 2)...), true},
		"row twice":             {"contract_tables", 9, append(bytes.Clone(table), two(1, 1)...), false},
		"rows out of order":     {"contract_tables", 9, append(bytes.Clone(table), two(2, 1)...), false},
		"rows missing":          {"contract_tables", 7, append(bytes.Clone(table), 0, 0, 0, 0, 0, 0), false},
		"a row too many":        {"contract_tables", 10, append(append(bytes.Clone(table), two(1, 2)...), 0), false},
	} {
		err := tryLoad(t, patch(t, whole, c.name, c.rows, c.content))
		if (err == nil) != c.fits {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := tryLoad(t, patch(t, whole, "contract_tables", 1, nil)); !exception.Is(err, exception.Snapshot) {
		t.Errorf("rows without bytes: %v", err)
	}
}
