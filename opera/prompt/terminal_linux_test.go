package prompt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// asks makes the test binary a program that asks.
const asks = "TARN_TERMINAL_ASKS"

func TestMain(m *testing.M) {
	if os.Getenv(asks) == "" {
		os.Exit(m.Run())
	}
	t, end := Open(os.Stdin, os.Stdout)
	t.History([]string{"before"})
	t.Complete(func(line string, pos int) (string, []string, string) { return "", []string{line + "leted"}, "" })
	password, err := t.Password(context.Background(), "Password: ")
	fmt.Printf("[%s %v]\n", password, err)
	for range 3 {
		line, err := t.Line(context.Background(), "> ")
		fmt.Printf("[%s %v]\n", line, err)
	}
	if err := end(); err != nil {
		fmt.Println(err)
	}
	os.Exit(0)
}

// pty opens a pseudo terminal.
func pty(t *testing.T) (mine, theirs *os.File) {
	t.Helper()
	mine, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("there are no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { mine.Close() })
	err = unix.IoctlSetPointerInt(int(mine.Fd()), unix.TIOCSPTLCK, 0)
	var number int
	if err == nil {
		number, err = unix.IoctlGetInt(int(mine.Fd()), unix.TIOCGPTN)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(mine.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80})
	}
	if err == nil {
		theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	}
	if err != nil {
		t.Skipf("there are no pseudo terminals: %v", err)
	}
	t.Cleanup(func() { theirs.Close() })
	return mine, theirs
}

// mode is the terminal's.
func mode(t *testing.T, f *os.File) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

// At a terminal a password is not shown, lines are edited, and the mode of before is there
// again at the end.
func TestATerminalIsAskedAndGivenBack(t *testing.T) {
	mine, theirs := pty(t)
	before := mode(t, theirs)
	c := exec.CommandContext(t.Context(), os.Args[0])
	c.Env = append(os.Environ(), asks+"=1", "TERM=xterm")
	c.Stdin, c.Stdout, c.Stderr = theirs, theirs, theirs
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	said := make(chan []byte, 1024)
	go func() {
		for {
			b := make([]byte, 4096)
			n, err := mine.Read(b)
			if said <- b[:n]; err != nil {
				return
			}
		}
	}()
	var all bytes.Buffer
	seen := 0 // of all, up to the end of what came last
	await := func(text string) {
		t.Helper()
		deadline := time.After(time.Minute)
		for {
			if at := strings.Index(all.String()[seen:], text); at >= 0 {
				seen += at + len(text)
				return
			}
			select {
			case b := <-said:
				all.Write(b)
			case <-deadline:
				t.Fatalf("%q does not come; there is %q", text, all.String())
			}
		}
	}
	for _, step := range [][2]string{
		{"Password: ", "secret\r"}, {"[secret <nil>]", ""}, {"> ", "comp\t\r"}, {"[completed <nil>]", ""},
		{"> ", "\x1b[A\r"}, {"[before <nil>]", ""}, {"> ", "half\x03"}, {"[ prompt aborted]", ""},
	} {
		await(step[0])
		// The editor shows its question a moment before Ctrl-C is no signal any more.
		for strings.HasSuffix(step[1], "\x03") && mode(t, theirs).Lflag&unix.ISIG != 0 {
			time.Sleep(time.Millisecond)
		}
		if _, err := io.WriteString(mine, step[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Wait(); err != nil {
		t.Errorf("%v: %q", err, all.String())
	}
	if n := strings.Count(all.String(), "secret"); n != 1 {
		t.Errorf("the password is shown: %q", all.String())
	}
	if after := mode(t, theirs); after != before {
		t.Errorf("the terminal's mode is %+v, it was %+v", after, before)
	}
}
