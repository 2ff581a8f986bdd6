package difftest

import (
	"context"
	"os/exec"
)

// Command returns nodeos with arguments, ready to be started, for what needs no
// chain. It ends with ctx.
func (p *Peer) Command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Program(), append([]string{"nodeos"}, args...)...)
	cmd.Env = p.environment()
	return cmd
}
