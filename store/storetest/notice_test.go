package storetest_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"tarn/store/storetest"
)

// faultVariable makes the suite of this package run on a sketch with a fault.
const faultVariable = "STORETEST_SKETCH_FAULT"

func (f fault) String() string {
	return [...]string{
		"sound", "skip sync", "early done", "late log", "skip log", "in place", "forget undo",
		"wrong moment", "moving view", "forget delete", "leak lock",
	}[f]
}

func faultFromEnvironment() (fault, bool) {
	for f := sound; f <= leakLock; f++ {
		if os.Getenv(faultVariable) == f.String() {
			return f, true
		}
	}
	return sound, false
}

// TestFaultsAreNoticed runs parts of the suite on engines that are wrong, each
// in its own way, in another process: they must fail.
func TestFaultsAreNoticed(t *testing.T) {
	for _, c := range []struct {
		fault fault
		test  string
		says  string
	}{
		{skipSync, "TestPowerCut", "lost: "},
		{earlyDone, "TestPowerCut", "lost: "},
		{earlyDone, "TestKill", "lost: "},
		{lateLog, "TestKill", "block log"},
		{lateLog, "TestConformance/.*/.*the_ledger_fails", "head 1"},
		{skipLog, "TestKill", "block log"},
		{skipLog, "TestPowerCut", "block log"},
		{inPlace, "TestPowerCut", "lost: "},
		{forgetUndo, "TestModel", "undo"},
		{forgetUndo, "TestKill", "revision"},
		{wrongMoment, "TestModel", "reopen"},
		{movingView, "TestModel", "view"},
		{forgetDelete, "TestModel", "reopen"},
		{leakLock, "TestConformance/.*/a_second_opener", "opened twice"},
	} {
		t.Run(fmt.Sprintf("%v/%s", c.fault, strings.Split(c.test, "/")[0]), func(t *testing.T) {
			t.Parallel()
			if strings.HasPrefix(c.test, "TestPowerCut") && os.Geteuid() != 0 {
				t.Skip("needs root, to mount file systems")
			}
			// A kill meets the moment or not: a fault may be missed, not every time.
			var out []byte
			var err error
			for seed := 1; seed <= 12 && err == nil; seed++ {
				cmd := exec.Command(os.Args[0], "-test.run=^"+c.test, "-storetest.kills=60",
					"-storetest.cuts=60", fmt.Sprintf("-storetest.seed=%d", seed))
				cmd.Env = append(os.Environ(), faultVariable+"="+c.fault.String())
				out, err = cmd.CombinedOutput()
			}
			if err == nil {
				t.Fatalf("%s passes with the fault %q", c.test, c.fault)
			}
			if !strings.Contains(string(out), "--- FAIL: ") || !strings.Contains(string(out), c.says) {
				t.Fatalf("%s fails with the fault %q, but says nothing of %q:\n%s", c.test, c.fault, c.says, out)
			}
		})
	}
}

func faulty(f fault) []storetest.Engine {
	return []storetest.Engine{sketchEngine("sketch", true, f)}
}
