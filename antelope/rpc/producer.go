package rpc

import (
	"context"
	"math"
	"slices"
	"strings"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// RuntimeOptions are a producer's options that can be changed while it runs; nil is
// what is not set, or not to be changed.
type RuntimeOptions struct {
	MaxTransactionTime   *int32 // ms
	MaxIrreversibleAge   *int32 // s
	ProduceBlockOffsetMS *int32
	SubjectiveLeewayUS   *int32
	GreylistLimit        *uint32
}

// ActionName names an action of a contract.
type ActionName struct{ Account, Name types.Name }

// Lists are whom a producer serves, and what it does not execute; nil is a list
// that is not to be changed.
type Lists struct {
	ActorWhitelist, ActorBlacklist       []types.Name
	ContractWhitelist, ContractBlacklist []types.Name
	ActionBlacklist                      []ActionName
	KeyBlacklist                         []types.PublicKey
}

// SnapshotInfo is a snapshot that was made, or waits for its block to become
// irreversible.
type SnapshotInfo struct {
	HeadID   types.Checksum256
	HeadNum  uint32
	HeadTime types.TimePoint
	Version  uint32
	Name     string // path of the file
}

// SnapshotRequest asks for snapshots; nil is what was not said.
type SnapshotRequest struct {
	Spacing, Start, End *uint32
	Description         *string
}

// SnapshotSchedule is a request that was taken.
type SnapshotSchedule struct {
	ID                  uint32
	Spacing, Start, End uint32
	Description         string
	Pending             []SnapshotInfo
}

// UnappliedTransaction is a transaction that waits.
type UnappliedTransaction struct {
	ID            types.Checksum256
	Expiration    types.TimePointSec
	Type          string // forked, aborted, incoming_api, incoming_p2p, dry_run, read_only, unknown
	FirstAuth     types.Name
	FirstReceiver types.Name
	FirstAction   types.Name
	TotalActions  uint16
	BilledCPU     uint32 // us
	Size          uint64 // bytes
}

// Unapplied is a part of the transactions that wait.
type Unapplied struct {
	Size, IncomingSize uint64
	Transactions       []UnappliedTransaction
	More               *types.Checksum256 // the one after the last of these
}

// Producer is what the operator tells the node's producer. Its methods may be
// called by all goroutines; errors are exceptions.
type Producer interface {
	Paused() bool
	Pause() error
	Resume() error
	RuntimeOptions() (RuntimeOptions, error)
	SetRuntimeOptions(RuntimeOptions) error
	Greylist() []types.Name
	AddGreylist([]types.Name) error
	RemoveGreylist([]types.Name) error
	Lists() (Lists, error)
	SetLists(Lists) error
	// IntegrityHash is of the state at the head.
	IntegrityHash(ctx context.Context) (head, hash types.Checksum256, err error)
	// CreateSnapshot returns when the snapshot has its name.
	CreateSnapshot(ctx context.Context) (SnapshotInfo, error)
	ScheduleSnapshot(SnapshotRequest) (SnapshotSchedule, error)
	UnscheduleSnapshot(id uint32) (SnapshotSchedule, error)
	SnapshotRequests() ([]SnapshotSchedule, error)
	ScheduledFeatures() ([]types.Checksum256, error)
	ScheduleFeatures([]types.Checksum256) error
	// Unapplied returns at most limit transactions from one on, nil for the first;
	// fewer if listing them takes longer than within, but one; below 0 is no limit.
	Unapplied(ctx context.Context, from *types.Checksum256, limit uint32, within time.Duration) (Unapplied, error)
}

const resultOK = `{"result":"ok"}`

// done answers a command.
func done(b []byte, err error) ([]byte, error) { return append(b, resultOK...), err }

func (q *query) paused(b []byte) ([]byte, error) {
	return variant.AppendBool(b, q.api.Producer.Paused()), nil
}

func (q *query) pause(b []byte) ([]byte, error)  { return done(b, q.api.Producer.Pause()) }
func (q *query) resume(b []byte) ([]byte, error) { return done(b, q.api.Producer.Resume()) }

func (q *query) getRuntimeOptions(b []byte) ([]byte, error) {
	r, err := q.api.Producer.RuntimeOptions()
	if err != nil {
		return b, err
	}
	o := object(append(b, '{'))
	for _, m := range []struct {
		key string
		v   *int32
	}{
		{"max_transaction_time", r.MaxTransactionTime}, {"max_irreversible_block_age", r.MaxIrreversibleAge},
		{"produce_block_offset_ms", r.ProduceBlockOffsetMS}, {"subjective_cpu_leeway_us", r.SubjectiveLeewayUS},
	} {
		if m.v != nil {
			o = o.int(m.key, int64(*m.v))
		}
	}
	if r.GreylistLimit != nil {
		o = o.uint("greylist_limit", uint64(*r.GreylistLimit))
	}
	return append(o, '}'), nil
}

func (q *query) updateRuntimeOptions(b []byte) ([]byte, error) {
	r := RuntimeOptions{
		MaxTransactionTime: q.optionalInt32("max_transaction_time"), MaxIrreversibleAge: q.optionalInt32("max_irreversible_block_age"),
		ProduceBlockOffsetMS: q.optionalInt32("produce_block_offset_ms"), SubjectiveLeewayUS: q.optionalInt32("subjective_cpu_leeway_us"),
		GreylistLimit: q.optionalUint32("greylist_limit"),
	}
	if err := q.end(); err != nil {
		return b, err
	}
	return done(b, q.api.Producer.SetRuntimeOptions(r))
}

func (q *query) getGreylist(b []byte) ([]byte, error) {
	return append(list(object(append(b, '{')), "accounts", q.api.Producer.Greylist()), '}'), nil
}

func (q *query) changeGreylist(b []byte, change func([]types.Name) error) ([]byte, error) {
	names := q.names("accounts")
	if err := q.end(); err != nil {
		return b, err
	}
	return done(b, change(names))
}

func (q *query) addGreylist(b []byte) ([]byte, error) {
	return q.changeGreylist(b, q.api.Producer.AddGreylist)
}

func (q *query) removeGreylist(b []byte) ([]byte, error) {
	return q.changeGreylist(b, q.api.Producer.RemoveGreylist)
}

func (q *query) getLists(b []byte) ([]byte, error) {
	l, err := q.api.Producer.Lists()
	if err != nil {
		return b, err
	}
	o := list(object(append(b, '{')), "actor_whitelist", l.ActorWhitelist)
	o = list(list(o, "actor_blacklist", l.ActorBlacklist), "contract_whitelist", l.ContractWhitelist)
	o = list(o, "contract_blacklist", l.ContractBlacklist)
	o = variant.AppendList(variant.AppendKey(o, "action_blacklist"), l.ActionBlacklist, func(b []byte, a *ActionName) []byte {
		b = append(a.Account.AppendJSON(append(b, '[')), ',')
		return append(a.Name.AppendJSON(b), ']')
	})
	return append(list(o, "key_blacklist", l.KeyBlacklist), '}'), nil
}

// set reads an optional set of names: nil if it is missing.
func (p *params) set(key string) []types.Name {
	if _, ok := p.optional(key); !ok {
		return nil
	}
	names := p.names(key)
	slices.Sort(names)
	return append([]types.Name{}, slices.Compact(names)...)
}

func (q *query) setLists(b []byte) ([]byte, error) {
	l := Lists{
		ActorWhitelist: q.set("actor_whitelist"), ActorBlacklist: q.set("actor_blacklist"),
		ContractWhitelist: q.set("contract_whitelist"), ContractBlacklist: q.set("contract_blacklist"),
	}
	if _, ok := q.optional("action_blacklist"); ok {
		l.ActionBlacklist = []ActionName{}
		q.elements("action_blacklist", func(v variant.Value) error {
			a, err := actionNameOf(v)
			l.ActionBlacklist = append(l.ActionBlacklist, a)
			return err
		})
	}
	if _, ok := q.optional("key_blacklist"); ok {
		l.KeyBlacklist = []types.PublicKey{}
		q.elements("key_blacklist", func(v variant.Value) error {
			k, err := keyOf(v)
			l.KeyBlacklist = append(l.KeyBlacklist, k)
			return err
		})
	}
	if err := q.end(); err != nil {
		return b, err
	}
	return done(b, q.api.Producer.SetLists(l))
}

// actionNameOf reads a pair of an account and an action.
func actionNameOf(v variant.Value) (a ActionName, err error) {
	pair, err := v.Elements()
	if err != nil {
		return a, err
	}
	for i, to := range []*types.Name{&a.Account, &a.Name} {
		if i < len(pair) && err == nil {
			*to, err = nameOf(pair[i])
		}
	}
	return a, err
}

func (q *query) getIntegrityHash(b []byte) ([]byte, error) {
	head, hash, err := q.api.Producer.IntegrityHash(q.ctx)
	return append(object(append(b, '{')).json("head_block_id", head).json("integrity_hash", hash), '}'), err
}

func (s *SnapshotInfo) append(b []byte) []byte {
	o := object(append(b, '{')).json("head_block_id", s.HeadID).uint("head_block_num", uint64(s.HeadNum))
	o = o.json("head_block_time", s.HeadTime).uint("version", uint64(s.Version))
	return append(o.text("snapshot_name", s.Name), '}')
}

func (s *SnapshotSchedule) append(b []byte) object {
	o := object(append(b, '{')).uint("snapshot_request_id", uint64(s.ID)).uint("block_spacing", uint64(s.Spacing))
	o = o.uint("start_block_num", uint64(s.Start)).uint("end_block_num", uint64(s.End))
	return o.text("snapshot_description", s.Description)
}

func (q *query) createSnapshot(b []byte) ([]byte, error) {
	s, err := q.api.Producer.CreateSnapshot(q.ctx)
	return s.append(b), err
}

func (q *query) scheduleSnapshot(b []byte) ([]byte, error) {
	r := SnapshotRequest{Spacing: q.optionalUint32("block_spacing"), Start: q.optionalUint32("start_block_num"), End: q.optionalUint32("end_block_num")}
	if _, ok := q.optional("snapshot_description"); ok {
		s := q.text("snapshot_description", "")
		r.Description = &s
		if slices.Contains(strings.FieldsFunc(s, func(c rune) bool { return c == '/' || c == '\\' }), "..") {
			return b, invalid(exception.New(exception.InvalidHTTPRequest, "snapshot_description %s is a path", s))
		}
	}
	if err := q.end(); err != nil {
		return b, err
	}
	s, err := q.api.Producer.ScheduleSnapshot(r)
	return append(s.append(b), '}'), err
}

func (q *query) unscheduleSnapshot(b []byte) ([]byte, error) {
	id := q.uint32("snapshot_request_id", 0)
	if err := q.end(); err != nil {
		return b, err
	}
	s, err := q.api.Producer.UnscheduleSnapshot(id)
	return append(s.append(b), '}'), err
}

func (q *query) getSnapshotRequests(b []byte) ([]byte, error) {
	requests, err := q.api.Producer.SnapshotRequests()
	if err != nil {
		return b, err
	}
	b = variant.AppendList(append(b, `{"snapshot_requests":`...), requests, func(b []byte, s *SnapshotSchedule) []byte {
		o := variant.AppendKey(s.append(b), "pending_snapshots")
		return append(variant.AppendList(o, s.Pending, func(b []byte, p *SnapshotInfo) []byte { return p.append(b) }), '}')
	})
	return append(b, '}'), nil
}

func (q *query) getScheduledFeatures(b []byte) ([]byte, error) {
	digests, err := q.api.Producer.ScheduledFeatures()
	if err != nil {
		return b, err
	}
	return append(list(object(append(b, '{')), "protocol_features_to_activate", digests), '}'), nil
}

func (q *query) scheduleFeatures(b []byte) ([]byte, error) {
	var digests []types.Checksum256
	q.elements("protocol_features_to_activate", func(v variant.Value) error {
		c, err := checksumOf(v)
		digests = append(digests, c)
		return err
	})
	if err := q.end(); err != nil {
		return b, err
	}
	return done(b, q.api.Producer.ScheduleFeatures(digests))
}

func (q *query) getSupportedFeatures(b []byte) ([]byte, error) {
	enabled, activatable := q.boolean("exclude_disabled", false), q.boolean("exclude_unactivatable", false)
	if err := q.end(); err != nil {
		return b, err
	}
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	next := (head.Header.Timestamp + 1).TimePoint()
	visited := map[types.Checksum256]bool{}
	var found []*feature.Feature
	var add func(f *feature.Feature) bool
	add = func(f *feature.Feature) bool {
		if f == nil || (enabled || activatable) && !f.Enabled || activatable && next < f.EarliestActivation {
			return false
		}
		if ok, seen := visited[f.Digest]; seen {
			return ok
		}
		visited[f.Digest] = false
		mark := len(found)
		for _, d := range f.Dependencies {
			if !add(q.api.Features.Find(d)) {
				found = found[:mark]
				return false
			}
		}
		visited[f.Digest] = true
		found = append(found, f)
		return true
	}
	for _, f := range q.api.Features.All() {
		add(f)
	}
	return variant.AppendList(b, found, func(b []byte, f **feature.Feature) []byte { return appendFeature(b, *f, nil) }), nil
}

func (q *query) getRAMCorrections(b []byte) ([]byte, error) {
	lower, upper := q.optionalName("lower_bound"), q.optionalName("upper_bound")
	limit, reverse := q.uint32("limit", 10), q.boolean("reverse", false)
	if err := q.end(); err != nil {
		return b, err
	}
	low, high := types.Name(0), types.Name(math.MaxUint64)
	if lower != nil {
		low = *lower
	}
	if upper != nil {
		high = *upper
	}
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	from := low
	if reverse {
		from = high
	}
	o := object(append(b, `{"rows":[`...))
	first := len(o)
	var more *types.Name
	err = v.RAMCorrections.Walk(from, reverse, func(r *state.RAMCorrection) (bool, error) {
		if r.Name < low || r.Name > high {
			return false, nil
		}
		if limit == 0 {
			more = &r.Name
			return false, nil
		}
		limit--
		if len(o) > first {
			o = append(o, ',')
		}
		o = append(append(o, '{').name("name", r.Name).uint("ram_correction", r.Correction), '}')
		return true, nil
	})
	o = append(o, ']')
	if more != nil {
		o = o.name("more", *more)
	}
	return append(o, '}'), err
}

func (q *query) getUnapplied(b []byte) ([]byte, error) {
	lower, limit := q.text("lower_bound", ""), uint32(100)
	if v, ok := q.find("limit"); ok {
		limit = math.MaxUint32
		if !v.IsNull() {
			limit = q.uint32("limit", 100)
		}
	}
	watch := q.timeLimit(q.optionalUint32("time_limit_ms"))
	if err := q.end(); err != nil {
		return b, err
	}
	var from *types.Checksum256
	if lower != "" {
		id, err := types.ParseChecksum256(strings.TrimSpace(lower))
		if err != nil {
			limit = 0 // nodeos finds nothing then
		}
		from = &id
	}
	within := time.Duration(-1)
	if watch.limited {
		within = watch.end.Sub(q.begin)
	}
	u, err := q.api.Producer.Unapplied(q.ctx, from, q.itemLimit(limit), within)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{')).uint("size", u.Size).uint("incoming_size", u.IncomingSize)
	o = variant.AppendList(variant.AppendKey(o, "trxs"), u.Transactions, func(b []byte, t *UnappliedTransaction) []byte {
		o := object(append(b, '{')).json("trx_id", t.ID).json("expiration", t.Expiration).text("trx_type", t.Type)
		o = o.name("first_auth", t.FirstAuth).name("first_receiver", t.FirstReceiver).name("first_action", t.FirstAction)
		o = o.uint("total_actions", uint64(t.TotalActions)).uint("billed_cpu_time_us", uint64(t.BilledCPU))
		return append(o.uint("size", t.Size), '}')
	})
	more := ""
	if u.More != nil {
		more = u.More.String()
	}
	return append(o.text("more", more), '}'), nil
}
