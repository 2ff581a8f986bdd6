package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

var fakeSeed = flag.Uint64("fake.seed", 0, "what the fake adversary is told")

// fakeVariable tells the fake adversary, which is this test program, what to do.
const fakeVariable = "TARN_SOAK_FAKE"

func TestFake(t *testing.T) {
	switch os.Getenv(fakeVariable) {
	case "":
		t.Skip("is the adversary of other tests")
	case "skips":
		t.Skip("there is no judge")
	case "finds":
		t.Errorf("row 7 of seed %d is another", *fakeSeed)
	case "panics":
		panic("no such row")
	case "hangs":
		select {}
	case "stops": // whoever hangs so hears of no limit
		if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // another thread may take the signal a moment later
	case "dies":
		if err := syscall.Kill(os.Getpid(), syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
	case "leaves": // a process with its output
		left := exec.Command("sleep", "100")
		left.Stdout = os.Stdout
		if err := left.Start(); err != nil {
			t.Fatal(err)
		}
	case "races":
		fmt.Println("WARNING: DATA RACE\nWrite at 0x1 by goroutine 2")
		t.Fail()
	case "waits":
		time.Sleep(time.Minute)
	case "changes": // from turn to turn
		if *fakeSeed/stride%2 == 1 {
			t.Error("this time it fails")
		}
	case "counts":
		t.Log("kills=3 engine=a")
		t.Log("kills=4 engine=b")
	case "lacks a part":
		t.Run("whole", func(*testing.T) {})
		t.Run("part", func(t *testing.T) { t.Skip("not root") })
	}
}

// fake is an adversary that does what it is called.
func fake(name string) adversary {
	return adversary{Kind: "fakes", Name: name, What: "it " + name,
		Package: "./soak", Run: "^TestFake$", Args: []string{"-fake.seed=$seed"},
		Env: []string{fakeVariable + "=" + name}, Unit: "times", Limit: 30 * time.Second}
}
