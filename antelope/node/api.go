package node

import (
	"cmp"
	"context"
	"slices"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/types"
)

// transactions is the writer as the API sees it.
type transactions struct{ p *producer.Producer }

// Transaction implements rpc.Transactions.
func (t transactions) Transaction(ctx context.Context, packed *types.PackedTransaction, o rpc.TransactionOptions) (*types.TransactionTrace, error) {
	kind := map[rpc.Kind]chain.Kind{rpc.Input: chain.Input, rpc.DryRun: chain.DryRun, rpc.ReadOnly: chain.ReadOnly}[o.Kind]
	return t.p.Transaction(ctx, packed, producer.TransactionOptions{Kind: kind, API: true, FailureTrace: o.FailureTrace})
}

// Block implements rpc.Transactions.
func (t transactions) Block(ctx context.Context, b *types.SignedBlock) error {
	return t.p.Block(ctx, b, b.ID())
}

// netAPI is the network as the API sees it.
type netAPI struct{ n *p2p.Network }

// Connect implements rpc.Net.
func (a netAPI) Connect(address string) string { return a.n.Connect(address) }

// Disconnect implements rpc.Net.
func (a netAPI) Disconnect(address string) string { return a.n.Disconnect(address) }

// Status implements rpc.Net.
func (a netAPI) Status(address string) (rpc.Connection, bool) {
	s, ok := a.n.Status(address)
	return connection(&s), ok
}

// Connections implements rpc.Net.
func (a netAPI) Connections() []rpc.Connection {
	list := a.n.Connections()
	out := make([]rpc.Connection, len(list))
	for i := range list {
		out[i] = connection(&list[i])
	}
	return out
}

func connection(s *p2p.Status) rpc.Connection {
	return rpc.Connection{
		Peer: s.Peer, RemoteIP: s.RemoteIP, RemotePort: s.RemotePort, Connecting: s.Connecting, Syncing: s.Syncing,
		BlockProducer: s.BPPeer, Open: s.SocketOpen, BlocksOnly: s.BlocksOnly, TransactionsOnly: s.TransactionsOnly,
		Last: rpc.Handshake(s.LastHandshake),
	}
}

// control is the producer as the API sees it. The writer answers it; it waits no
// longer than that takes, nor longer than the API is served.
type control struct {
	p       *producer.Producer
	serving context.Context
}

// writerTime bounds how long the API waits for the writer.
const writerTime = 30 * time.Second

func (c control) wait() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.serving, writerTime)
}

// Paused implements rpc.Producer.
func (c control) Paused() bool { return c.p.Paused() }

// Pause implements rpc.Producer.
func (c control) Pause() error {
	c.p.Pause()
	return nil
}

// Resume implements rpc.Producer.
func (c control) Resume() error {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.Resume(ctx)
}

// RuntimeOptions implements rpc.Producer.
func (c control) RuntimeOptions() (rpc.RuntimeOptions, error) {
	ctx, cancel := c.wait()
	defer cancel()
	o, err := c.p.RuntimeOptions(ctx)
	return rpc.RuntimeOptions{
		MaxTransactionTime: o.MaxTransactionTime, MaxIrreversibleAge: o.MaxIrreversibleAge,
		ProduceBlockOffsetMS: o.ProduceOffset, SubjectiveLeewayUS: o.Leeway, GreylistLimit: o.GreylistLimit,
	}, err
}

// SetRuntimeOptions implements rpc.Producer.
func (c control) SetRuntimeOptions(o rpc.RuntimeOptions) error {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.SetRuntimeOptions(ctx, producer.RuntimeOptions{
		MaxTransactionTime: o.MaxTransactionTime, MaxIrreversibleAge: o.MaxIrreversibleAge,
		ProduceOffset: o.ProduceBlockOffsetMS, Leeway: o.SubjectiveLeewayUS, GreylistLimit: o.GreylistLimit,
	})
}

// Greylist implements rpc.Producer.
func (c control) Greylist() []types.Name { return c.p.Greylist() }

// AddGreylist implements rpc.Producer.
func (c control) AddGreylist(list []types.Name) error {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.AddGreylist(ctx, list)
}

// RemoveGreylist implements rpc.Producer.
func (c control) RemoveGreylist(list []types.Name) error {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.RemoveGreylist(ctx, list)
}

// Lists implements rpc.Producer.
func (c control) Lists() (rpc.Lists, error) {
	ctx, cancel := c.wait()
	defer cancel()
	l, err := c.p.Lists(ctx)
	out := rpc.Lists{
		ActorWhitelist: sortedNames(l.ActorWhitelist), ActorBlacklist: sortedNames(l.ActorBlacklist),
		ContractWhitelist: sortedNames(l.ContractWhitelist), ContractBlacklist: sortedNames(l.ContractBlacklist),
	}
	for a := range l.ActionBlacklist {
		out.ActionBlacklist = append(out.ActionBlacklist, rpc.ActionName(a))
	}
	for k := range l.KeyBlacklist {
		out.KeyBlacklist = append(out.KeyBlacklist, k)
	}
	slices.SortFunc(out.ActionBlacklist, func(x, y rpc.ActionName) int {
		return cmp.Or(cmp.Compare(x.Account, y.Account), cmp.Compare(x.Name, y.Name))
	})
	slices.SortFunc(out.KeyBlacklist, types.PublicKey.Compare)
	return out, err
}

// SetLists implements rpc.Producer.
func (c control) SetLists(l rpc.Lists) error {
	ctx, cancel := c.wait()
	defer cancel()
	in := chain.Lists{
		ActorWhitelist: nameSet(l.ActorWhitelist), ActorBlacklist: nameSet(l.ActorBlacklist),
		ContractWhitelist: nameSet(l.ContractWhitelist), ContractBlacklist: nameSet(l.ContractBlacklist),
	}
	if l.ActionBlacklist != nil {
		in.ActionBlacklist = make(map[chain.ActionName]bool, len(l.ActionBlacklist))
		for _, a := range l.ActionBlacklist {
			in.ActionBlacklist[chain.ActionName(a)] = true
		}
	}
	if l.KeyBlacklist != nil {
		in.KeyBlacklist = make(map[types.PublicKey]bool, len(l.KeyBlacklist))
		for _, k := range l.KeyBlacklist {
			in.KeyBlacklist[k] = true
		}
	}
	return c.p.SetLists(ctx, in)
}

// IntegrityHash implements rpc.Producer.
func (c control) IntegrityHash(ctx context.Context) (head, hash types.Checksum256, err error) {
	return c.p.IntegrityHash(ctx)
}

// CreateSnapshot implements rpc.Producer.
func (c control) CreateSnapshot(ctx context.Context) (rpc.SnapshotInfo, error) {
	s, err := c.p.CreateSnapshot(ctx)
	return snapshotInfo(s), err
}

func snapshotInfo(s producer.Snapshot) rpc.SnapshotInfo {
	return rpc.SnapshotInfo{HeadID: s.HeadID, HeadNum: s.HeadNum, HeadTime: s.HeadTime.TimePoint(), Version: s.Version, Name: s.Name}
}

// ScheduleSnapshot implements rpc.Producer.
func (c control) ScheduleSnapshot(r rpc.SnapshotRequest) (rpc.SnapshotSchedule, error) {
	ctx, cancel := c.wait()
	defer cancel()
	var spacing uint32
	var description string
	if r.Spacing != nil {
		spacing = *r.Spacing
	}
	if r.Description != nil {
		description = *r.Description
	}
	s, err := c.p.ScheduleSnapshot(ctx, spacing, r.Start, r.End, description)
	return snapshotSchedule(producer.SnapshotSchedule{SnapshotRequest: s}), err
}

// UnscheduleSnapshot implements rpc.Producer.
func (c control) UnscheduleSnapshot(id uint32) (rpc.SnapshotSchedule, error) {
	ctx, cancel := c.wait()
	defer cancel()
	s, err := c.p.UnscheduleSnapshot(ctx, id)
	return snapshotSchedule(producer.SnapshotSchedule{SnapshotRequest: s}), err
}

// SnapshotRequests implements rpc.Producer.
func (c control) SnapshotRequests() ([]rpc.SnapshotSchedule, error) {
	ctx, cancel := c.wait()
	defer cancel()
	list, err := c.p.SnapshotRequests(ctx)
	out := make([]rpc.SnapshotSchedule, len(list))
	for i, s := range list {
		out[i] = snapshotSchedule(s)
	}
	return out, err
}

func snapshotSchedule(s producer.SnapshotSchedule) rpc.SnapshotSchedule {
	out := rpc.SnapshotSchedule{ID: s.ID, Spacing: s.Spacing, Start: s.Start, End: s.End, Description: s.Description}
	for _, p := range s.Pending {
		out.Pending = append(out.Pending, snapshotInfo(p))
	}
	return out
}

// ScheduledFeatures implements rpc.Producer.
func (c control) ScheduledFeatures() ([]types.Checksum256, error) {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.ScheduledActivations(ctx)
}

// ScheduleFeatures implements rpc.Producer.
func (c control) ScheduleFeatures(list []types.Checksum256) error {
	ctx, cancel := c.wait()
	defer cancel()
	return c.p.ScheduleActivations(ctx, list)
}

// Unapplied implements rpc.Producer.
func (c control) Unapplied(ctx context.Context, from *types.Checksum256, limit uint32, within time.Duration) (rpc.Unapplied, error) {
	ctx, cancel := context.WithTimeout(ctx, writerTime)
	defer cancel()
	page, err := c.p.Unapplied(ctx, from, int(limit), within)
	out := rpc.Unapplied{Size: uint64(page.Size), IncomingSize: uint64(page.Incoming), More: page.More}
	for _, u := range page.Transactions {
		out.Transactions = append(out.Transactions, rpc.UnappliedTransaction{
			ID: u.ID, Expiration: u.Expiration, Type: u.Type, FirstAuth: u.FirstAuth, FirstReceiver: u.FirstReceiver,
			FirstAction: u.FirstAction, TotalActions: uint16(u.Actions), BilledCPU: u.Billed, Size: u.Size,
		})
	}
	return out, err
}
