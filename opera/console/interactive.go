package console

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/prompt"
	"tarn/store/vfs"
)

// typedLines is how many lines of what was typed are kept.
const typedLines = 10_000

// Welcome says whom the console asks.
func (c *Console) Welcome(ctx context.Context) {
	var text strings.Builder
	text.WriteString("Welcome to the Lachesis JavaScript console!\n\n")
	var node, coinbase, folder string
	var number hexutil.Uint64
	var block struct {
		Timestamp hexutil.Uint64 `json:"timestamp"`
	}
	ask := func(result any, method string, args ...any) bool {
		return c.o.Client.CallContext(ctx, result, method, args...) == nil
	}
	if ask(&node, "web3_clientVersion") && ask(&number, "eth_blockNumber") &&
		ask(&block, "eth_getBlockByNumber", number, false) {
		fmt.Fprintf(&text, "instance: %s\n", node)
		if ask(&coinbase, "eth_coinbase") {
			fmt.Fprintf(&text, "coinbase: %s\n", coinbase)
		}
		at := time.Unix(int64(block.Timestamp), 0).Format("Mon Jan 02 2006 15:04:05 GMT-0700 (MST)")
		fmt.Fprintf(&text, "at block: %d (%s)\n", uint64(number), at)
		if ask(&folder, "admin_datadir") {
			fmt.Fprintf(&text, " datadir: %s\n", folder)
		}
	}
	var modules []string
	if served, err := c.o.Client.SupportedModules(); err == nil {
		for name, version := range served {
			if name == "eth" {
				continue // as ftm
			}
			modules = append(modules, name+":"+version)
		}
		slices.Sort(modules)
		fmt.Fprintf(&text, " modules: %s\n", strings.Join(modules, " "))
	}
	fmt.Fprintf(c.o.Out, "%s\nTo exit, press ctrl-d\n", text.String())
}

// Words that end the console, lines that say nothing, and calls that may have a password.
var (
	exits   = regexp.MustCompile(`^\s*exit\s*;*\s*$`)
	secrets = regexp.MustCompile(`personal.[nusi]`)
)

// Interactive evaluates what is typed, until the end of the input, exit, or the end of the
// context. What was typed, but for what may have a password, is kept.
func (c *Console) Interactive(ctx context.Context) error {
	t := c.o.Terminal()
	c.loadHistory()
	t.History(c.typed)
	t.Complete(c.complete)
	var input string
	for {
		typed, err := line(ctx, t, promptText(input))
		switch {
		case errors.Is(err, prompt.ErrAborted):
			input = "" // Ctrl-C drops what was begun
			continue
		case errors.Is(err, prompt.ErrStopped):
			fmt.Fprintln(c.o.Out, "caught interrupt, exiting")
			return c.keep()
		case err != nil, openBrackets(input) <= 0 && exits.MatchString(typed):
			return c.keep()
		case strings.TrimSpace(typed) == "":
			continue
		}
		if input += typed + "\n"; openBrackets(input) > 0 {
			continue
		}
		c.remember(t, input)
		each, stop := signal.NotifyContext(ctx, os.Interrupt)
		c.Evaluate(each, input)
		stop()
		input = ""
	}
}

// line asks for a line, which a signal ends where there is no terminal to press Ctrl-C at.
func line(ctx context.Context, t *prompt.Terminal, text string) (string, error) {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	defer stop()
	return t.Line(ctx, text)
}

// promptText shows how many brackets are open.
func promptText(input string) string {
	if n := openBrackets(input); n > 0 {
		return strings.Repeat(".", 3*n) + " "
	}
	return "> "
}

// openBrackets is how many brackets are open at the end of an input, outside of strings.
func openBrackets(input string) (n int) {
	var quote rune
	escaped := false
	for _, r := range input {
		switch {
		case escaped:
			escaped = false
		case quote != 0:
			escaped = r == '\\'
			if r == quote {
				quote = 0
			}
		case r == '"' || r == '\'':
			quote = r
		case r == '{' || r == '(':
			n++
		case r == '}' || r == ')':
			n--
		}
	}
	return n
}

// remember notes what was typed.
func (c *Console) remember(t *prompt.Terminal, input string) {
	text := strings.TrimSpace(input)
	if strings.HasPrefix(input, " ") || secrets.MatchString(input) ||
		len(c.typed) > 0 && c.typed[len(c.typed)-1] == text {
		return
	}
	c.typed = append(c.typed, text)
	t.Remember(text)
}

// loadHistory reads what was typed before.
func (c *Console) loadHistory() {
	text, err := os.ReadFile(c.o.History)
	if err == nil && len(text) > 0 {
		c.typed = strings.Split(string(text), "\n")
	}
}

// keep writes what was typed, for its owner alone.
func (c *Console) keep() error {
	if n := len(c.typed); n > typedLines {
		c.typed = c.typed[n-typedLines:]
	}
	err := os.MkdirAll(filepath.Dir(c.o.History), 0o700)
	if err == nil {
		err = vfs.WriteDurably(vfs.Private, c.o.History, []byte(strings.Join(c.typed, "\n")))
	}
	if err != nil {
		return fmt.Errorf("keep what was typed: %w", err)
	}
	return nil
}

// clearHistory forgets what was typed.
func (c *Console) clearHistory() {
	c.typed = nil
	c.o.Terminal().History(nil)
	if err := os.Remove(c.o.History); err != nil && !errors.Is(err, fs.ErrNotExist) {
		fmt.Fprintln(c.o.Out, "can't delete history file:", err)
		return
	}
	fmt.Fprintln(c.o.Out, "history file deleted")
}
