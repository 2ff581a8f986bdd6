package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"tarn/a"}
{"Action":"run","Package":"tarn/a","Test":"TestGood"}
{"Action":"output","Package":"tarn/a","Test":"TestGood","Output":"noise\n"}
{"Action":"pass","Package":"tarn/a","Test":"TestGood"}
{"Action":"output","Package":"tarn/a","Test":"TestSkipped","Output":"=== RUN   TestSkipped\n"}
{"Action":"output","Package":"tarn/a","Test":"TestSkipped","Output":"    a_test.go:7: needs root: no loop devices\n"}
{"Action":"output","Package":"tarn/a","Test":"TestSkipped","Output":"--- SKIP: TestSkipped (0.00s)\n"}
{"Action":"skip","Package":"tarn/a","Test":"TestSkipped"}
{"Action":"output","Package":"tarn/a","Output":"ok  \ttarn/a\t0.1s\n"}
{"Action":"pass","Package":"tarn/a"}
`

const failures = `{"Action":"output","Package":"tarn/b","Test":"TestBad","Output":"=== RUN   TestBad\n"}
{"Action":"output","Package":"tarn/b","Test":"TestBad","Output":"    b_test.go:9: lost a row\n"}
{"Action":"fail","Package":"tarn/b","Test":"TestBad"}
{"Action":"output","Package":"tarn/b","Output":"FAIL\ttarn/b\t0.1s\n"}
{"Action":"fail","Package":"tarn/b"}
{"ImportPath":"tarn/c","Action":"build-output","Output":"c.go:1:1: expected package\n"}
{"ImportPath":"tarn/c","Action":"build-fail"}
{"Action":"output","Package":"tarn/c","Output":"FAIL\ttarn/c [build failed]\n"}
{"Action":"fail","Package":"tarn/c","FailedBuild":"tarn/c"}
`

func TestCountsAndReasonsAreAddedUpOverRuns(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	var shown strings.Builder
	if ok, err := count("one", results, strings.NewReader(events), &shown); !ok || err != nil {
		t.Fatalf("good events: %v, %v", ok, err)
	}
	if got, want := shown.String(), "ok  \ttarn/a\t0.1s\n"; got != want {
		t.Fatalf("shown %q, want %q", got, want)
	}
	shown.Reset()
	if ok, err := total(results, &shown); !ok || err != nil {
		t.Fatalf("total of a good run: %v, %v", ok, err)
	}
	if ok, err := count("two", results, strings.NewReader(failures), &shown); ok || err != nil {
		t.Fatalf("failures: %v, %v", ok, err)
	}
	for _, want := range []string{"lost a row", "expected package", "build failed"} {
		if !strings.Contains(shown.String(), want) {
			t.Errorf("%q is not shown in %q", want, shown.String())
		}
	}
	if strings.Contains(shown.String(), "=== RUN") {
		t.Errorf("noise is shown: %q", shown.String())
	}
	shown.Reset()
	ok, err := total(results, &shown)
	if ok || err != nil {
		t.Fatalf("total with failures: %v, %v", ok, err)
	}
	want := `skipped in "one": tarn/a.TestSkipped: needs root: no loop devices
failed in "two": 2
1 passed, 2 failed, 1 skipped
`
	if shown.String() != want {
		t.Fatalf("total:\n%s\nwant:\n%s", shown.String(), want)
	}
}

func TestARunOfNothingIsNoSuccess(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	if err := os.WriteFile(results, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if ok, err := total(results, &strings.Builder{}); ok || err != nil {
		t.Fatalf("%v, %v", ok, err)
	}
}
