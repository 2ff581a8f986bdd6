package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"time"

	"tarn/bench/procsampler"
	"tarn/bench/record"
	"tarn/bench/subjectflag"
)

// How long a node may take to answer at first, to import the chain, and to end.
const (
	startPatience  = 5 * time.Minute
	importPatience = time.Hour
	stopPatience   = 10 * time.Minute
)

// every is how often a child is read.
const every = 50 * time.Millisecond

// life is one subject in one round: it starts its processes, or those of the source, in folders
// that they need, and ends them. What is done with them is a suite's.
type life struct {
	runner  *runner
	subject subjectflag.Subject
	round   int
	network Network
	options record.Options
	chain   record.Chain

	commands [][]string
	loads    int                // of steady transfers so far
	env      []string           // that nodes have besides
	group    *procsampler.Group // that nodes run in; nil for none
}

// life begins one.
func (r *runner) life(s subjectflag.Subject, round int) *life {
	return &life{runner: r, subject: s, round: round, network: r.config.Network, options: r.config.Options,
		chain: r.run.Chain}
}

// folder is a new one for a node.
func (r *runner) folder() (string, error) { return r.folderIn(r.config.Dir) }

func (r *runner) folderIn(above string) (string, error) {
	r.lived++
	dir := filepath.Join(above, fmt.Sprintf("node-%d", r.lived))
	return dir, os.Mkdir(dir, 0o700)
}

// seed is that of the transfers of this life: no two lives of a run send the same.
func (l *life) seed() uint64 { return l.options.Seed + uint64(l.round)<<32 + 1 }

// start starts a process of a subject.
func (l *life) start(of subjectflag.Subject, dir string, args, env []string) (*procsampler.Child, error) {
	c, err := procsampler.Start(procsampler.Command{Path: of.Path, Args: args, Env: env, Group: l.group,
		Log: filepath.Join(dir, "log"), Every: every})
	if err == nil {
		l.commands = append(l.commands, c.Line())
	}
	return c, err
}

// importChain returns a new folder with the chain's state, and the process that made it. After an error
// there is no folder.
func (l *life) importChain(ctx context.Context, of subjectflag.Subject) (
	dir string, c *procsampler.Child, took time.Duration, err error) {
	if dir, err = l.runner.folder(); err != nil {
		return "", nil, 0, err
	}
	if c, took, err = l.importTo(ctx, of, dir); err != nil {
		return "", nil, 0, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, c, took, nil
}

// importTo makes the chain's state in a folder, and returns the process that did.
func (l *life) importTo(ctx context.Context, of subjectflag.Subject, dir string) (
	c *procsampler.Child, took time.Duration, err error) {
	if err = l.network.Install(dir); err != nil {
		return nil, 0, err
	}
	args, err := l.network.Import(of, dir)
	if err != nil {
		return nil, 0, err
	}
	within, cancel := context.WithTimeout(ctx, importPatience)
	defer cancel()
	begin := time.Now()
	if c, err = l.start(of, dir, args, nil); err != nil {
		return nil, 0, err
	}
	err = c.Wait(within)
	return c, time.Since(begin), err
}

// base is a folder with the chain's state and maybe more blocks of earlier rounds. It is
// the subject's for the whole run.
func (l *life) base(ctx context.Context) (string, error) { return l.baseOf(ctx, l.subject) }

func (l *life) baseOf(ctx context.Context, of subjectflag.Subject) (string, error) {
	bases := l.runner.bases
	if dir := bases[of.Name]; dir != "" {
		return dir, nil
	}
	dir, _, _, err := l.importChain(ctx, of)
	if err != nil {
		return "", err
	}
	bases[of.Name] = dir
	return dir, nil
}

// discard forgets a folder whose node did not end well.
func (l *life) discard(dir string) {
	maps.DeleteFunc(l.runner.bases, func(_, base string) bool { return base == dir })
	_ = os.RemoveAll(dir) // the run's end removes what is left
}

// serve is how a node is started that takes transactions on the chain that its folder has.
func (l *life) serve(of subjectflag.Subject, dir string) (Node, error) {
	return l.network.(Serving).Serve(of, dir, "")
}

// serving starts a node of the subject that takes transactions.
func (l *life) serving(ctx context.Context, dir, snapshot string) (*server, error) {
	s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
		return l.network.(Serving).Serve(l.subject, dir, snapshot)
	})
	if err != nil {
		return nil, err
	}
	head, err := s.head(ctx, 0)
	if all := l.chain.Blocks; err == nil && head < all {
		err = fmt.Errorf("%s has block %d of the chain's %d: it did not take all of it", l.subject.Name, head, all)
	}
	if err != nil {
		s.Kill()
		return nil, err
	}
	return s, nil
}

// answering starts a node and waits for its first answer. One that fails is gone.
func (l *life) answering(ctx context.Context, of subjectflag.Subject, dir string,
	how func() (Node, error)) (*server, error) {
	return l.answeringWithin(ctx, startPatience, of, dir, how)
}

// answeringWithin is answering, of a node that has so much time for each block that is waited
// for.
func (l *life) answeringWithin(ctx context.Context, patience time.Duration, of subjectflag.Subject, dir string,
	how func() (Node, error)) (*server, error) {
	s, err := l.begin(patience, of, dir, how)
	if err != nil {
		return nil, err
	}
	if _, err = s.head(ctx, 0); err == nil {
		s.ready = time.Since(s.began)
		s.first, err = s.Now()
	}
	if err != nil {
		s.Kill()
		return nil, fmt.Errorf("start %s: %w", of.Name, err)
	}
	return s, nil
}

// begin starts a node, and does not wait for an answer.
func (l *life) begin(
	patience time.Duration, of subjectflag.Subject, dir string, how func() (Node, error),
) (*server, error) {
	n, err := how()
	if err != nil {
		return nil, err
	}
	n.Env = append(n.Env, l.env...)
	s := &server{Node: n, network: l.network, dir: dir, patience: patience, began: time.Now()}
	s.Child, err = l.start(of, dir, n.Args, n.Env)
	return s, err
}

// with starts a node on the subject's folder, runs f, and ends the node, badly only if f
// fails.
func (l *life) with(ctx context.Context, f func(s *server) error) error {
	dir, err := l.base(ctx)
	if err != nil {
		return err
	}
	s, err := l.serving(ctx, dir, "")
	if err != nil {
		l.discard(dir)
		return err
	}
	if err = f(s); err == nil && !s.ended() {
		_, _, err = s.stop(ctx)
	}
	if err != nil {
		s.Kill()
		l.discard(dir)
	}
	return err
}

// withSource starts a node of the source, which others get blocks from, and runs f with it. Its
// folder is the run's, for it makes no blocks.
func (l *life) withSource(ctx context.Context, f func(source *server) error) error {
	of, n := l.runner.config.Source, l.network.(Following)
	dir, err := l.baseOf(ctx, of)
	if err != nil {
		return fmt.Errorf("make the source: %w", err)
	}
	s, err := l.answering(ctx, of, dir, func() (Node, error) { return n.Source(of, dir) })
	if err != nil {
		l.discard(dir)
		return err
	}
	if err = f(s); err == nil {
		_, _, err = s.stop(ctx)
	}
	if err != nil {
		s.Kill()
		l.discard(dir)
	}
	return err
}

// withFollower starts a node of the source that makes blocks and a node of the subject that follows it,
// and runs f with them, which ends the second well. Both are new in each life: they must have the
// same blocks. The second has what also adds, if that is not nil.
func (l *life) withFollower(
	ctx context.Context, also func(Node) (Node, error), f func(from, s *server) error,
) error {
	of, n := l.runner.config.Source, l.network.(Following)
	maker, err := l.runner.folderIn(l.runner.sources)
	if err != nil {
		return err
	}
	defer os.RemoveAll(maker)
	if _, _, err := l.importTo(ctx, of, maker); err != nil {
		return err
	}
	dir, _, _, err := l.importChain(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	from, err := l.answering(ctx, of, maker, func() (Node, error) { return l.serve(of, maker) })
	if err != nil {
		return err
	}
	defer from.Kill()
	s, err := l.answering(ctx, l.subject, dir, func() (Node, error) {
		node, err := n.Follow(l.subject, dir, from.Peers)
		if err == nil && also != nil {
			node, err = also(node)
		}
		return node, err
	})
	if err != nil {
		return err
	}
	defer s.Kill()
	if _, err := from.producing(ctx); err != nil {
		return err
	}
	if err := s.level(ctx, from); err != nil {
		return err
	}
	return f(from, s)
}
