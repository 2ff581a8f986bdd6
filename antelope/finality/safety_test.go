package finality

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/antelope/types"
	"tarn/internal/refdata"
	"tarn/store/vfs"
)

// Both versions of Spring's file say the same, and what is written is what Spring writes.
func TestSafetyFilesOfSpringAreTakenOver(t *testing.T) {
	old, err := parseSafeties(refdata.Read(t, "savanna/fsi/safety_v0.dat"))
	if err != nil || len(old) != 3 {
		t.Fatalf("%d keys, %v", len(old), err)
	}
	b := refdata.Read(t, "savanna/fsi/safety_v1.dat")
	list, err := parseSafeties(b)
	if err != nil || len(list) != 3 {
		t.Fatalf("%d keys, %v", len(list), err)
	}
	byKey := map[types.BLSPublicKey]Safety{}
	for _, e := range old {
		byKey[e.key] = e.Safety
	}
	for _, e := range list {
		if o, ok := byKey[e.key]; !ok || o.Last != e.Last || o.Lock != e.Lock {
			t.Errorf("%s: version 0 has %+v, version 1 %+v", e.key, o, e.Safety)
		}
	}
	if got := appendSafeties(list); !bytes.Equal(got, b) {
		t.Errorf("written with %d bytes, want %d", len(got), len(b))
	}
	for i := range b {
		damaged := bytes.Clone(b)
		damaged[i] ^= 0x10
		if _, err := parseSafeties(damaged); err == nil {
			t.Errorf("a flipped bit of byte %d is not noticed", i)
		}
		if _, err := parseSafeties(b[:i]); err == nil {
			t.Errorf("a file of %d bytes is taken", i)
		}
	}
}

// What a node saves, it reads; keys that are not configured stay in the file, before the others.
func TestSafetiesAreKeptForAllKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), SafetyFileName)
	if err := os.WriteFile(path, refdata.Read(t, "savanna/fsi/safety_v1.dat"), 0o644); err != nil {
		t.Fatal(err)
	}
	all, err := parseSafeties(refdata.Read(t, "savanna/fsi/safety_v1.dat"))
	if err != nil {
		t.Fatal(err)
	}
	mine, fresh := all[1].key, types.BLSPublicKey{1}
	s, err := OpenSafeties(vfs.OS, path, []types.BLSPublicKey{fresh, mine})
	if err != nil {
		t.Fatal(err)
	}
	if got, ok := s.Get(mine); !ok || got != all[1].Safety {
		t.Errorf("%+v", got)
	}
	if got, ok := s.Get(fresh); !ok || got != (Safety{}) {
		t.Errorf("a new key remembers %+v", got)
	}
	if _, ok := s.Get(all[0].key); ok {
		t.Error("a key that is not configured votes")
	}
	voted := Safety{Last: Voted{ID: types.Checksum256{1}, Time: 7}, Lock: Voted{ID: types.Checksum256{2}, Time: 5},
		OtherBranch: 6}
	if err := s.Save(map[types.BLSPublicKey]Safety{fresh: voted}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseSafeties(b)
	if err != nil || len(list) != 4 || list[0] != all[0] || list[1] != all[2] ||
		list[2] != (keptSafety{fresh, voted}) || list[3] != all[1] {
		t.Errorf("%d keys, %v", len(list), err)
	}
	if err := os.WriteFile(path, b[:100], 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenSafeties(vfs.OS, path, nil); err == nil || !strings.Contains(err.Error(), path) ||
		!strings.Contains(err.Error(), "Do not remove it to go on with the same keys") {
		t.Errorf("a damaged file is opened: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if s, err = OpenSafeties(vfs.OS, path, []types.BLSPublicKey{mine}); err != nil || !s.Fresh() {
		t.Errorf("without a file: %v", err)
	}
	if _, err := OpenSafeties(vfs.OS, filepath.Dir(path), nil); err == nil || errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder is opened: %v", err)
	}
}

// A key that remembers nothing is not written, as nodeos never votes with one that is locked on nothing; and
// what earlier releases wrote of such keys is left out.
func TestKeysThatRememberNothingAreNotInTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), SafetyFileName)
	voted := Safety{Last: Voted{ID: types.Checksum256{1}, Time: 7}, Lock: Voted{ID: types.Checksum256{2}, Time: 5}}
	mine, other := types.BLSPublicKey{1}, types.BLSPublicKey{2}
	old := appendSafeties([]keptSafety{{key: other}, {key: types.BLSPublicKey{3}, Safety: voted}, {key: mine}})
	if err := os.WriteFile(path, old, 0o644); err != nil {
		t.Fatal(err)
	}
	s, err := OpenSafeties(vfs.OS, path, []types.BLSPublicKey{mine, {4}})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Save(map[types.BLSPublicKey]Safety{{4}: voted}); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	list, err := parseSafeties(b)
	if err != nil || len(list) != 2 || list[0] != (keptSafety{types.BLSPublicKey{3}, voted}) ||
		list[1] != (keptSafety{types.BLSPublicKey{4}, voted}) {
		t.Errorf("%+v, %v", list, err)
	}
}

func FuzzSafetyFile(f *testing.F) {
	f.Add(appendSafeties([]keptSafety{{key: types.BLSPublicKey{1}, Safety: Safety{OtherBranch: 3}}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parseSafeties(b)
		if err != nil {
			return
		}
		again, err := parseSafeties(appendSafeties(list))
		if err != nil || len(again) != len(list) {
			t.Fatalf("%d keys become %d, %v", len(list), len(again), err)
		}
	})
}
