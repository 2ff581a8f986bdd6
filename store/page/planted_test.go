package page_test

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
)

// planted are the build tags of planted.go, each with the fault that it plants.
var planted = []struct{ tag, fault string }{
	{"fault_data_sync", "pages are not synced before the meta page"},
	{"fault_meta_sync", "the meta page is not synced"},
	{"fault_dir_sync", "the folder is not synced after the file got its name"},
	{"fault_log_order", "the block log is synced after the meta page"},
	{"fault_in_place", "pages that the durable image reaches are changed in place"},
	{"fault_checksum", "checksums are not verified"},
	{"fault_trust_cache", "a start takes the page cache for the disk"},
}

var failedTest = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// TestPlantedFaultsAreCaught builds this package with each planted fault and
// demands that a test fails; and that none fails without, in the larger numbers.
func TestPlantedFaultsAreCaught(t *testing.T) {
	if os.Getenv("TARN_PLANTED") == "" {
		t.Skip("set TARN_PLANTED=1 to build and test the package once for each planted fault; takes a minute")
	}
	if out, err := testWith(t, "", "-run=^("+crashTests+"|TestTreeEqualsMap|TestEveryFailedCall)",
		"-crash.states=20000", "-crash.corruptions=100000", "-tree.ops=6000"); err != nil {
		t.Fatalf("without a planted fault: %v\n%s", err, out)
	}
	for _, p := range planted {
		t.Run(p.tag, func(t *testing.T) {
			t.Parallel() // linking takes one processor
			out, err := testWith(t, p.tag, "-run=^("+crashTests+")", "-failfast", "-crash.states=4000", "-crash.corruptions=3000")
			caught := failedTest.FindAllStringSubmatch(out, -1)
			switch {
			case err == nil:
				t.Errorf("no test noticed that %s", p.fault)
			case len(caught) == 0:
				t.Errorf("the tests did not run: %v\n%s", err, out)
			}
			for _, m := range caught {
				t.Logf("that %s is caught by %s", p.fault, m[1])
			}
		})
	}
}

// crashTests are those of crash states and damage.
const crashTests = "TestCrashStates|TestNoDamage|TestADiskThatLies|TestAStoreThatCrashes"

// testWith runs tests of this package with a build tag.
func testWith(t *testing.T, tag string, arguments ...string) (out string, err error) {
	args := append([]string{"test", "-vet=off", "-tags=" + tag, "-count=1", "."}, arguments...)
	t.Logf("go %s", strings.Join(args, " "))
	b, err := exec.Command("go", args...).CombinedOutput()
	return string(b), err
}
