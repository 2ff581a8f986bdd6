package lsm

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/store"
	"tarn/store/vfs"
)

func enter(t *testing.T, dir string) *Folder {
	t.Helper()
	s, err := Enter(nil, dir, "memory", false)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func leave(t *testing.T, s *Folder) {
	t.Helper()
	if err := s.Leave(); err != nil {
		t.Fatal(err)
	}
}

// sealFolder makes a folder with flushes up to a sequence, revisions ten times that.
func sealFolder(t *testing.T, sequence uint64) (dir, seal string) {
	t.Helper()
	dir = t.TempDir()
	s := enter(t, dir)
	for n := range sequence {
		if err := s.seal(head{sequence: n + 1, revision: 10 * (n + 1)}); err != nil {
			t.Fatal(err)
		}
	}
	leave(t, s)
	return dir, filepath.Join(dir, "memory", sealName)
}

func TestTheSealRemembersTheNewestFlush(t *testing.T) {
	for sequence := range uint64(5) {
		dir, _ := sealFolder(t, sequence)
		s := enter(t, dir)
		if s.sealed.sequence != sequence || s.sealed.revision != 10*sequence || s.New() != (sequence == 0) ||
			s.Kind() != "memory" {
			t.Errorf("%+v after %d", s.sealed, sequence)
		}
		leave(t, s)
	}
}

// TestAStartKeepsTheTimeOfTheNewestFlush: the start writes the seal again, and the
// seal's time is that of the last checkpoint.
func TestAStartKeepsTheTimeOfTheNewestFlush(t *testing.T) {
	dir, path := sealFolder(t, 3)
	then := time.Now().Add(-time.Hour).Truncate(time.Second)
	if err := os.Chtimes(path, then, then); err != nil {
		t.Fatal(err)
	}
	leave(t, enter(t, dir))
	if info, err := os.Stat(path); err != nil || !info.ModTime().Equal(then) {
		t.Errorf("%v, %v", info.ModTime(), err)
	}
}

func TestATornSealFallsBackToTheOneBefore(t *testing.T) {
	for _, sequence := range []uint64{4, 5} {
		dir, path := sealFolder(t, sequence)
		file, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		newest, err := decodeSeal(path, file)
		if err != nil {
			t.Fatal(err)
		}
		for at := range sealSize {
			torn := bytes.Clone(file)
			torn[int(newest.slot)+at] ^= 0x40
			if err := os.WriteFile(path, torn, 0o644); err != nil {
				t.Fatal(err)
			}
			s := enter(t, dir)
			if s.sealed.sequence != sequence-1 {
				t.Fatalf("byte %d changed: sequence %d", at, s.sealed.sequence)
			}
			leave(t, s)
		}
		both := bytes.Clone(file)
		both[20] ^= 1
		both[sealSlot+20] ^= 1
		if err := os.WriteFile(path, both, 0o644); err != nil {
			t.Fatal(err)
		}
		if _, err := Enter(nil, dir, "memory", false); !errors.Is(err, store.ErrCorrupt) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("both slots damaged: %v", err)
		}
	}
}

func TestAnotherVersionOrLibraryIsRefused(t *testing.T) {
	dir, path := sealFolder(t, 1)
	b := seal{kind: "memory", head: head{sequence: 9}}.encode()
	b[8] = formatVersion + 1
	b[12], b[13], b[14], b[15] = 0, 0, 0, 0
	sum := sealSum(b)
	b[12], b[13], b[14], b[15] = byte(sum), byte(sum>>8), byte(sum>>16), byte(sum>>24)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	var version *store.VersionError
	if _, err := Enter(nil, dir, "memory", false); !errors.As(err, &version) || version.Found != formatVersion+1 {
		t.Errorf("another version: %v", err)
	}
	if err := os.WriteFile(path, seal{kind: "other", head: head{sequence: 9}}.encode(), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Enter(nil, dir, "memory", false); !errors.Is(err, store.ErrFormat) {
		t.Errorf("another library: %v", err)
	}
	if _, err := Enter(nil, dir, "memory", false); errors.Is(err, store.ErrLocked) {
		t.Error("a refused opening keeps the lock")
	}
}

func TestAFolderWithoutItsSealIsRefused(t *testing.T) {
	dir, path := sealFolder(t, 3)
	if err := os.WriteFile(filepath.Join(dir, "memory", "000001.log"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Enter(nil, dir, "memory", false); !errors.Is(err, store.ErrCorrupt) {
		t.Errorf("the seal is gone: %v", err)
	}
}

func TestAnInterruptedCreationIsBegunAnew(t *testing.T) {
	dir := t.TempDir()
	folder := filepath.Join(dir, "memory")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, sealName+vfs.NewSuffix), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	leave(t, enter(t, dir)) // interrupted before the seal had its name
	if err := os.WriteFile(filepath.Join(folder, "MANIFEST"), []byte("half"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := Enter(nil, dir, "memory", true); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("for reading: %v", err)
	}
	s := enter(t, dir)
	defer leave(t, s)
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) != 1 || entries[0].Name() != sealName || !s.New() {
		t.Errorf("%v is left, %v", entries, err)
	}
}

func TestRoomIsAskedForBeforehand(t *testing.T) {
	s := enter(t, t.TempDir())
	defer leave(t, s)
	if err := s.Room(1); err != nil {
		t.Error(err)
	}
	var full *store.FullError
	if err := s.Room(1 << 60); !errors.As(err, &full) || full.Need != 1<<60 || full.Free <= 0 {
		t.Errorf("%v", err)
	}
}

func TestOptionsTellEverythingThatIsWrong(t *testing.T) {
	err := Options{CacheBytes: 1, OverlayBytes: 2}.Validate()
	if err == nil || !strings.Contains(err.Error(), "cache of 1 bytes") ||
		!strings.Contains(err.Error(), "overlay of 2 bytes") {
		t.Error(err)
	}
	if err := (Options{}).Validate(); err != nil {
		t.Errorf("the defaults: %v", err)
	}
	for _, total := range []int64{0, MinCache, 1 << 30} {
		b := Share(total)
		if total == 0 {
			total = DefaultCache()
		}
		if b.Rows+b.Blocks+b.Memtables != total {
			t.Errorf("%d bytes are shared out as %+v", total, b)
		}
	}
}

// TestFormat holds the bytes on disk fast; docs/formats/lsm.md describes them.
func TestFormat(t *testing.T) {
	for what, c := range map[string]struct {
		got  []byte
		want string
	}{
		"row key":  {appendKey(nil, 0x102, []byte("key")), "0102" + hex.EncodeToString([]byte("key"))},
		"name key": {nameKey(0x102), "0000740102"},
		"format":   {append(append([]byte{}, formatKey...), formatRow()...), "00006601000000"},
		"head":     {append(append([]byte{}, headKey...), head{sequence: 3, revision: 0x1122}.encode()...), "000068" + "0300000000000000" + "2211000000000000"},
		"seal": {seal{kind: "leveldb", head: head{sequence: 3, revision: 0x1122}}.encode(), "7461726e6c736d00" +
			"01000000" + "b5987c2c" + "6c6576656c646200" + "0300000000000000" + "2211000000000000" +
			"0000000000000000"},
	} {
		if hex.EncodeToString(c.got) != c.want {
			t.Errorf("%s is %x, should be %s", what, c.got, c.want)
		}
	}
}

func FuzzSeal(f *testing.F) {
	file := append(seal{kind: "pebble", head: head{sequence: 2, revision: 5}}.encode(),
		make([]byte, sealSlot-sealSize)...)
	file = append(file, seal{kind: "pebble", head: head{sequence: 3, revision: 9}}.encode()...)
	f.Add(file)
	f.Add(file[:sealSize])
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, file []byte) {
		s, err := decodeSeal("SEAL", file)
		if err != nil {
			return
		}
		if at := int(s.slot); !bytes.Equal(s.encode()[:40], file[at:at+40]) {
			t.Errorf("%+v is not what slot %d says", s, at)
		}
	})
}
