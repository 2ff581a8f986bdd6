package procsampler

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"tarn/internal/scratch"
	"tarn/procusage"
)

// The test's program is also the one that is measured: with one of these as its first
// argument it does a known amount of work.
const (
	workArgument  = "do-known-work" // FOLDER: writes, dirties and burns, says how much it burnt, sleeps
	sleepArgument = "sleep"         // until it is killed; SIGTERM is not listened to
	failArgument  = "fail"
)

const (
	dirtied   = 96 << 20
	wrote     = 64 << 20
	cancelled = 16 << 20
	burnt     = time.Second
	slept     = 300 * time.Millisecond
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case workArgument:
			if err := work(os.Args[2]); err != nil {
				fmt.Println(err)
				os.Exit(1)
			}
			return
		case sleepArgument:
			signalsAreIgnored()
			c := exec.Command("sleep", "600") // in the same group
			_ = c.Start()
			fmt.Println("child", c.Process.Pid)
			time.Sleep(10 * time.Minute)
			return
		case failArgument:
			fmt.Println("first\nthe disk is full")
			os.Exit(3)
		}
	}
	if err := scratch.OnDisk(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

func signalsAreIgnored() {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGTERM)
}

// work is the known amount.
func work(dir string) error {
	// Whoever watches says when to begin, and when all was seen; nobody does where there is no input.
	orders := bufio.NewReader(os.Stdin)
	if _, err := orders.ReadString('\n'); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	block, err := unix.Mmap(-1, 0, dirtied, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		return err
	}
	for i := 0; i < dirtied; i += 4096 {
		block[i] = 1
	}
	kept, err := os.Create(filepath.Join(dir, "kept"))
	if err != nil {
		return err
	}
	if _, err := kept.Write(block[:wrote]); err != nil {
		return err
	}
	if err := errors.Join(kept.Sync(), kept.Close()); err != nil {
		return err
	}
	gone := filepath.Join(dir, "gone")
	if err := errors.Join(os.WriteFile(gone, block[:cancelled], 0o600), os.Remove(gone)); err != nil {
		return err
	}
	used := func() time.Duration {
		p, err := procusage.Self()
		if err != nil {
			return math.MaxInt64
		}
		return p.CPU()
	}
	for begin := used(); used()-begin < burnt; {
		for i := range 1_000_000 {
			_ = i * i
		}
	}
	time.Sleep(slept)
	fmt.Println(used().Nanoseconds(), block[4096])
	_, err = io.Copy(io.Discard, orders)
	return err
}

func self(t *testing.T, args ...string) Command {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return Command{Path: exe, Args: args, Log: filepath.Join(t.TempDir(), "log"), Every: 20 * time.Millisecond}
}

// What a process writes, dirties, burns and sleeps is measured to within 2 %, those of the
// Go runtime's own pages and the kernel's tick of 10 ms added: in one of ten runs, for on a
// busy machine readings come late.
func TestAKnownAmountIsMeasured(t *testing.T) {
	var wrong complaints
	for range 10 {
		if wrong = measured(t); len(wrong) == 0 {
			return
		}
	}
	t.Error(strings.Join(wrong, "\n"))
}

// complaints of a measurement.
type complaints []string

func (e *complaints) add(format string, args ...any) { *e = append(*e, fmt.Sprintf(format, args...)) }

// measured says what of a known amount is measured wrongly.
func measured(t *testing.T) (wrong complaints) {
	t.Helper()
	dir := t.TempDir()
	command := self(t, workArgument, dir)
	begin := time.Now()
	c, err := Start(command)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	length := time.Since(begin)
	log, err := os.ReadFile(command.Log)
	if err != nil {
		t.Fatal(err)
	}
	said, err := strconv.ParseInt(strings.Fields(string(log))[0], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	cpu, disk, _ := c.Total()
	wrong.within("processor", cpu.Seconds(), float64(said)/1e9, 0.02)
	if disk.Written > 0 { // a folder in memory is no disk
		wrong.within("written", float64(disk.Written), wrote+cancelled, 4<<10)
		wrong.within("written, less cancelled", float64(disk.Net()), wrote, 64<<10)
	} else {
		t.Log("the folder for temporary files is in memory: bytes written were not measured")
	}
	most := int64(0)
	for _, s := range c.Samples() {
		most = max(most, s.PrivateDirty)
	}
	wrong.within("private dirty", float64(most), dirtied, 8<<20)
	wrong.within("resident", float64(c.Peak()), dirtied, 16<<20)
	last := c.Samples()[len(c.Samples())-1]
	wrong.within("time", last.Seconds, length.Seconds(), 0.02)
	if last.Seconds < (burnt + slept).Seconds() {
		wrong.add("%.3f s, and it slept", last.Seconds)
	}
	wrong.within("processor in the readings", last.User+last.System, float64(said)/1e9, 0.02)
	if len(c.Samples()) < 20 {
		wrong.add("%d readings in %s", len(c.Samples()), length)
	}
	return wrong
}

func (e *complaints) within(what string, got, want, grain float64) {
	if math.Abs(got-want) > 0.02*want+grain {
		e.add("%s: %.6g, want %.6g to within 2 %%", what, got, want)
	}
}

func TestAProcessThatWillNotEndIsKilledWithItsOwn(t *testing.T) {
	command := self(t, sleepArgument)
	c, err := Start(command)
	if err != nil {
		t.Fatal(err)
	}
	child := 0
	for end := time.Now().Add(time.Minute); child == 0 && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		log, _ := os.ReadFile(command.Log)
		_, _ = fmt.Sscanf(string(log), "child %d\n", &child)
	}
	err = c.Stop(t.Context(), 300*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "did not end within") {
		t.Errorf("%v", err)
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		if child == 0 || running(child) && time.Now().After(end) {
			t.Fatalf("its own process %d is left", child)
		}
		if !running(child) {
			break
		}
	}
}

// running tells whether there is such a process, and it has not ended.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestTheEndOfTheContextEndsAChild(t *testing.T) {
	c, err := Start(self(t, sleepArgument))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(100*time.Millisecond, cancel)
	if err := c.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	select {
	case <-c.Done():
	default:
		t.Error("it runs on")
	}
}

func TestAFailureSaysTheLastWords(t *testing.T) {
	c, err := Start(self(t, failArgument))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Wait(t.Context()); err == nil || !strings.Contains(err.Error(), "the disk is full") ||
		!strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("%v", err)
	}
	if _, err := Start(Command{Path: "/nonexistent/program", Log: filepath.Join(t.TempDir(), "log"),
		Every: time.Second}); err == nil {
		t.Error("a program that is not there starts")
	}
}

// What another process burns between two readings is what it says it burnt.
func TestAProcessOfOthersIsWatched(t *testing.T) {
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(exe, workArgument, t.TempDir())
	orders, lacking := c.StdinPipe()
	out, err := c.StdoutPipe()
	if err := errors.Join(lacking, err, c.Start()); err != nil {
		t.Fatal(err)
	}
	w, err := New(Options{PID: c.Process.Pid, Pages: 50 * time.Millisecond, WalkShare: 10})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Sample(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(orders, "begin\n"); err != nil {
		t.Fatal(err)
	}
	words := make(chan string)
	go func() {
		text, _ := bufio.NewReader(out).ReadString('\n')
		words <- text
	}()
	said := ""
	for said == "" {
		select {
		case said = <-words:
		case <-time.After(50 * time.Millisecond):
			if err := w.Sample(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := errors.Join(w.Sample(), orders.Close(), c.Wait()); err != nil {
		t.Fatal(err)
	}
	burned, err := strconv.ParseFloat(strings.Fields(said)[0], 64)
	if err != nil {
		t.Fatal(err)
	}
	// It began after the first reading, and ended after the last.
	last := w.Samples[len(w.Samples)-1]
	var wrong complaints
	wrong.within("processor", last.User+last.System, burned/1e9, 0.1)
	threads := 0.0
	for _, used := range w.ByName {
		threads += used
	}
	wrong.within("its threads", threads, last.User+last.System, 0.1)
	for _, text := range wrong {
		t.Error(text)
	}
	if w.Walk <= 0 {
		t.Error("no walk of the page table was timed")
	}
	if err := w.Sample(); !Gone(err) {
		t.Errorf("it has ended, and %v", err)
	}
}
