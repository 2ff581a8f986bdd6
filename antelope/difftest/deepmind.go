package difftest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/deepmind"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// deepMindFile is where a replay's deep-mind log is left.
const deepMindFile = "deepmind.log"

// deepMindLogging tells nodeos to write the log to its output, and all else elsewhere.
const deepMindLogging = `{"includes":[],
"appenders":[{"name":"err","type":"console","args":{"stream":"std_error","level_colors":[]},"enabled":true},
 {"name":"deep-mind","type":"dmlog","args":{"file":"-"},"enabled":true}],
"loggers":[{"name":"default","level":"info","enabled":true,"additivity":false,"appenders":["err"]},
 {"name":"deep-mind","level":"all","enabled":true,"additivity":false,"appenders":["deep-mind"]}]}`

// DeepMind replays the blocks of the case in dir with nodeos, in a folder that it
// makes, starts it once more, and returns the path of the deep-mind log there.
func (p *Peer) DeepMind(ctx context.Context, dir, work string) (string, error) {
	config := filepath.Join(work, "config")
	if err := replayFolder(dir, work); err != nil {
		return "", err
	}
	logging := filepath.Join(config, "logging.json")
	if err := os.WriteFile(logging, []byte(deepMindLogging), 0o644); err != nil {
		return "", err
	}
	ports, err := freeport.Addresses(2)
	if err != nil {
		return "", err
	}
	args := append(replayArguments(work, ports[0]), "--logconf", logging, "--deep-mind", "--contracts-console")
	out, err := os.Create(filepath.Join(work, deepMindFile))
	if err != nil {
		return "", err
	}
	err = p.tellStart(ctx, out, filepath.Join(work, "replay.log"),
		append(args[:len(args):len(args)], "--replay-blockchain")...)
	if err == nil {
		err = p.tellStart(ctx, out, filepath.Join(work, "start.log"), args...)
	}
	return out.Name(), errors.Join(err, out.Close())
}

// replayFolder makes work a data folder with the blocks of the case in dir.
func replayFolder(dir, work string) error {
	if err := errors.Join(os.MkdirAll(filepath.Join(work, "config"), 0o755),
		os.MkdirAll(filepath.Join(work, "blocks"), 0o755)); err != nil {
		return err
	}
	for _, name := range []string{"blocks.log", "blocks.index"} {
		from := filepath.Join(dir, name)
		info, err := os.Stat(from)
		if err != nil {
			return err
		}
		if err := copyFile(from, filepath.Join(work, "blocks", name), info.Size()); err != nil {
			return err
		}
	}
	return nil
}

// replayArguments are nodeos' to replay the blocks of a data folder and no more.
func replayArguments(work, p2p string) []string {
	return []string{"nodeos", "--data-dir", work, "--config-dir", filepath.Join(work, "config"),
		"--plugin", "eosio::chain_plugin", "--plugin", "eosio::net_plugin", "--p2p-listen-endpoint", p2p,
		// Without undo sessions end iterators mean other tables than when the blocks were made.
		"--disable-replay-opts",
		"--api-accept-transactions=false", "--p2p-accept-transactions=false",
		"--chain-state-db-size-mb", "2048", "--abi-serializer-max-time-ms", "10000",
		"--resource-monitor-not-shutdown-on-threshold-exceeded"}
}

// tellStart runs nodeos until it has started, and replayed its blocks before if it
// was to.
func (p *Peer) tellStart(ctx context.Context, out *os.File, stderr string, args ...string) error {
	log, err := os.Create(stderr)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.Program(), args...)
	cmd.Env, cmd.Stdout, cmd.Stderr = p.environment(), out, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("starting nodeos: %w", err)
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	for {
		select {
		case err := <-done:
			said, readErr := os.ReadFile(stderr)
			return errors.Join(fmt.Errorf("nodeos ended before it was seen to have replayed (%v): %s",
				err, said[max(0, len(said)-2000):]), readErr)
		case <-time.After(200 * time.Millisecond):
		}
		said, err := os.ReadFile(stderr)
		if err == nil && !bytes.Contains(said, []byte("Blockchain started")) {
			continue
		}
		return errors.Join(err, cmd.Process.Signal(syscall.SIGTERM), <-done)
	}
}

// CompareDeepMind replays the blocks of the case in dir with our chain, on a store
// in a folder that it makes and removes, and compares what it says with the log of
// nodeos. Left aside are times, which traces have, and the texts of exceptions.
func CompareDeepMind(dir, theirs string, e engine.Options, o chain.Options) (lines int, err error) {
	f, err := os.Open(theirs)
	if err != nil {
		return 0, err
	}
	defer f.Close()
	work, err := os.MkdirTemp("", "tarn-oracle-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	c := &deepMindCompare{want: bufio.NewReaderSize(f, 1<<20)}
	o.Hooks.Tracer, o.Console = deepmind.New(c, deepmind.Options{}), true
	if err := tellReplay(dir, filepath.Join(work, "state"), e, o); err != nil {
		c.err = errors.Join(c.err, err)
	}
	if c.err == nil {
		if rest, err := c.want.ReadString('\n'); err != io.EOF {
			c.err = fmt.Errorf("line %d of nodeos is missing: %.200s", c.lines+1, rest)
		}
	}
	if c.err != nil {
		return c.lines, fmt.Errorf("%s: %w: %w", dir, ErrDifferent, c.err)
	}
	return c.lines, nil
}

// tellReplay replays a case as a node does that starts with its blocks, and then
// starts once more.
func tellReplay(dir, state string, e engine.Options, o chain.Options) (err error) {
	st, err := engine.Open(state, e)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, st.Close()) }()
	c, err := chain.Open(st, o)
	if err != nil {
		return err
	}
	err = blocks(dir, c.Genesis, replaying(context.Background(), c))
	if err = errors.Join(err, c.Close()); err != nil {
		return err
	}
	if c, err = chain.Open(st, o); err != nil {
		return err
	}
	return errors.Join(c.Resume(context.Background(), nil, nil), c.Close())
}

// deepMindCompare is a writer of lines that compares them.
type deepMindCompare struct {
	want     *bufio.Reader
	lines    int
	handling bool // what an error handler does is being left out
	err      error
}

// Lines of these kinds begin and end what an error handler does, which this nodeos
// never does: it fails before, see the script contract.
var (
	handlerBegins = []byte("DMLOG TRX_OP CREATE onerror ")
	handlerEnds   = []byte("DMLOG RLIMIT_OP ACCOUNT_USAGE UPD ")
)

func (c *deepMindCompare) Write(line []byte) (int, error) {
	if c.handling && bytes.HasPrefix(line, handlerEnds) {
		c.handling = false
	}
	if c.err != nil || c.handling {
		return len(line), nil
	}
	c.handling = bytes.HasPrefix(line, handlerBegins)
	c.lines++
	want, err := c.want.ReadString('\n')
	switch {
	case err != nil:
		c.err = fmt.Errorf("line %d is more than nodeos says: %.200s", c.lines, line)
	case want != string(line):
		c.err = sameTrace(strings.Fields(want), strings.Fields(string(line)))
		if c.err != nil {
			c.err = fmt.Errorf("line %d of nodeos: %w\n%s%s", c.lines, c.err, want, line)
		}
	}
	return len(line), nil
}

// sameTrace compares lines that differ: traces may, in their times.
func sameTrace(want, got []string) error {
	const kind = "APPLIED_TRANSACTION"
	if len(want) != 4 || len(got) != 4 || want[1] != kind || got[1] != kind || want[2] != got[2] {
		return errors.New("the lines differ")
	}
	a, err := timeless(want[3])
	if err != nil {
		return fmt.Errorf("nodeos' trace: %w", err)
	}
	b, err := timeless(got[3])
	if err != nil {
		return fmt.Errorf("our trace: %w", err)
	}
	if bytes.Equal(a.Append(nil), b.Append(nil)) {
		return nil
	}
	var text strings.Builder
	describe(&text, a)
	text.WriteString("and here\n")
	describe(&text, b)
	return fmt.Errorf("the traces differ: %s", text.String())
}

// timeless is a packed trace without times, the logs of exceptions, and what a
// handler of errors did that failed.
func timeless(text string) (*types.TransactionTrace, error) {
	raw, err := hex.DecodeString(text)
	if err != nil {
		return nil, err
	}
	t, err := readTrace(raw)
	if err != nil {
		return nil, err
	}
	if t.FailedDeferred != nil && t.Except != nil {
		t.ActionTraces, t.Except, t.ErrorCode = nil, nil, nil
	}
	for x := t; x != nil; x = x.FailedDeferred {
		x.Elapsed = 0
		for i := range x.ActionTraces {
			x.ActionTraces[i].Elapsed = 0
		}
	}
	return t, nil
}

// readTrace reads a trace whose exceptions may have logs. It finds them where
// reading stops, and cuts them out.
func readTrace(raw []byte) (*types.TransactionTrace, error) {
	for {
		r := serial.NewReader(raw)
		t := new(types.TransactionTrace)
		t.Read(r)
		err := r.End()
		if err == nil {
			return t, nil
		}
		at := r.Offset() - 1 // of the number of entries
		if !errors.Is(err, serial.ErrValue) || at < 0 {
			return nil, err
		}
		logs := serial.NewReader(raw[at:])
		for range logs.Count(1) {
			skipVariant(logs, 0)
		}
		if logs.Err() != nil {
			return nil, fmt.Errorf("%w; as the log of an exception: %w", err, logs.Err())
		}
		raw = append(append(raw[:at:at], 0), raw[at+logs.Offset():]...)
	}
}

// skipVariant passes over a packed fc::variant (Leap: libfc, io/raw_variant.hpp).
func skipVariant(r *serial.Reader, depth int) {
	if depth > 16 {
		r.Fail(serial.ErrLimit)
		return
	}
	switch r.Uint8() {
	case 0:
	case 1, 2, 3:
		r.Uint64()
	case 4:
		r.Bool()
	case 5, 8:
		_ = r.Bytes()
	case 6:
		for range r.Count(1) {
			skipVariant(r, depth+1)
		}
	case 7:
		for range r.Count(2) {
			_ = r.Bytes()
			skipVariant(r, depth+1)
		}
	default:
		r.Fail(serial.ErrValue)
	}
}
