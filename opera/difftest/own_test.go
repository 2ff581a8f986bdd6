package difftest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"testing"

	"tarn/opera/node"
)

// operaVariable makes the test's program our opera, with its arguments.
const operaVariable = "TARN_DIFFTEST_OPERA"

// beOpera is our program.
func beOpera() int {
	c := node.Command("test")
	c.SetArgs(os.Args[1:])
	c.SilenceErrors, c.SilenceUsage = true, true
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := c.ExecuteContext(ctx); err != nil {
		var exit interface{ ExitCode() int }
		if errors.As(err, &exit) {
			return exit.ExitCode()
		}
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// own is our program: that of the test, which any process that it starts is from here on.
func own(t *testing.T) *Peer {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(operaVariable, "yes")
	return &Peer{program: program}
}
