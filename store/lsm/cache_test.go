package lsm

import (
	"bytes"
	"fmt"
	"sync"
	"testing"

	"tarn/internal/seeded"
)

func TestCacheAnswersAreTrueOrUnknown(t *testing.T) {
	r := seeded.Random(t, 1)
	c, err := newRowCache(cacheShards * 2048)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.advance(7)
	model := map[string][]byte{} // nil: known to be absent
	hits := 0
	for i := range 300_000 {
		key := []byte(fmt.Sprintf("key %d", r.IntN(4000)))
		switch r.IntN(4) {
		case 0:
			value := bytes.Repeat([]byte{byte(i)}, r.IntN(100))
			model[string(key)] = append([]byte{}, value...)
			c.put(key, value, true, 7)
		case 1:
			model[string(key)] = nil
			c.put(key, nil, false, 7)
		default:
			got, exists, known := c.get([]byte("before"), key, 7)
			if !bytes.HasPrefix(got, []byte("before")) {
				t.Fatalf("step %d: get does not append", i)
			}
			want, put := model[string(key)]
			if !known {
				continue
			}
			hits++
			if !put || exists != (want != nil) || exists && !bytes.Equal(got[6:], want) {
				t.Fatalf("step %d: %s is %q %v, should be %q", i, key, got[6:], exists, want)
			}
		}
	}
	if hits < 10_000 {
		t.Errorf("only %d hits", hits)
	}
	for i := range c.shards {
		s := &c.shards[i]
		n := 0
		for _, v := range s.index {
			if v != 0 {
				n++
			}
		}
		if n != s.count {
			t.Errorf("shard %d: %d slots in use, count is %d", i, n, s.count)
		}
	}
}

func TestCacheKeepsWhatIsUsed(t *testing.T) {
	c, err := newRowCache(cacheShards * 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	value := make([]byte, 100)
	for i := range 100_000 {
		hot := []byte(fmt.Sprintf("hot %d", i%64))
		if _, _, known := c.get(nil, hot, 0); !known {
			if i > 50_000 {
				t.Fatalf("step %d: a row that is read all the time was dropped", i)
			}
			c.put(hot, value, true, 0)
		}
		c.put([]byte(fmt.Sprintf("cold %d", i)), value, true, 0)
	}
}

func TestCacheSpeaksForOneSnapshot(t *testing.T) {
	c, err := newRowCache(cacheShards * 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.put([]byte("k"), []byte("old"), true, 0)
	c.advance(1)
	c.put([]byte("k"), []byte("late"), true, 0)
	if _, _, known := c.get(nil, []byte("k"), 0); known {
		t.Error("a reader of the old snapshot got an answer")
	}
	c.replace([]byte("k"), []byte("new"), true)
	if v, exists, known := c.get(nil, []byte("k"), 1); !known || !exists || string(v) != "new" {
		t.Errorf("got %q %v %v", v, exists, known)
	}
	c.replace([]byte("k"), nil, false)
	if _, exists, known := c.get(nil, []byte("k"), 1); !known || exists {
		t.Error("the row's absence is not known")
	}
}

func TestCacheLeavesOutWhatIsTooLarge(t *testing.T) {
	c, err := newRowCache(cacheShards * 4096)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	c.put([]byte("k"), []byte("small"), true, 0)
	c.put([]byte("k"), make([]byte, 1<<20), true, 0)
	if _, _, known := c.get(nil, []byte("k"), 0); known {
		t.Error("the old value is still there")
	}
}

func TestCacheServesManyAtOnce(t *testing.T) {
	c, err := newRowCache(cacheShards * 2048)
	if err != nil {
		t.Fatal(err)
	}
	defer c.close()
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			for i := range 20_000 {
				key := []byte(fmt.Sprintf("key %d", (i*7+g)%500))
				if v, exists, known := c.get(nil, key, 0); known && (!exists || !bytes.Equal(v, key)) {
					t.Errorf("%s is %s", key, v)
					return
				}
				c.put(key, key, true, 0)
			}
		})
	}
	wg.Wait()
}
