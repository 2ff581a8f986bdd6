package rpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// operator notes what it is told.
type operator struct {
	paused   bool
	options  admintypes.RuntimeOptions
	greylist []types.Name
	lists    execute.Lists
	features []types.Checksum256
	spacing  uint32
	from     *types.Checksum256
	limit    int
	within   time.Duration
	busy     error // of the writer
}

func (o *operator) Paused() bool                 { return o.paused }
func (o *operator) Pause()                       { o.paused = true }
func (o *operator) Resume(context.Context) error { o.paused = false; return nil }
func (o *operator) PauseAtBlock(_ context.Context, num uint32) error {
	if num < 100 {
		return exception.New(exception.InvalidPauseAtBlock, "Pause at block ${bn} <= chain head ${h}",
			"bn", num, "h", 100)
	}
	return nil
}
func (o *operator) Greylist() []types.Name { return o.greylist }
func (o *operator) RuntimeOptions(context.Context) (admintypes.RuntimeOptions, error) {
	return o.options, o.busy
}
func (o *operator) SetRuntimeOptions(_ context.Context, r admintypes.RuntimeOptions) error {
	o.options = r
	return nil
}
func (o *operator) AddGreylist(_ context.Context, n []types.Name) error {
	o.greylist = append(o.greylist, n...)
	return nil
}
func (o *operator) RemoveGreylist(_ context.Context, n []types.Name) error {
	o.greylist = nil
	return nil
}
func (o *operator) Lists(context.Context) (execute.Lists, error)      { return o.lists, o.busy }
func (o *operator) SetLists(_ context.Context, l execute.Lists) error { o.lists = l; return nil }
func (o *operator) IntegrityHash(context.Context) (types.Checksum256, types.Checksum256, error) {
	return types.Checksum256{1}, types.Checksum256{2}, nil
}
func (o *operator) CreateSnapshot(context.Context) (admintypes.Snapshot, error) {
	return admintypes.Snapshot{HeadID: types.Checksum256{3}, HeadNum: 7, Version: 6, Name: "/a/b.bin"}, nil
}
func (o *operator) ScheduleSnapshot(
	_ context.Context, spacing uint32, start, end *uint32, description string,
) (admintypes.SnapshotRequest, error) {
	o.spacing = spacing
	return admintypes.SnapshotRequest{ID: 4, Spacing: 5, Start: 6, End: 4294967295, Description: "d"}, nil
}
func (o *operator) UnscheduleSnapshot(_ context.Context, id uint32) (admintypes.SnapshotRequest, error) {
	if id != 4 {
		return admintypes.SnapshotRequest{}, exception.New(exception.SnapshotRequestNotFound, "Snapshot request not found")
	}
	return admintypes.SnapshotRequest{ID: id}, nil
}
func (o *operator) SnapshotRequests(context.Context) ([]admintypes.SnapshotSchedule, error) {
	return []admintypes.SnapshotSchedule{{SnapshotRequest: admintypes.SnapshotRequest{ID: 1},
		Pending: []admintypes.Snapshot{{HeadNum: 2}}}}, o.busy
}
func (o *operator) ScheduledActivations(context.Context) ([]types.Checksum256, error) {
	return o.features, o.busy
}
func (o *operator) ScheduleActivations(_ context.Context, f []types.Checksum256) error {
	o.features = f
	return nil
}
func (o *operator) Unapplied(
	_ context.Context, from *types.Checksum256, limit int, within time.Duration,
) (admintypes.UnappliedPage, error) {
	o.from, o.limit, o.within = from, limit, within
	return admintypes.UnappliedPage{Size: 2, Incoming: 1,
		Transactions: []admintypes.Unapplied{{Type: "incoming_api", FirstAuth: types.N("a"), Size: 9}},
		More:         &types.Checksum256{5}}, nil
}

func TestTheOperatorsCalls(t *testing.T) {
	n := newNode(t, func(s *state.State) {
		for _, name := range []string{"a", "b", "c"} {
			_, err := s.RAMCorrections.Create(types.N(name),
				state.RAMCorrection{Name: types.N(name), Correction: 5_000_000_000})
			must(t, err)
		}
	})
	op := &operator{}
	n.config.Producer = op
	n.start(nodeoshttp.Options{})
	n.playOwn("operator.txt") // it changes what it asks about
	if op.spacing != 0 || op.from == nil || op.from[0] != 10 || op.limit != 3 {
		t.Errorf("asked for every %d, from %v, %d", op.spacing, op.from, op.limit)
	}
	if status, _ := n.ask("/v1/producer/get_unapplied_transactions", `{"time_limit_ms":0}`); status != 200 ||
		op.within != 0 {
		t.Errorf("with no time: %d, %v", status, op.within)
	}
	op.busy = errors.New("the node is stopping")
	for _, call := range []string{"get_runtime_options", "get_whitelist_blacklist", "get_snapshot_requests",
		"get_scheduled_protocol_feature_activations"} {
		if status, _ := n.ask("/v1/producer/"+call, ``); status != 500 {
			t.Errorf("%s of a writer that is stopping: %d", call, status)
		}
	}
}

// peers are one connection.
type peers struct{}

func (peers) Connect(a string) string    { return "added connection " + a }
func (peers) Disconnect(a string) string { return "no known connection for host " + a }
func (peers) Status(a string) (admintypes.Connection, bool) {
	return admintypes.Connection{Peer: a, LastVote: 1795747800500000,
		LastHandshake: admintypes.Handshake{Time: 1574265900144000000, Generation: -1}}, a == "known:1"
}
func (p peers) Connections() []admintypes.Connection {
	c, _ := p.Status("known:1")
	return []admintypes.Connection{c}
}

func (peers) GossipPeers() []admintypes.GossipPeer {
	return []admintypes.GossipPeer{{Producer: types.N("prod"), Server: "host:9876", Outbound: "192.0.2.1",
		Expiration: 1583000001}}
}

func TestPeersAreNamedInQuotes(t *testing.T) {
	n := newNode(t, nil)
	n.config.Net = peers{}
	n.config.Size = func() (rpc.Size, error) {
		return rpc.Size{Free: 1, Used: 2, Total: 3, Tables: []rpc.TableSize{{"b", 9}, {"a", 9}, {"c", 1}}}, nil
	}
	var killed types.Name
	n.config.Kill = func(p types.Name, slot uint32, irreversible bool) {
		if slot == 3 && irreversible {
			killed = p
		}
	}
	n.start(nodeoshttp.Options{})
	n.play("peers.txt")
	if killed != types.N("eosio") {
		t.Errorf("killed %s", killed)
	}
}

// tracker knows one transaction.
type tracker struct{}

func (tracker) Status(id types.Checksum256) (rpc.Status, rpc.StatusChain) {
	c := rpc.StatusChain{HeadID: types.Checksum256{0, 0, 0, 9}, IrreversibleID: types.Checksum256{0, 0, 0, 8},
		EarliestID: types.Checksum256{0, 0, 0, 7}}
	switch id[0] {
	case 1:
		return rpc.Status{State: "IN_BLOCK", BlockID: types.Checksum256{0, 0, 0, 9}, BlockTime: 1_000_000,
			Expiration: 2_000_000}, c
	case 2:
		return rpc.Status{State: "FAILED", Expiration: 2_000_000}, c
	}
	return rpc.Status{}, c
}

// found is authorised by everything.
type found struct{}

func (found) Accounts(
	_ *state.View, l []types.PermissionLevel, k []types.PublicKey, _ func(int) error,
) (a []rpc.Authorized, err error) {
	for i := range l {
		a = append(a, rpc.Authorized{Account: types.N("x"), Permission: types.N("active"), ByAccount: &l[i], Weight: 1,
			Threshold: 2})
	}
	for i := range k {
		a = append(a,
			rpc.Authorized{Account: types.N("x"), Permission: types.N("owner"), ByKey: &k[i], Weight: 1, Threshold: 1})
	}
	return a, nil
}

func TestStatusAndAuthorizers(t *testing.T) {
	n := newNode(t, nil)
	n.config.Finality, n.config.Authorizers = tracker{}, found{}
	n.start(nodeoshttp.Options{})
	n.play("status.txt")
}

// No body may crash a call, and every answer is JSON with a status that is known.
func FuzzBody(f *testing.F) {
	for _, s := range []string{``, `{}`,
		`{"code":"code","scope":"scope","table":"rows","json":true,"index_position":2,"key_type":"i64","lower_bound":"1"}`,
		packedTrx,
		`[` + packedTrx + `]`,
		`{"transaction":` + packedTrx + `}`, `{"block_num_or_id":"2"}`, `{"account_name":"payer","abi_hash":"00"}`,
		`{"timestamp":"2020-01-01T00:00:00","transactions":[{"status":"executed","trx":[0,"00"]}]}`,
		`{"actions":[{"account":"a","data":"00"}]}`, `"a:1"`, `{"accounts":[["a","b"]],"action_blacklist":[["a","b"]]}`,
		`{"code":"code","symbol":"A","account":"payer"}`} {
		for i := range uint8(60) {
			f.Add(i, s)
		}
	}
	n := tablesNode(f)
	n.config.Transactions, n.config.Finality, n.config.Authorizers, n.config.Producer = &failing{err: errors.New("no")},
		tracker{}, found{}, &operator{}
	n.config.Net, n.config.ReadOnly = peers{}, true
	calls := rpc.New(n.config).Calls()
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		c := calls[int(which)%len(calls)]
		status, answer := c.Handle(&nodeoshttp.Request{Context: context.Background(), Target: c.Path, Body: body}, nil)
		if status < 200 || status > 503 || len(answer) == 0 {
			t.Fatalf("%s: %d %q", c.Path, status, answer)
		}
	})
}

// A bound with blanks is no id to nodeos, which finds nothing from it on.
func TestABoundWithBlanksIsNone(t *testing.T) {
	n, op := newNode(t, nil), &operator{}
	n.config.Producer = op
	n.start(nodeoshttp.Options{})
	for bound, want := range map[string]int{`0a`: 3, ` 0a`: 0, `0a `: 0, ` `: 0} {
		n.contains("/v1/producer/get_unapplied_transactions", `{"lower_bound":"`+bound+`","limit":3}`, 200, `"size":2`)
		if op.limit != want {
			t.Errorf("%q: %d transactions, want %d", bound, op.limit, want)
		}
	}
}
