package difftest

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"tarn/internal/freeport"
)

// Wallet is a running keosd, and the cleos that uses it.
type Wallet struct {
	peer    *Peer
	address string
	cmd     *exec.Cmd
}

// StartWallet runs keosd with its files in dir and with keys, until [Wallet.Stop] or
// until ctx ends.
func (p *Peer) StartWallet(ctx context.Context, dir string, keys ...string) (*Wallet, error) {
	ports, err := freeport.Addresses(1)
	if err != nil {
		return nil, err
	}
	w := &Wallet{peer: p, address: ports[0]}
	w.cmd = p.Tool(ctx, "keosd", "--wallet-dir", filepath.Join(dir, "wallet"),
		"--config-dir", filepath.Join(dir, "config"),
		"--data-dir", filepath.Join(dir, "data"), "--http-server-address", w.address, "--unlock-timeout", "100000")
	w.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := w.cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting keosd: %w", err)
	}
	if err := w.fill(ctx, keys); err != nil {
		w.Stop()
		return nil, err
	}
	return w, nil
}

// fill makes the wallet once keosd answers, and puts keys into it.
func (w *Wallet) fill(ctx context.Context, keys []string) error {
	for end := time.Now().Add(patience); ; time.Sleep(50 * time.Millisecond) {
		out, err := w.Cleos(ctx, "", "wallet", "create", "--to-console")
		if err == nil {
			break
		} else if time.Now().After(end) || ctx.Err() != nil {
			return fmt.Errorf("making a wallet: %w: %s", err, out)
		}
	}
	for _, k := range keys {
		if out, err := w.Cleos(ctx, "", "wallet", "import", "--private-key", k); err != nil {
			return fmt.Errorf("putting a key into a wallet: %w: %s", err, out)
		}
	}
	return nil
}

// Cleos runs it with the wallet, against the node at url unless that is empty, and
// returns all that it says. It may be called by several goroutines.
func (w *Wallet) Cleos(ctx context.Context, url string, args ...string) (string, error) {
	all := []string{"--wallet-url", "http://" + w.address, "--no-auto-keosd"}
	if url != "" {
		all = append(all, "-u", url)
	}
	out, err := w.peer.Tool(ctx, "cleos", append(all, args...)...).CombinedOutput()
	return string(out), err
}

// Stop ends keosd at once.
func (w *Wallet) Stop() {
	_ = syscall.Kill(-w.cmd.Process.Pid, syscall.SIGKILL) // its own group; it may have ended
	_ = w.cmd.Wait()
}
