package main

import (
	"bufio"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"tarn/internal/scratch"
	"tarn/store"
	"tarn/store/engine"
)

// Scripts run the binary itself: this test binary under its names. The others make
// what it works on.
func TestMain(m *testing.M) {
	end(scratch.OnDisk())
	// Nodes and clients of a script wait for each other most of the time, so four scripts run at
	// once, however few processors there are, unless the command line says otherwise.
	end(flag.Set("test.parallel", "4"))
	testscript.Main(m, map[string]func(){
		"tarn": main, "nodeos": main, "leap-util": main, "spring-util": main, "trace_api_util": main, "opera": main,
		"mkstore": func() { end(makeStore(os.Args[1:])) },
		"hold": func() {
			end(hold(func(dir string) (io.Closer, error) { return engine.Open(dir, engine.Options{}) }))
		},
		"holdfolder": func() { end(hold(engine.Lock)) },
	})
}

// Those in testdata/engines run once for each engine and mode, named by $ENGINE,
// and may ask `[page]` whether that is the page engine. Those in testdata/kinds run
// once for each engine, whose files are the same in each mode.
func TestScripts(t *testing.T) {
	testscript.Run(t, params("testdata", "none"))
	each := func(dir, name string) {
		t.Run(filepath.Base(dir)+"/"+name, func(t *testing.T) {
			t.Parallel()
			testscript.Run(t, params(dir, name))
		})
	}
	for _, k := range engine.Kinds() {
		if k != engine.Page {
			each("testdata/kinds", string(k))
			each("testdata/engines", string(k))
			continue
		}
		each("testdata/kinds", "page/mapped_private")
		for _, m := range engine.Modes() {
			each("testdata/engines", string(k)+"/"+m.String())
		}
	}
}

// Those in testdata/bench measure, and make what they measure first.
func TestBenchScripts(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long; not with -short")
	}
	testscript.Run(t, params("testdata/bench", "none"))
}

func params(dir, name string) testscript.Params {
	return testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		Setup: func(env *testscript.Env) error {
			env.Setenv("ENGINE", name)
			// A file of a fakenet's events, several epochs of them.
			events, err := filepath.Abs("../../opera/chain/testdata/fakenet1.events.gz")
			env.Setenv("EVENTS", events)
			return err
		},
		Condition: func(cond string) (bool, error) {
			if cond == "page" {
				return strings.HasPrefix(name, "page/"), nil
			}
			return false, fmt.Errorf("unknown condition %q", cond)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"flip":    flipByte,
			"exits":   exits,
			"appears": appears,
			"grows":   grows,
			"twice":   interruptTwice,

			"interrupted": interrupt,
			"idle":        idle,
		},
	}
}

// end ends the program if there is an error.
func end(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// makeStore: mkstore DIR ENGINE ROWS [UNDOABLE] makes a store with the tables
// accounts (ROWS rows), big (a value of 100,000 bytes) and empty, at revision 10
// plus UNDOABLE, 10 irreversible. Undoable revision i sets account 0 to i, deletes
// account i and adds the account new<i>. NextID of accounts has given 0 and 1.
// ENGINE is page/mapped, ..., leveldb.
func makeStore(args []string) error {
	if len(args) == 3 {
		args = append(args, "0")
	}
	if len(args) != 4 {
		return errors.New("usage: mkstore DIR ENGINE ROWS [UNDOABLE]")
	}
	kind, mode, isPage := strings.Cut(args[1], "/")
	o := engine.Options{Kind: engine.Kind(kind)}
	var errs [3]error
	if isPage {
		o.Mode, errs[0] = engine.ParseMode(mode)
	}
	rows, err := strconv.Atoi(args[2])
	errs[1] = err
	undoable, err := strconv.Atoi(args[3])
	errs[2] = err
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	s, err := engine.Open(args[0], o)
	if err != nil {
		return err
	}
	return errors.Join(fill(s, rows, undoable), s.Close())
}

func fill(s store.Store, rows, undoable int) error {
	var tables []store.Table
	for _, name := range []string{"accounts", "big", "empty"} {
		t, err := s.CreateTable(name)
		if err != nil {
			return err
		}
		tables = append(tables, t)
	}
	accounts, big := tables[0], tables[1]
	for i := range rows {
		if err := s.Put(accounts, account(i), binary.BigEndian.AppendUint64(nil, uint64(i))); err != nil {
			return err
		}
	}
	err := errors.Join(s.Put(big, []byte("big"), slices.Repeat([]byte("0123456789"), 10_000)), s.SetRevision(10))
	for range 2 {
		_, e := s.NextID(accounts)
		err = errors.Join(err, e)
	}
	if err != nil {
		return err
	}
	for i := 1; i <= undoable; i++ {
		if err := errors.Join(
			s.Begin(),
			s.Put(accounts, account(0), binary.BigEndian.AppendUint64(nil, uint64(i))),
			s.Delete(accounts, account(i)),
			s.Put(accounts, fmt.Appendf(nil, "new%d", i), nil),
			s.Push(),
		); err != nil {
			return err
		}
	}
	c, err := s.Checkpoint()
	if err != nil {
		return err
	}
	return c.Wait()
}

func account(i int) []byte { return fmt.Appendf(nil, "account%07d", i) }

// hold: hold DIR opens a store for writing, and holdfolder DIR takes the lock of a folder. Both
// make the file DIR.held then, and wait until they are killed.
func hold(take func(dir string) (io.Closer, error)) error {
	dir := os.Args[1]
	held, err := take(dir)
	if err != nil {
		return err
	}
	defer held.Close()
	if err := os.WriteFile(dir+".held", nil, 0o644); err != nil {
		return err
	}
	time.Sleep(10 * time.Minute)
	return errors.New("nobody ended the hold")
}

// flipByte: flip PATTERN OFFSET changes one byte of the largest file that fits.
func flipByte(ts *testscript.TestScript, neg bool, args []string) {
	names, err := filepath.Glob(ts.MkAbs(args[0]))
	ts.Check(err)
	var name string
	var largest int64 = -1
	for _, n := range names {
		info, err := os.Stat(n)
		ts.Check(err)
		if info.Size() > largest {
			name, largest = n, info.Size()
		}
	}
	offset, err := strconv.ParseInt(args[1], 10, 64)
	ts.Check(err)
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	ts.Check(err)
	defer f.Close()
	var b [1]byte
	_, err = f.ReadAt(b[:], offset)
	ts.Check(err)
	b[0] ^= 0x40
	_, err = f.WriteAt(b[:], offset)
	ts.Check(err)
}

// appears: appears FILE waits for a file that a program in the background makes.
func appears(ts *testscript.TestScript, neg bool, args []string) {
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := os.Stat(ts.MkAbs(args[0])); err == nil {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not appear", args[0])
		}
	}
}

// grows: grows FILE waits until a program in the background has added to a file.
func grows(ts *testscript.TestScript, neg bool, args []string) {
	size := func() int64 {
		info, err := os.Stat(ts.MkAbs(args[0]))
		ts.Check(err)
		return info.Size()
	}
	first := size()
	for deadline := time.Now().Add(time.Minute); size() <= first; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			ts.Fatalf("%s does not grow", args[0])
		}
	}
}

// interruptTwice: twice interrupts all programs in the background, and does so again; they may have ended by then.
func interruptTwice(ts *testscript.TestScript, neg bool, args []string) {
	for _, c := range ts.BackgroundCmds() {
		ts.Check(c.Process.Signal(os.Interrupt))
		if err := c.Process.Signal(os.Interrupt); !errors.Is(err, os.ErrProcessDone) {
			ts.Check(err)
		}
	}
}

// exits: exits CODE PROGRAM ARGS... runs a program that must end with that code.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		var exit interface{ ExitCode() int }
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		code = exit.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("%s ended with %d, want %s", args[1], code, args[0])
	}
}

// interrupt: interrupted CODE TEXT PROGRAM ARGS... runs a program, interrupts it a second
// after it said the text on its error output, and wants that exit code of it.
func interrupt(ts *testscript.TestScript, neg bool, args []string) {
	c := exec.Command(args[2], args[3:]...)
	c.Dir, c.Env = ts.MkAbs("."), append(os.Environ(), "HOME="+ts.Getenv("HOME"))
	out, err := c.StderrPipe()
	ts.Check(err)
	ts.Check(c.Start())
	said := false
	for lines := bufio.NewScanner(out); lines.Scan(); {
		fmt.Fprintln(ts.Stderr(), lines.Text()) //nolint:errcheck // the script's own
		if !said && strings.Contains(lines.Text(), args[1]) {
			said = true
			time.Sleep(time.Second)
			ts.Check(c.Process.Signal(os.Interrupt))
		}
	}
	var exit interface{ ExitCode() int }
	if err := c.Wait(); !said || !errors.As(err, &exit) || strconv.Itoa(exit.ExitCode()) != args[0] {
		ts.Fatalf("%s ended with %v, want %s after it said %q", args[2], err, args[0], args[1])
	}
}

// idle: idle PATH wants no process that has the path, or what begins so, in its command line.
func idle(ts *testscript.TestScript, neg bool, args []string) {
	all, err := filepath.Glob("/proc/[0-9]*/cmdline")
	ts.Check(err)
	for _, name := range all {
		text, err := os.ReadFile(name) // it may have ended
		if err == nil && strings.Contains(string(text), ts.MkAbs(args[0])) {
			ts.Fatalf("%s runs: %q", name, strings.ReplaceAll(string(text), "\x00", " "))
		}
	}
}
