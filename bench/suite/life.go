package suite

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"

	"tarn/bench/causes"
	"tarn/bench/record"
	"tarn/bench/subject"
	"tarn/bench/watcher"
	"tarn/internal/figures"
)

// How long a node may take to answer at first, to import the chain, and to end.
const (
	startPatience  = 5 * time.Minute
	importPatience = time.Hour
	stopPatience   = 10 * time.Minute
)

// every is how often a child is read.
const every = 50 * time.Millisecond

// life is one subject in one round: a process, or two, and what suites saw of them. Each suite is
// methods of it, for all start nodes of the subject and put values under their name.
type life struct {
	runner   *runner
	subject  subject.Subject
	round    int
	suites   []string // that are wanted
	commands [][]string
	values   map[string]map[string]float64 // by suite
	samples  map[string][]record.Sample
	waits    []record.Wait // of rpc
	told     causes.Told   // bytes per second while it served, as the node says; of disk and disk-follow
	loads    int           // of steady transfers so far
	env      []string      // that nodes have besides
	group    *watcher.Group
}

// group is suites that share a process.
type group struct {
	suites []string
	run    func(*life, context.Context) error
}

// groups are all suites, in the order in which they run.
func groups() (all []group) {
	for _, d := range All() {
		if d.run != nil {
			all = append(all, group{run: d.run})
		}
		last := &all[len(all)-1]
		last.suites = append(last.suites, d.Name)
	}
	return all
}

// live runs a life and keeps it, whatever becomes of it.
func (r *runner) live(ctx context.Context, l *life, run func(*life, context.Context) error) {
	began, before := time.Now(), r.config.speed()
	watch := figures.Watch(r.run.Machine.CPUs)
	err := run(l, ctx)
	others := watch()
	after := r.config.speed()
	for _, name := range l.suites {
		kept := record.Life{Suite: name, Round: l.round, Subject: l.subject.Name, Began: began, Commands: l.commands, Values: l.values[name],
			Samples: l.samples[name], CalibrationBefore: before, CalibrationAfter: after, Others: others}
		switch name {
		case Disk, DiskFollow:
			kept.ByCause, kept.ByFiles = l.told.State, l.told.Files
		case RPC:
			kept.Waits = l.waits
		}
		if kept.Values == nil && err != nil {
			kept.Failure = err.Error()
			r.tell("%s: %s failed: %s", l.subject.Name, name, err)
		}
		r.run.Lives = append(r.run.Lives, kept)
	}
}

// folder is a new one for a node.
func (r *runner) folder() (string, error) { return r.folderIn(r.config.Dir) }

func (r *runner) folderIn(above string) (string, error) {
	r.lived++
	dir := filepath.Join(above, fmt.Sprintf("node-%d", r.lived))
	return dir, os.Mkdir(dir, 0o700)
}

// start starts a process of a subject.
func (l *life) start(of subject.Subject, dir string, args, env []string) (*watcher.Child, error) {
	c, err := watcher.Start(watcher.Command{Path: of.Path, Args: args, Env: env, Group: l.group, Log: filepath.Join(dir, "log"), Every: every})
	if err == nil {
		l.commands = append(l.commands, c.Line())
	}
	return c, err
}

// imported is a new folder with the chain's state, and the process that made it. After an error
// there is no folder.
func (l *life) imported(ctx context.Context, of subject.Subject) (dir string, c *watcher.Child, took time.Duration, err error) {
	if dir, err = l.runner.folder(); err != nil {
		return "", nil, 0, err
	}
	if c, took, err = l.importTo(ctx, of, dir); err != nil {
		return "", nil, 0, errors.Join(err, os.RemoveAll(dir))
	}
	return dir, c, took, nil
}

// importTo makes the chain's state in a folder, and returns the process that did.
func (l *life) importTo(ctx context.Context, of subject.Subject, dir string) (c *watcher.Child, took time.Duration, err error) {
	if err = l.runner.config.Network.Install(dir); err != nil {
		return nil, 0, err
	}
	args, err := l.runner.config.Network.Import(of, dir)
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

// importChain is the suite of that name.
func (l *life) importChain(ctx context.Context) error {
	dir, c, length, err := l.imported(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cpu, disk, _ := c.Total()
	l.samples[Import] = c.Samples()
	l.values[Import] = map[string]float64{
		took: length.Seconds(), processor: cpu.Seconds(), written: float64(disk.Net()), onDisk: float64(stateBytes(dir)),
		private: mostPrivate(c.Samples()), resident: float64(c.Peak()),
	}
	return nil
}

// stateBytes is what all files of a folder occupy, but for blocks and logs of words.
func stateBytes(dir string) int64 { return occupied(dir, "blocks", "config") }

// occupied is what files of a folder occupy on the disk, but for folders of some names and
// logs of words.
func occupied(dir string, but ...string) (sum int64) {
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() && slices.Contains(but, d.Name()) {
			return filepath.SkipDir // what cannot be read is not counted
		}
		var st unix.Stat_t
		if !d.IsDir() && d.Name() != "log" && unix.Lstat(path, &st) == nil {
			sum += st.Blocks * 512
		}
		return nil
	})
	return sum
}

// mostPrivate is the most memory that was the process's alone: dirty, or with no file
// behind it.
func mostPrivate(samples []record.Sample) (most float64) {
	for _, s := range samples {
		most = max(most, float64(max(s.PrivateDirty, s.Anonymous)))
	}
	return most
}

// mostSwapped is the most memory that was out on swap.
func mostSwapped(samples []record.Sample) (most float64) {
	for _, s := range samples {
		most = max(most, float64(s.Swap))
	}
	return most
}

// mostThreads is the most threads that ran at once.
func mostThreads(samples []record.Sample) (most float64) {
	for _, s := range samples {
		most = max(most, float64(s.Threads))
	}
	return most
}

// base is a folder with the chain's state and maybe more blocks of earlier rounds. It is
// the subject's for the whole run.
func (l *life) base(ctx context.Context) (string, error) { return l.baseOf(ctx, l.subject) }

func (l *life) baseOf(ctx context.Context, of subject.Subject) (string, error) {
	bases := l.runner.bases
	if dir := bases[of.Name]; dir != "" {
		return dir, nil
	}
	dir, _, _, err := l.imported(ctx, of)
	if err != nil {
		return "", err
	}
	bases[of.Name] = dir
	return dir, nil
}

// spoiled forgets a folder whose node did not end well.
func (l *life) spoiled(dir string) {
	maps.DeleteFunc(l.runner.bases, func(_, base string) bool { return base == dir })
	_ = os.RemoveAll(dir) // the run's end removes what is left
}

// evict puts a folder's files out of the page cache, as far as they are on the disk.
func evict(dir string) error {
	return filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := f.Sync(); err != nil {
			return fmt.Errorf("sync %s: %w", path, err)
		}
		if err := unix.Fadvise(int(f.Fd()), 0, 0, unix.FADV_DONTNEED); err != nil {
			return fmt.Errorf("put %s out of the page cache: %w", path, err)
		}
		return nil
	})
}
