package node

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/big"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/internal/loopdisk"
	"tarn/opera/genesis/fakenet"
	"tarn/store/engine"
)

// lone is a validator by itself, whose client sends one payment after the other.
// It says every moment where the chain is and whether the payment was taken, until it is told to
// stop, and then whether the state was saved.
func lone(n *Node, dir string) error {
	stop, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	key, err := fakenet.Key(1)
	if err != nil {
		return err
	}
	c, err := ownConfig(dir, 1)
	if err != nil {
		return err
	}
	c.Emitter.EmitIntervals.DoublesignProtection = 0 // it is by itself
	l := newServices(c, slog.DiscardHandler)
	w, err := l.wait(n)
	if err != nil {
		return err
	}
	v, err := l.validate(n, nil, offered{w.Pool})
	if err != nil {
		return err
	}
	h := newHealth(n, &beside{pool: w, validator: v}, time.Hour, time.Now())
	from := crypto.PubkeyToAddress(key.PublicKey)
	tick := time.NewTicker(50 * time.Millisecond)
	for {
		taken := "waits"
		if pending, queued := w.Stats(); pending+queued < 64 {
			tx, err := types.SignNewTx(key, n.Chain().Signer(), &types.LegacyTx{Nonce: w.Nonce(from), To: &from,
				Value: new(big.Int), Gas: 21000, GasPrice: big.NewInt(400e9)})
			if err == nil {
				err = w.Add(tx)
			}
			taken = fmt.Sprint(err)
		}
		fmt.Printf("at %d taken %s ready %v\n", n.Chain().Head().Number, taken, h.ready(time.Now()))
		select {
		case <-tick.C:
			continue
		case <-n.Done():
		case <-stop.Done():
		}
		break
	}
	err = n.giveBack()
	v.close()
	err = errors.Join(err, w.close())
	if cause := n.Cause(); cause != nil {
		fmt.Println("cause", cause)
	}
	fmt.Println("closed", errors.Join(err, n.Close()))
	return nil
}

// player is a role that is being played.
type player struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Closer
	out *bufio.Scanner
}

func playing(t *testing.T, r role) *player {
	t.Helper()
	text, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &player{t: t, cmd: exec.Command(self)}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(text))
	in, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, bufio.NewScanner(out)
	return p
}

// until reads what it says until a line is right, for a while, and returns that line.
func (p *player) until(what string, right func(line string) bool) string {
	p.t.Helper()
	deadline := time.Now().Add(time.Minute)
	line := ""
	for p.out.Scan() && time.Now().Before(deadline) {
		if line = p.out.Text(); right(line) {
			return line
		}
	}
	p.t.Fatalf("%s: the last line was %q", what, line)
	return ""
}

// height is the block that a line of lone tells of.
func height(line string) (n int) {
	fmt.Sscanf(line, "at %d", &n) //nolint:errcheck // 0 is none
	return n
}

// ends tells it to stop, and returns what it says of that.
func (p *player) ends() string {
	p.t.Helper()
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		p.t.Fatal(err)
	}
	line := p.until("its end", func(line string) bool { return strings.HasPrefix(line, "closed ") })
	if err := p.cmd.Wait(); err != nil {
		p.t.Error(err)
	}
	return line
}

// While the disk of a validator by itself is full, it takes no transactions and makes no events, and
// says so. With room again it goes on by itself; on the full disk it ends in order, and the state is
// saved.
func TestALoneValidatorPausesWhileItsDiskIsFull(t *testing.T) {
	if missing := loopdisk.Missing(); missing != "" {
		t.Skip(missing)
	}
	if testing.Short() {
		t.Skip("starts processes; not with -short")
	}
	base := t.TempDir()
	if err := loopdisk.Apart(); err != nil {
		t.Fatal(err)
	}
	d, err := loopdisk.New(base, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r := role{Dir: filepath.Join(d.Dir, "node"), Kind: engine.Page, Lone: true}
	p := playing(t, r)
	makes := func(from string) string {
		t.Helper()
		return p.until("blocks are made", func(line string) bool { return height(line) >= height(from)+3 })
	}
	makes("")
	at := p.fills(d)
	if err := d.Empty(); err != nil {
		t.Fatal(err)
	}
	makes(at)
	at = p.fills(d)
	if end := p.ends(); end != "closed <nil>" {
		t.Errorf("on the full disk it ends so: %s", end)
	}
	p = playing(t, r)
	if line := p.until("a start on the full disk",
		func(line string) bool { return strings.HasPrefix(line, "at ") }); height(line) != height(at) {
		t.Errorf("on the full disk it starts with %q, after %q", line, at)
	}
	if err := d.Empty(); err != nil {
		t.Fatal(err)
	}
	makes(at)
	if end := p.ends(); end != "closed <nil>" {
		t.Errorf("with room again it ends so: %s", end)
	}
}

// fills fills its disk, sees it refuse transactions, and returns where the chain stands: where it does
// a moment later, too.
func (p *player) fills(d *loopdisk.Disk) string {
	p.t.Helper()
	if err := d.Fill(2 << 20); err != nil { // for an event that is on its way
		p.t.Fatal(err)
	}
	line := p.until("transactions are refused", func(line string) bool {
		return strings.Contains(line, "the disk of this node is full")
	})
	if !strings.Contains(line, "ready the disk is nearly full") {
		p.t.Errorf("it seems to be ready: %q", line)
	}
	since := time.Now()
	return p.until("the disk is full, and blocks are made", func(next string) bool {
		if height(next) != height(line) { // of an event that was on its way
			line, since = next, time.Now()
		}
		return time.Since(since) > 2*time.Second
	})
}
