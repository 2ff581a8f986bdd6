package difftest

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"tarn/antelope/types"
)

// controllerScript drives nodeos' controller; its first lines say how it is spoken to.
//
//go:embed controller.py
var controllerScript []byte

// Controller is nodeos' controller in a process of its own, without the plugins: it
// makes the blocks that it is told to make. One goroutine uses it.
type Controller struct {
	dir  string
	cmd  *exec.Cmd
	in   *json.Encoder
	end  func() error // closes its input
	out  *json.Decoder
	done chan struct{} // closed when the process has ended
	err  error         // how, after done
}

// python names the shared library of the Python that the package is built for, and
// the folder of what belongs to it. Errors wrap [ErrNoPeer].
func python(ctx context.Context) (library, home string, err error) {
	const ask = `import os, sys, sysconfig as c
print("%d.%d" % sys.version_info[:2])
print(os.path.join(c.get_config_var("LIBDIR") or "", c.get_config_var("INSTSONAME") or ""))
print(sys.base_prefix)`
	for _, name := range []string{"python" + ipyeosPython, "python3"} {
		out, err := exec.CommandContext(ctx, name, "-c", ask).Output()
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if err != nil || len(lines) != 3 || lines[0] != ipyeosPython {
			continue
		}
		if info, err := os.Stat(lines[1]); err == nil && info.Mode().IsRegular() {
			return lines[1], lines[2], nil
		}
	}
	return "", "", fmt.Errorf("%w's controller in-process: no Python %s with a shared library", ErrNoPeer, ipyeosPython)
}

// Controller starts a process with nodeos' controller, whose files and log are in dir.
// It ends with ctx. Without a Python to run in the error wraps [ErrNoPeer].
func (p *Peer) Controller(ctx context.Context, dir string) (*Controller, error) {
	library, home, err := python(ctx)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, "controller.py")
	if err := os.WriteFile(script, controllerScript, 0o644); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "controller.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, p.Program(), script)
	cmd.Env = append(p.environment(), "PYTHON_SHARED_LIB_PATH="+library, "PYTHONHOME="+home, "PYTHONPATH="+p.root)
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c := &Controller{dir: dir, cmd: cmd, in: json.NewEncoder(in), end: in.Close,
		out: json.NewDecoder(bufio.NewReader(out)), done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The kernel takes the end of the thread that started a process for ours.
		runtime.LockOSThread()
		err := cmd.Start()
		started <- err
		if err == nil {
			c.err = cmd.Wait()
			close(c.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting the controller: %w", err)
	}
	return c, nil
}

// call makes one and decodes what it gave into answer, which may be nil. What the
// controller refuses is a *Refusal.
func (c *Controller) call(answer any, name string, arguments ...any) error {
	if err := c.in.Encode(append([]any{name}, arguments...)); err != nil {
		return fmt.Errorf("controller, %s: %w: %s", name, err, c.logEnd())
	}
	var a struct {
		OK    json.RawMessage `json:"ok"`
		Error *struct {
			Code    int64  `json:"code"`
			Name    string `json:"name"`
			Message string `json:"message"`
		} `json:"error"`
		Trouble string `json:"trouble"`
	}
	if err := c.out.Decode(&a); err != nil {
		return fmt.Errorf("controller, %s: %w: %s", name, err, c.logEnd())
	}
	switch {
	case a.Error != nil:
		return &Refusal{Code: a.Error.Code, Name: a.Error.Name, Message: a.Error.Message}
	case a.Trouble != "":
		return fmt.Errorf("controller, %s: %s", name, a.Trouble)
	case answer == nil:
		return nil
	}
	return json.Unmarshal(a.OK, answer)
}

func (c *Controller) logEnd() string {
	b, _ := os.ReadFile(filepath.Join(c.dir, "controller.log"))
	return strings.TrimSpace(string(b[max(0, len(b)-2000):]))
}

// Close closes the chain and ends the process.
func (c *Controller) Close() error {
	err := c.end()
	select {
	case <-c.done:
		return errors.Join(err, c.err)
	case <-time.After(patience):
		c.Kill()
		return fmt.Errorf("the controller did not end in %v: %s", patience, c.logEnd())
	}
}

// Kill ends the process at once, if it has not ended.
func (c *Controller) Kill() {
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) // its own group; it may have ended
	<-c.done
}

// slot is who makes the block of a time.
type slot struct {
	Producer  types.Name
	Authority types.BlockSigningAuthority
}

// slotAt asks whose turn a time is.
func (c *Controller) slotAt(t types.TimePoint) (s slot, err error) {
	var a struct {
		Producer  string            `json:"producer_name"`
		Authority []json.RawMessage `json:"authority"`
	}
	if err := c.call(&a, "slot", t.String()); err != nil {
		return s, err
	}
	var authority struct {
		Threshold uint32 `json:"threshold"`
		Keys      []struct {
			Key    string `json:"key"`
			Weight uint16 `json:"weight"`
		} `json:"keys"`
	}
	if len(a.Authority) != 2 {
		return s, fmt.Errorf("controller, slot: an authority of %d parts", len(a.Authority))
	}
	if err := json.Unmarshal(a.Authority[1], &authority); err != nil {
		return s, fmt.Errorf("controller, slot: %w", err)
	}
	if s.Producer, err = types.ParseName(a.Producer); err != nil {
		return s, fmt.Errorf("controller, slot: %w", err)
	}
	s.Authority.Threshold = authority.Threshold
	for _, k := range authority.Keys {
		key, err := types.ParsePublicKey(k.Key)
		if err != nil {
			return s, fmt.Errorf("controller, slot: %w", err)
		}
		s.Authority.Keys = append(s.Authority.Keys, types.KeyWeight{Key: key, Weight: k.Weight})
	}
	return s, nil
}
