package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/store"
)

// growStore makes a store of several lives, with changes that go into logs and some that go into tables,
// and returns its rows.
func growStore(t *testing.T, dir string, o Options, lives int) map[string]string {
	t.Helper()
	rows := map[string]string{}
	for life := range lives {
		s, err := Open(dir, o)
		check(t, err)
		table, err := s.Table("rows")
		if err != nil {
			table, err = s.CreateTable("rows")
		}
		check(t, err)
		for step := range 3 {
			check(t, s.Begin())
			size := 100
			if step == 1 && life%2 == 0 {
				size = 3 << 20 // too much for a log
			}
			for i := range 20 {
				key, value := fmt.Sprintf("%02d", (life*7+step*5+i)%60),
					strings.Repeat(string(rune('a'+life*3+step)), size/20)
				check(t, s.Put(table, []byte(key), []byte(value)))
				rows[key] = value
			}
			check(t, s.Push())
			check(t, s.Commit(s.Head()))
			check(t, s.Publish())
			c, err := s.Checkpoint()
			check(t, err)
			check(t, c.Wait())
		}
		check(t, s.Close())
	}
	return rows
}

// rowsKept opens a store whose files were damaged, and compares its rows.
func rowsKept(dir string, o Options, want map[string]string) (err error) {
	s, err := Open(dir, o)
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	defer s.Close()
	table, err := s.Table("rows")
	if err != nil {
		return fmt.Errorf("refused: %w", err)
	}
	for key, value := range want {
		switch got, err := s.Get(table, []byte(key)); {
		case err == store.ErrNotFound:
			return fmt.Errorf("row %s is gone", key)
		case err != nil:
			return fmt.Errorf("refused: %w", err)
		case string(got) != value:
			return fmt.Errorf("row %s is another", key)
		}
	}
	return nil
}

// Whatever is damaged of the list of files that a library keeps, the rows are what they were, or
// the store is refused.
func TestADamagedListOfFilesLosesNoRowsSilently(t *testing.T) {
	for _, k := range Kinds() {
		if k == Page {
			continue // it keeps no such list
		}
		for _, lives := range []int{1, 4} {
			t.Run(fmt.Sprintf("%s/%d lives", k, lives), func(t *testing.T) { damageLists(t, k, lives) })
		}
	}
}

func damageLists(t *testing.T, k Kind, lives int) {
	o := Options{Kind: k, CacheBytes: 16 << 20, OverlayBytes: 64 << 20}
	dir := filepath.Join(t.TempDir(), "store")
	rows := growStore(t, dir, o, lives)
	lists, err := filepath.Glob(filepath.Join(dir, string(k), "MANIFEST*"))
	check(t, err)
	if len(lists) == 0 {
		t.Fatal("no list of files")
	}
	refused, same := 0, 0
	for _, list := range lists {
		sound, err := os.ReadFile(list)
		check(t, err)
		for at := 0; at < len(sound); at += 1 + len(sound)/150 {
			b := bytes.Clone(sound)
			clear(b[at:min(at+16, len(b))]) // more than one bit: libraries look for a flipped one
			if bytes.Equal(b, sound) {
				continue
			}
			work := filepath.Join(t.TempDir(), "damaged")
			check(t, os.CopyFS(work, os.DirFS(dir)))
			check(t, os.WriteFile(filepath.Join(work, string(k), filepath.Base(list)), b, 0o644))
			switch err := rowsKept(work, o, rows); {
			case err == nil:
				same++
			case strings.HasPrefix(err.Error(), "refused: "):
				refused++
			default:
				t.Errorf("%s of %d bytes, zeros at %d: %v", filepath.Base(list), len(sound), at, err)
			}
			check(t, os.RemoveAll(work))
		}
	}
	t.Logf("refused %d, the same %d", refused, same)
}
