package node

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"runtime/debug"
	"strconv"
	"sync/atomic"
	"time"

	"tarn/nodeupkeep"
	"tarn/opera/chain"
	"tarn/opera/eventfile"
	"tarn/opera/genesis"
	"tarn/opera/inter"
)

// importGarbage is how much garbage there may be beside what is in use, in percent, while
// events are imported: an import makes much of it, and little stays. The limit of the heap
// bounds it.
const importGarbage = 200

// importEvents feeds files of events to the chain.
func (l *invocation) importEvents(ctx context.Context) error {
	if err := l.arguments(1, -1); err != nil {
		return err
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(importGarbage))
	}
	return l.withNode(ctx, nil, func(ctx context.Context, n *Node) error {
		for _, path := range l.words {
			if err := n.Import(ctx, path); err != nil {
				return fmt.Errorf("import events from %s: %w", path, err)
			}
		}
		return nil
	})
}

// Import feeds a file of events to the chain. Those that it has are passed over, so an
// import that was interrupted is simply done again.
func (n *Node) Import(ctx context.Context, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	in, err := eventfile.Open(path)
	if err != nil {
		return err
	}
	n.o.Log.Info("Importing events from file", "file", path)
	begun := time.Now()
	var fed chain.Fed
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	err = n.Do(ctx, func(c *chain.Chain) (err error) {
		p := nodeupkeep.NewProgress(n.o.Log, "Importing events", progressEvery)
		defer p.End()
		var read atomic.Int64 // bytes of events, of which many are not connected yet
		next := func() ([]byte, error) {
			raw, err := in.Next()
			read.Add(int64(len(raw)))
			return raw, err
		}
		fed, err = c.Feed(ctx, next, func(f chain.Fed) {
			head := c.Head()
			done := float64(in.Position()) * float64(f.Bytes) / float64(max(read.Load(), 1))
			p.Bytes(uint64(done), uint64(info.Size()), "block", head.Number, "epoch", c.Epoch().Epoch,
				"events", f.Events+f.Known, "txs", f.Txs,
				"txs/s", int(float64(f.Txs)/max(time.Since(begun).Seconds(), 1e-3)))
			if err := n.version.unsupportedError(); err != nil {
				cancel(err)
			} else if cause := n.Cause(); cause != nil {
				cancel(cause)
			}
		})
		if cause := context.Cause(ctx); err != nil && cause != nil {
			err = cause
		}
		return errors.Join(err, c.SyncEvents())
	})
	err = errors.Join(err, in.Close())
	took := time.Since(begun)
	n.o.Log.Info("Events import is finished", "file", path, "imported", fed.Events, "known", fed.Known, "txs", fed.Txs,
		"txs/s", int(float64(fed.Txs)/max(took.Seconds(), 1e-3)), "elapsed", took.Round(time.Millisecond))
	if errors.Is(err, ErrSynced) {
		return nil
	}
	return err
}

// importGenesis makes a chain of a genesis file, and ends.
func (l *invocation) importGenesis(ctx context.Context) error {
	if err := l.arguments(1, 1); err != nil {
		return err
	}
	if l.Run.Genesis != "" || l.Run.Fakenet.Validators != 0 {
		return errors.New("import genesis takes its file as an argument, without --genesis and --fakenet")
	}
	from := &Beginning{File: l.words[0], Trust: l.Run.Trust}
	return l.withNode(ctx, func(o *Options) { o.Genesis = from }, func(context.Context, *Node) error { return nil })
}

// epochs reads the first and last epoch after a file's name.
func (l *invocation) epochs(last inter.Epoch) (from, to inter.Epoch, err error) {
	from, to = 1, last
	for i, e := range []*inter.Epoch{&from, &to} {
		if len(l.words) <= i+1 {
			break
		}
		n, err := strconv.ParseUint(l.words[i+1], 10, 32)
		if err != nil {
			return 0, 0, fmt.Errorf("an epoch is a number, not %q: %w", l.words[i+1], err)
		}
		*e = inter.Epoch(n)
	}
	return from, to, nil
}

// existing has a chain opened that is there: none is begun.
func (l *invocation) existing(ctx context.Context, work func(context.Context, *Node) error) error {
	return l.withNode(ctx, func(o *Options) { o.Genesis = nil }, work)
}

// exportEvents writes the events of some epochs to a file.
func (l *invocation) exportEvents(ctx context.Context) error {
	if err := l.arguments(1, 3); err != nil {
		return err
	}
	from, to, err := l.epochs(0)
	if err != nil {
		return err
	}
	return l.existing(ctx, func(ctx context.Context, n *Node) error {
		path := l.words[0]
		out, err := eventfile.Create(path)
		if err != nil {
			return err
		}
		l.log.Info("Exporting events to file", "file", path)
		p := nodeupkeep.NewProgress(l.log, "Exporting events", progressEvery)
		defer p.End()
		total := n.History().Events.LogBytes
		var count, bytes uint64
		var failed error
		var last inter.EventID
		err = n.chain.Events(inter.NewEventID(from, 0, [32]byte{}), func(id inter.EventID, raw []byte) bool {
			// An end before the beginning is no end (go-opera, cmd/opera/launcher/export.go).
			if to >= from && id.Epoch() > to {
				return false
			}
			failed = errors.Join(ctx.Err(), out.Write(raw))
			last, count, bytes = id, count+1, bytes+uint64(len(raw))
			p.Bytes(bytes, uint64(total), "last", id, "exported", count)
			return failed == nil
		})
		if err = errors.Join(err, failed, out.Close()); err != nil {
			return fmt.Errorf("export events: %s is not whole: %w", path, err)
		}
		p.Done("Exported events", "last", last, "exported", count)
		return nil
	})
}

// dryRun in place of a file's name has only the hashes computed.
const dryRun = "dry-run"

// exportGenesis writes a genesis of the chain.
func (l *invocation) exportGenesis(ctx context.Context) error {
	if err := l.arguments(1, 3); err != nil {
		return err
	}
	from, to, err := l.epochs(math.MaxUint32)
	if err != nil {
		return err
	}
	sections, err := l.Sections()
	if err != nil {
		return err
	}
	return l.existing(ctx, func(ctx context.Context, n *Node) (err error) {
		view, err := n.chain.View()
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, view.Close()) }()
		x := &genesisExport{invocation: l, ctx: ctx, view: view, sections: sections, o: chain.GenesisOptions{
			From: max(from, 1), To: min(to, view.Epoch().Epoch), Preimages: l.Run.Export.Mode != "mpt",
		}}
		if l.words[0] == dryRun {
			return x.write(io.Discard)
		}
		f, err := os.Create(l.words[0])
		if err != nil {
			return fmt.Errorf("export a genesis: %w", err)
		}
		if err = errors.Join(x.write(f), f.Sync(), f.Close()); err != nil {
			return fmt.Errorf("export a genesis: %s is not whole: %w", l.words[0], err)
		}
		return nil
	})
}

// genesisExport writes the sections of a genesis.
type genesisExport struct {
	*invocation
	ctx      context.Context
	view     *chain.View
	sections map[string]string
	o        chain.GenesisOptions
}

func (x *genesisExport) write(out io.Writer) (err error) {
	source, err := x.view.Genesis(x.o)
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(x.Node.DataDir, "genesis-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	w := genesis.NewWriter(out, source.Header(), tmp)
	for _, s := range []struct {
		kind, title, result string
		copy                func(*genesis.UnitWriter) error
	}{
		{genesis.Epochs, "Exporting epochs", "Epochs", func(u *genesis.UnitWriter) error { return x.epochs(source, u) }},
		{genesis.Blocks, "Exporting blocks", "Blocks", func(u *genesis.UnitWriter) error { return x.blocks(u) }},
		{genesis.State, "Exporting EVM data", "EVM", func(u *genesis.UnitWriter) error { return x.items(source, u) }},
	} {
		name := x.sections[s.kind]
		if name == "" {
			continue
		}
		x.log.Info(s.title, "from", x.o.From, "to", x.o.To)
		u, err := w.Unit(name)
		if err != nil {
			return err
		}
		if err := s.copy(u); err != nil {
			return errors.Join(err, u.Discard())
		}
		root, err := u.Close()
		if err != nil {
			return err
		}
		fmt.Fprintf(x.out, "- %s hash: 0x%x \n", s.result, root)
	}
	return nil
}

func (x *genesisExport) epochs(source genesis.Source, u *genesis.UnitWriter) error {
	for r, err := range source.Epochs() {
		if err = errors.Join(err, x.ctx.Err()); err != nil {
			return err
		}
		if err := u.Epoch(r); err != nil {
			return err
		}
	}
	return nil
}

// blocks writes the blocks. A section that continues another one has those of the epoch
// before the first, too, but for the last one of the section that it continues (go-opera,
// cmd/opera/launcher/genesiscmd.go).
func (x *genesisExport) blocks(u *genesis.UnitWriter) error {
	o, first := x.o, inter.BlockNumber(0)
	if x.sections[genesis.Blocks] != genesis.Blocks {
		o.From--
		record, err := x.view.EpochRecord(o.From)
		if err != nil {
			return err
		}
		if record != nil {
			first = record.State.BlockState.LastBlock.Number + 1
		}
	}
	source, err := x.view.Genesis(o)
	if err != nil {
		return err
	}
	p := nodeupkeep.NewProgress(x.log, "Exporting blocks", progressEvery)
	defer p.End()
	var total, done uint64
	for r, err := range source.Blocks() {
		if err = errors.Join(err, x.ctx.Err()); err != nil {
			return err
		}
		if r.Number < first {
			break
		}
		if total == 0 {
			total = uint64(r.Number)
		}
		if err := u.Block(r); err != nil {
			return err
		}
		done++
		p.Items(done, total, "last", r.Number)
	}
	return nil
}

func (x *genesisExport) items(source genesis.Source, u *genesis.UnitWriter) error {
	p := nodeupkeep.NewProgress(x.log, "Exporting EVM data", progressEvery)
	defer p.End()
	var done uint64
	for item, err := range source.Items() {
		if err = errors.Join(err, x.ctx.Err()); err != nil {
			return err
		}
		if err := u.Item(item); err != nil {
			return err
		}
		done++
		p.Items(done, 0, "items", done)
	}
	return nil
}
