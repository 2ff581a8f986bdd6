package node

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	rtpprof "runtime/pprof"
	"runtime/trace"
	"slices"
	"sync"
	"time"

	"tarn/fleet/fleetnode"
	"tarn/fleet/stream"
	"tarn/internal/sdnotify"
	"tarn/internal/web3js"
	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/config"
	"tarn/opera/p2p"
	"tarn/opera/rpc"
	"tarn/opera/statesync"
	"tarn/store/vfs"
)

// node runs a node until it is told to stop, or is synced as far as was asked for.
func (l *invocation) node(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	return l.running(ctx, func(ctx context.Context, _ *rpc.Service) error {
		<-ctx.Done()
		return nil
	})
}

// running runs a node while something is done beside it. A node that goes over to a later epoch is
// opened again there, and what is done beside it is begun again.
func (l *invocation) running(ctx context.Context, work func(context.Context, *rpc.Service) error) error {
	defer l.absorbSignals(ctx)()
	defer lendProcessors(ctx, l.log)()
	part, err := l.Member(l.replica)
	if l.replica {
		err = errors.Join(err, l.noReplica())
	}
	if err != nil {
		return err
	}
	for {
		over := false
		change := func(o *Options) { o.Serving, o.Fleet, o.Renew = !l.replica, part, l.renew }
		err := l.withNode(ctx, change, func(ctx context.Context, n *Node) (err error) {
			over, err = l.serving(ctx, n, work)
			return err
		})
		if errors.Is(err, stream.ErrInterrupted) && ctx.Err() == nil {
			l.log.Warn("The fleet's snapshot is loaded again from its beginning", "err", err)
			fleetnode.Rest(ctx)
			continue
		}
		if !over || err != nil || ctx.Err() != nil {
			return err
		}
	}
}

// serving runs an open node until it is told to stop. It tells whether the node is to be opened again.
func (l *invocation) serving(
	ctx context.Context, n *Node, work func(context.Context, *rpc.Service) error,
) (over bool, err error) {
	said := &news{log: l.log, now: time.Now}
	defer said.close()
	defer n.Subscribe(said.block)()
	begin := l.begin
	if n.fleet.replicates() {
		begin = l.beginReplica
	}
	service, end, err := begin(n)
	if err != nil {
		return false, err
	}
	watch := nodeupkeep.Watch{Log: l.log, Manager: sdnotify.FromEnvironment()}
	watch.Serving()
	go debug.FreeOSMemory() // the start needed much for a moment: 256 MB for each key that it opened
	err = work(ctx, service)
	cause := context.Cause(ctx)
	if errors.Is(cause, chain.ErrGoesOver) {
		err = errors.Join(err, end())
		l.log.Info("The downloaded state is complete: the chain continues in that epoch")
		return true, err
	}
	if errors.Is(cause, stream.ErrBeginAgain) {
		err = errors.Join(err, end())
		l.log.Warn("The replica cannot follow the fleet from where it stands; it begins again with the newest snapshot",
			"err", cause)
		l.renew = true
		fleetnode.Rest(ctx)
		return true, err
	}
	watch.Stopping()
	err = errors.Join(err, n.giveBack(), end())
	if errors.Is(cause, ErrSynced) || errors.Is(cause, context.Canceled) {
		l.log.Info("Stopping", "reason", cause)
		return false, err
	}
	return false, errors.Join(cause, err)
}

// spare is how many processors Go's scheduler is given that there are not. A node that syncs
// keeps the writer, the roots and the checks of events at work, on few processors all of them; then
// the scheduler looks at the network each 10 ms, and what came waits for the others' turns. With
// one that has nothing to do it learns of a request at once, and the kernel shares the processors
// out.
const spare = 2

// lendProcessors lends them, and more while the state is read from the disk, until end is called.
func lendProcessors(ctx context.Context, log *slog.Logger) (end func()) {
	var processors nodeupkeep.Processors
	back := processors.Lend(spare)
	waits := &nodeupkeep.DiskWaits{Processors: &processors, Log: log}
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { waits.Watch(ctx) })
	return func() {
		cancel()
		watching.Wait()
		back()
	}
}

// closers end what was begun, one thing each; the first began first.
type closers []func() error

// close ends all, the last first.
func (c closers) close() (err error) {
	for _, end := range slices.Backward(c) {
		err = errors.Join(err, end())
	}
	return err
}

// begin begins what goes on beside the chain: what waits, peers, requests, a validator. The
// function that is returned ends that in the opposite order.
func (s *services) begin(n *Node) (_ *rpc.Service, end func() error, err error) {
	var begun closers
	defer func() {
		if err != nil {
			err = errors.Join(err, begun.close())
		}
	}()
	w, err := s.wait(n)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, w.close, s.tell(n, w))
	states := s.states()
	peers, err := s.meet(n, w, states)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, func() error { return s.leavePeers(peers) })
	var ahead *overtaking
	if states != nil && peers != nil {
		ahead = overtake(n, peers, states)
	}
	begun = append(begun, ahead.end)
	r, err := s.serve(n, peers, w, ahead)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, r.close)
	older, err := s.answersFor(n, r.service)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, older)
	v, err := s.validate(n, peers, offered{w.Pool})
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, func() error { v.close(); return nil })
	hide := s.observed.serves(n, &beside{peers: peers, pool: w, validator: v, ahead: ahead}, s.Tarn.HealthAge)
	begun = append(begun, func() error { hide(); return nil })
	page, err := s.openDashboard(s.observed.metrics)
	if err != nil {
		return nil, nil, err
	}
	begun = append(begun, page)
	return r.service, begun.close, nil
}

// states downloads states for a node that may overtake its network, nil for one that may not.
func (s *services) states() *statesync.Syncer {
	if !s.Opera.AllowSnapsync {
		return nil
	}
	return statesync.New(statesync.Options{Notice: func(err error) {
		s.log.Warn("A peer is "+
			"disconnected", "err", err)
	}})
}

// leavePeers ends the connections to peers, if there are any. Those that the node was told of are
// kept for when it is opened again.
func (s *services) leavePeers(peers *p2p.Node) error {
	if peers == nil {
		return nil
	}
	s.added = peers.Added()
	return peers.Close()
}

// remember keeps the preset that was named, as go-opera does. Nobody depends on it.
func (l *invocation) remember() {
	if l.Run.Preset == "" {
		return
	}
	path := filepath.Join(l.Node.DataDir, "chaindata", "preset")
	if err := vfs.WriteDurably(vfs.OS, path, []byte(l.Run.Preset)); err != nil {
		l.log.Warn("The preset could not be saved", "err", err)
	}
}

func (l *invocation) dumpConfig(context.Context) error {
	if err := l.arguments(0, 1); err != nil {
		return err
	}
	if len(l.words) == 0 {
		return l.Dump(l.out)
	}
	f, err := os.Create(l.words[0])
	if err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return errors.Join(l.Dump(f), f.Close())
}

// version prints what programs read, in go-opera's words; the last line is ours.
func (l *invocation) version(context.Context) error {
	_, err := fmt.Fprintf(l.out, "Go-Opera\nVersion: %s\nArchitecture: %s\nProtocol Versions: [63]\nGo Version: "+
		"%s\nOperating System: %s\nGOPATH=%s\nGOROOT=%s\nTarn: %s\n",
		config.Version, runtime.GOARCH, runtime.Version(), runtime.GOOS, os.Getenv("GOPATH"),
		os.Getenv("GOROOT"), l.build)
	return err
}

func (l *invocation) license(context.Context) error {
	_, err := fmt.Fprintf(l.out, "Tarn is licensed under the Apache License, Version 2.0; the libraries in it have "+
		"licences of their own.\n\n%s", web3js.Licence())
	return err
}

// profile measures the process, if it was asked for. What is returned ends that.
func (l *invocation) profile() (stop func() error, err error) {
	p := &l.Run.Profile
	var begun closers
	create := func(path string, begin func(f *os.File) error, end func()) error {
		if path == "" {
			return nil
		}
		f, err := os.Create(path)
		if err == nil {
			err = begin(f)
		}
		if err != nil {
			return fmt.Errorf("measure the process: %w", err)
		}
		begun = append(begun, func() error { end(); return f.Close() })
		return nil
	}
	err = create(p.CPU, func(f *os.File) error { return rtpprof.StartCPUProfile(f) }, rtpprof.StopCPUProfile)
	if err == nil {
		err = create(p.Trace, func(f *os.File) error { return trace.Start(f) }, trace.Stop)
	}
	if err != nil {
		return nil, errors.Join(err, begun.close())
	}
	return begun.close, nil
}
