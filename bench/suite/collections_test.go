package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tarn/bench/subjectflag"
)

func TestCollectionsAreFoundInALog(t *testing.T) {
	dir := t.TempDir()
	const before = "gc 1 @0.1s 1%: 9.05+1.2+0.03 ms clock, 0.1+0/0/0+0.06 ms cpu, 90->93->7 MB, 14 MB goal, 0 MB stacks, 0 MB globals, 2 P\n"
	const text = `gc 12 @3.0s 1%: 0.05+1.2+0.03 ms clock, 0.1+0/0/0+0.06 ms cpu, 12->13->7 MB, 14 MB goal, 0 MB stacks, 0 MB globals, 2 P
info  2026-11-21T23:19:48.600 nodeos    report.go:26                  reportProduced       ] Produced block eb0c57da32058007... #3
gc 13 @3.5s 1%: 0.01+1.2+0.5 ms clock, 0.1+0/0/0+0.06 ms cpu, 17->18->7 MB, 14 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 14 @4s 1%: 0.01+1.2+0.25 ms clock, 0.1+0/0/0+0.06 ms cpu, 9->13->7 MB, 14 MB goal, 0 MB stacks, 0 MB globals, 2 P
gc 15 @4.5s 1%: 0.01+1.2+0.25 ms clock`
	if err := os.WriteFile(filepath.Join(dir, "log"), []byte(before+text), 0o644); err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	if err := putCollections(dir, int64(len(before)), 4, values); err != nil {
		t.Fatal(err)
	}
	// Two thirds of the time begin at 3.33 s: there 2 MB are new for two transfers in half a second.
	if values[collections] != 3 || values[heap] != 17<<20 || values[pauseLongest] != 0.0005 ||
		values[garbage] != 1<<20 {
		t.Errorf("%v", values)
	}
	values = map[string]float64{}
	if err := putCollections(dir, int64(len(before)+strings.LastIndex(text, "gc 15")), 4, values); err != nil ||
		len(values) != 0 {
		t.Errorf("a program that tells nothing has %v, %v", values, err)
	}
	if err := putCollections(t.TempDir(), 0, 1, values); err == nil {
		t.Error("a log that is not there is no error")
	}
}

func TestADeploymentThatIsRefusedIsAFailure(t *testing.T) {
	c := config(t, &fake{}, []string{Setcode}, 1, "refusing", "heap")
	r, err := Run(t.Context(), c)
	if err != nil || len(r.Lives) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	if l := r.Lives[0]; l.Values != nil || !strings.Contains(l.Failure, "deploy contract 1") {
		t.Errorf("%+v", l)
	}
	if l := r.Lives[1]; l.Failure != "" || l.Values["deployments: longest deployment"] <= 0 ||
		l.Commands[len(l.Commands)-1][0] != "GODEBUG=gctrace=1" {
		t.Errorf("%+v", l)
	}
	if len(tellsCollections(subjectflag.Subject{Program: subjectflag.Nodeos})) != 0 {
		t.Error("a program that is not written in Go is told of its collections")
	}
	nothingIsLeft(t, c)
}
