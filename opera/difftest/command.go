package difftest

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"

	"tarn/opera/inter"
)

// run runs a command of go-opera over a node's folder; the node must have ended.
func (p *Peer) run(ctx context.Context, c Config, command ...string) error {
	cmd := exec.CommandContext(ctx, p.program, append(c.arguments(), command...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("opera %v over %s: %w: %s", command, c.data(), err, reason(out))
	}
	return nil
}

// Command returns a command of go-opera, to be started, with arguments as they are.
func (p *Peer) Command(ctx context.Context, arguments ...string) *exec.Cmd {
	return exec.CommandContext(ctx, p.program, arguments...)
}

// reason is what a program said when it ended badly: why it panicked, or its last line.
func reason(out []byte) string {
	for line := range strings.Lines(string(out)) {
		if strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "CRIT ") ||
			strings.HasPrefix(line, "Fatal: ") {
			return strings.TrimSpace(line)
		}
	}
	return lastLine(out)
}

// Help returns what the program says of its flags.
func (p *Peer) Help(ctx context.Context) ([]byte, error) {
	out, err := exec.CommandContext(ctx, p.program, "--help").Output()
	if err != nil {
		return nil, fmt.Errorf("opera --help: %w", err)
	}
	return out, nil
}

// ExportGenesis writes a genesis of the chain up to its present epoch. The mode says
// what of the state: mpt, ext-mpt or full.
func (p *Peer) ExportGenesis(ctx context.Context, c Config, path, mode string) error {
	return p.run(ctx, c, "export", "genesis", "--export.evm.mode", mode, path)
}

// ExportEvents writes the events of the epochs from one on, compressed if the path
// ends in .gz.
func (p *Peer) ExportEvents(ctx context.Context, c Config, path string, from inter.Epoch) error {
	return p.run(ctx, c, "export", "events", path, strconv.Itoa(int(from)))
}

// ImportEvents reads events that another node exported.
func (p *Peer) ImportEvents(ctx context.Context, c Config, path string) error {
	return p.run(ctx, c, "import", "events", path)
}
