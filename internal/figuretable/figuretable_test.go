package figuretable

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"time"
)

func TestQuantilesAreNearTheTruth(t *testing.T) {
	var l Latencies
	rng := rand.New(rand.NewPCG(1, 1))
	const most = 1_000_000
	for range 200_000 {
		l.Add(time.Duration(rng.Int64N(most)))
	}
	for _, q := range []float64{0.01, 0.5, 0.99} {
		if got := l.Quantile(q); got < q*most*0.96 || got > q*most*1.02 {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
	for _, ns := range []uint64{0, 63, 64, 127, 128, 1 << 20, 1<<40 + 12345} {
		if low := lowest(bucketOf(ns)); low > ns || low < ns-ns/64 {
			t.Errorf("%d ns falls into the bucket from %d", ns, low)
		}
	}
}

func TestTablesAreMarkdown(t *testing.T) {
	table := Table{Title: "T", How: "So.", Head: []string{"store", "ns", "why"}, Notes: []string{"A note."}}
	table.Add("mapped", "1 234", "because")
	table.Add("heap", None, "")
	var out bytes.Buffer
	if err := table.Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `### T

So.

| store  |    ns | why     |
| ------ |------:| ------- |
| mapped | 1 234 | because |
| heap   |     – |         |

A note.

`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}

func TestNumbersHaveThreeDigits(t *testing.T) {
	for x, want := range map[float64]string{0: "0.00", 0.01234: "0.0123", 1.234: "1.23", 12.34: "12.3",
		1234567: "1 234 567", -999.6: "-1 000"} {
		if got := Significant(x); got != want {
			t.Errorf("%v is written %q, want %q", x, got, want)
		}
	}
}
