package node

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"path/filepath"
	"runtime"
	rtpprof "runtime/pprof"
	"runtime/trace"
	"strconv"
	"time"

	"tarn/opera/config"
	"tarn/opera/p2p"
	"tarn/store/vfs"
)

// node runs a node until it is told to stop, or is synced as far as was asked for.
func (l *life) node(ctx context.Context) error {
	if err := l.arguments(0, 0); err != nil {
		return err
	}
	return l.withNode(ctx, nil, func(ctx context.Context, n *Node) error {
		for _, lack := range l.missing() {
			l.log.Warn(lack)
		}
		said := &news{log: l.log, now: time.Now}
		defer n.Subscribe(said.block)()
		peers, err := l.meet(n)
		if err != nil {
			return err
		}
		r, err := l.serve(n, peers)
		if err != nil {
			return errors.Join(err, leave(peers))
		}
		<-ctx.Done()
		err = errors.Join(r.close(), leave(peers))
		cause := context.Cause(ctx)
		if errors.Is(cause, ErrSynced) || errors.Is(cause, context.Canceled) {
			l.log.Info("Stopping", "reason", cause)
			return err
		}
		return errors.Join(cause, err)
	})
}

// leave ends the connections to peers, if there are any.
func leave(peers *p2p.Node) error {
	if peers == nil {
		return nil
	}
	return peers.Close()
}

// missing are the parts of a node that the options ask for, and that this program does not
// have.
func (l *life) missing() []string {
	var lacks []string
	lack := func(asked bool, what string) {
		if asked {
			lacks = append(lacks, what)
		}
	}
	lack(l.Run.Metrics, "Metrics were asked for, and are no part of this program yet")
	lack(l.Emitter.Validator.ID != 0, "A validator was named; this program does not speak for one yet, it makes no events")
	lack(len(l.Node.P2P.IPRestrict)+len(l.Node.P2P.PrivateNodes) != 0, "iprestrict and privatenodes have no effect: netrestrict takes networks, a firewall does the rest")
	return lacks
}

// remember keeps the preset that was named, as go-opera does. Nobody depends on it.
func (l *life) remember() {
	if l.Run.Preset == "" {
		return
	}
	path := filepath.Join(l.Node.DataDir, "chaindata", "preset")
	if err := vfs.WriteDurably(vfs.OS, path, []byte(l.Run.Preset)); err != nil {
		l.log.Warn("The preset is not kept", "err", err)
	}
}

func (l *life) dumpConfig(context.Context) error {
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
func (l *life) version(context.Context) error {
	_, err := fmt.Fprintf(l.out, "Go-Opera\nVersion: %s\nArchitecture: %s\nProtocol Versions: [63]\nGo Version: %s\nOperating System: %s\nGOPATH=%s\nGOROOT=%s\nTarn: %s\n",
		config.Version, runtime.GOARCH, runtime.Version(), runtime.GOOS, os.Getenv("GOPATH"), os.Getenv("GOROOT"), l.build)
	return err
}

func (l *life) license(context.Context) error {
	_, err := fmt.Fprintln(l.out, "Tarn is licensed under the Apache License, Version 2.0; the libraries in it have licences of their own.")
	return err
}

// profile measures the process, if it was asked for. What is returned ends that.
func (l *life) profile() (stop func() error, err error) {
	p := &l.Run.Profile
	var ends []func() error
	stop = func() (err error) {
		for _, end := range ends {
			err = errors.Join(err, end())
		}
		return err
	}
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
		ends = append(ends, func() error { end(); return f.Close() })
		return nil
	}
	err = create(p.CPU, func(f *os.File) error { return rtpprof.StartCPUProfile(f) }, rtpprof.StopCPUProfile)
	if err == nil {
		err = create(p.Trace, func(f *os.File) error { return trace.Start(f) }, trace.Stop)
	}
	if err == nil && p.Serve {
		err = l.serveProfiles(&ends)
	}
	if err != nil {
		return nil, errors.Join(err, stop())
	}
	return stop, nil
}

func (l *life) serveProfiles(ends *[]func() error) error {
	p := &l.Run.Profile
	listener, err := net.Listen("tcp", net.JoinHostPort(p.Address, strconv.Itoa(p.Port)))
	if err != nil {
		return fmt.Errorf("--pprof: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	go func() {
		if err := s.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			l.log.Error("Profiles are not served any more", "err", err)
		}
	}()
	l.log.Info("Starting pprof server", "addr", fmt.Sprintf("http://%s/debug/pprof", listener.Addr()))
	*ends = append(*ends, s.Close)
	return nil
}
