package rpc

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Producer is what the operator tells the node's producer (producer.Producer). Its methods
// may be called by all goroutines; errors are exceptions. Those that take a context wait for
// the producer's own goroutine, no longer than the context lasts.
type Producer interface {
	// Paused tells whether production is paused.
	Paused() bool
	// Pause stops production from the next block on; the block under way is finished.
	Pause()
	// PauseAtBlock has no block applied or produced after that one, until Resume. It is an error
	// if the head is there already.
	PauseAtBlock(ctx context.Context, num uint32) error
	// Resume ends a pause. Without one it changes nothing.
	Resume(ctx context.Context) error
	// RuntimeOptions returns the present options; nil is what is not set.
	RuntimeOptions(ctx context.Context) (admintypes.RuntimeOptions, error)
	// SetRuntimeOptions replaces those options that are not nil.
	SetRuntimeOptions(ctx context.Context, o admintypes.RuntimeOptions) error
	// Greylist returns the accounts for which only their own stake counts, ascending.
	Greylist() []types.Name
	// AddGreylist puts accounts onto the greylist; those that are there already stay.
	AddGreylist(ctx context.Context, accounts []types.Name) error
	// RemoveGreylist takes accounts off the greylist; those that are not there are no error.
	RemoveGreylist(ctx context.Context, accounts []types.Name) error
	// Lists returns the white- and blacklists, whose maps the caller must not change.
	Lists(ctx context.Context) (execute.Lists, error)
	// SetLists replaces those lists that are not nil.
	SetLists(ctx context.Context, l execute.Lists) error
	// IntegrityHash is of the state at the head.
	IntegrityHash(ctx context.Context) (head, hash types.Checksum256, err error)
	// CreateSnapshot returns when the snapshot has its name.
	CreateSnapshot(ctx context.Context) (admintypes.Snapshot, error)
	// ScheduleSnapshot asks for snapshots of the state after some blocks; nil is what was
	// not said.
	ScheduleSnapshot(ctx context.Context, spacing uint32, start, end *uint32,
		description string) (admintypes.SnapshotRequest, error)
	// UnscheduleSnapshot removes a request, and returns it. An unknown id is an error.
	UnscheduleSnapshot(ctx context.Context, id uint32) (admintypes.SnapshotRequest, error)
	// SnapshotRequests returns the scheduled requests. The slice is the caller's.
	SnapshotRequests(ctx context.Context) ([]admintypes.SnapshotSchedule, error)
	// ScheduledActivations returns the digests of the protocol features that the next block
	// that is produced here activates.
	ScheduledActivations(ctx context.Context) ([]types.Checksum256, error)
	// ScheduleActivations replaces them. A feature that needs preactivation cannot be in the
	// list.
	ScheduleActivations(ctx context.Context, features []types.Checksum256) error
	// Unapplied returns at most limit transactions from one on, nil for the first;
	// fewer if listing them takes longer than within, but one; below 0 is no limit.
	Unapplied(ctx context.Context, from *types.Checksum256, limit int,
		within time.Duration) (admintypes.UnappliedPage, error)
}

// order gives the producer an order, which counts even if whoever gave it has gone since.
func (q operator) order(give func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(q.ctx), writerTime)
	defer cancel()
	return give(ctx)
}

// inquire asks the producer, as order does.
func inquire[T any](q operator, ask func(context.Context) (T, error)) (answer T, err error) {
	err = q.order(func(ctx context.Context) error {
		answer, err = ask(ctx)
		return err
	})
	return answer, err
}

const resultOK = `{"result":"ok"}`

// acknowledge answers a command.
func acknowledge(b []byte, err error) ([]byte, error) { return append(b, resultOK...), err }

func (q operator) paused(b []byte) ([]byte, error) {
	return variant.AppendBool(b, q.api.Producer.Paused()), nil
}

func (q operator) pause(b []byte) ([]byte, error) {
	q.api.Producer.Pause()
	return acknowledge(b, nil)
}

func (q operator) pauseAtBlock(b []byte) ([]byte, error) {
	num := q.uint32("block_num", 0)
	if err := q.end(); err != nil {
		return b, err
	}
	return acknowledge(b, q.order(func(ctx context.Context) error { return q.api.Producer.PauseAtBlock(ctx, num) }))
}

func (q operator) resume(b []byte) ([]byte, error) {
	return acknowledge(b, q.order(q.api.Producer.Resume))
}

func (q operator) getRuntimeOptions(b []byte) ([]byte, error) {
	r, err := inquire(q, q.api.Producer.RuntimeOptions)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{'))
	for _, m := range []struct {
		key string
		v   *int32
	}{
		{"max_transaction_time", r.MaxTransactionTime}, {"max_irreversible_block_age", r.MaxIrreversibleAge},
		{"produce_block_offset_ms", r.ProduceOffset}, {"subjective_cpu_leeway_us", r.Leeway},
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

func (q operator) updateRuntimeOptions(b []byte) ([]byte, error) {
	r := admintypes.RuntimeOptions{
		MaxTransactionTime: q.optionalInt32("max_transaction_time"), MaxIrreversibleAge: q.optionalInt32("max_irreversible_block_age"),
		ProduceOffset: q.optionalInt32("produce_block_offset_ms"), Leeway: q.optionalInt32("subjective_cpu_leeway_us"),
		GreylistLimit: q.optionalUint32("greylist_limit"),
	}
	if err := q.end(); err != nil {
		return b, err
	}
	return acknowledge(b, q.order(func(ctx context.Context) error { return q.api.Producer.SetRuntimeOptions(ctx, r) }))
}

func (q operator) getGreylist(b []byte) ([]byte, error) {
	return append(list(object(append(b, '{')), "accounts", q.api.Producer.Greylist()), '}'), nil
}

func (q operator) changeGreylist(b []byte, change func(context.Context, []types.Name) error) ([]byte, error) {
	names := q.names("accounts")
	if err := q.end(); err != nil {
		return b, err
	}
	return acknowledge(b, q.order(func(ctx context.Context) error { return change(ctx, names) }))
}

func (q operator) addGreylist(b []byte) ([]byte, error) {
	return q.changeGreylist(b, q.api.Producer.AddGreylist)
}

func (q operator) removeGreylist(b []byte) ([]byte, error) {
	return q.changeGreylist(b, q.api.Producer.RemoveGreylist)
}

func (q operator) getLists(b []byte) ([]byte, error) {
	l, err := inquire(q, q.api.Producer.Lists)
	if err != nil {
		return b, err
	}
	o := list(object(append(b, '{')), "actor_whitelist", slices.Sorted(maps.Keys(l.ActorWhitelist)))
	o = list(o, "actor_blacklist", slices.Sorted(maps.Keys(l.ActorBlacklist)))
	o = list(o, "contract_whitelist", slices.Sorted(maps.Keys(l.ContractWhitelist)))
	o = list(o, "contract_blacklist", slices.Sorted(maps.Keys(l.ContractBlacklist)))
	actions := slices.SortedFunc(maps.Keys(l.ActionBlacklist), func(x, y execute.ActionName) int {
		return cmp.Or(cmp.Compare(x.Account, y.Account), cmp.Compare(x.Name, y.Name))
	})
	o = variant.AppendList(variant.AppendKey(o, "action_blacklist"), actions,
		func(b []byte, a *execute.ActionName) []byte {
			b = append(a.Account.AppendJSON(append(b, '[')), ',')
			return append(a.Name.AppendJSON(b), ']')
		})
	return append(list(o, "key_blacklist", slices.SortedFunc(maps.Keys(l.KeyBlacklist), types.PublicKey.Compare)),
		'}'), nil
}

// set reads an optional set of names: nil if it is missing.
func (p *params) set(key string) map[types.Name]bool {
	if _, ok := p.optional(key); !ok {
		return nil
	}
	set := map[types.Name]bool{}
	for _, n := range p.names(key) {
		set[n] = true
	}
	return set
}

func (q operator) setLists(b []byte) ([]byte, error) {
	l := execute.Lists{
		ActorWhitelist: q.set("actor_whitelist"), ActorBlacklist: q.set("actor_blacklist"),
		ContractWhitelist: q.set("contract_whitelist"), ContractBlacklist: q.set("contract_blacklist"),
	}
	if _, ok := q.optional("action_blacklist"); ok {
		l.ActionBlacklist = map[execute.ActionName]bool{}
		q.elements("action_blacklist", func(v variant.Value) error {
			a, err := actionNameOf(v)
			l.ActionBlacklist[a] = true
			return err
		})
	}
	if _, ok := q.optional("key_blacklist"); ok {
		l.KeyBlacklist = map[types.PublicKey]bool{}
		q.elements("key_blacklist", func(v variant.Value) error {
			k, err := keyOf(v)
			l.KeyBlacklist[k] = true
			return err
		})
	}
	if err := q.end(); err != nil {
		return b, err
	}
	return acknowledge(b, q.order(func(ctx context.Context) error { return q.api.Producer.SetLists(ctx, l) }))
}

// actionNameOf reads a pair of an account and an action.
func actionNameOf(v variant.Value) (a execute.ActionName, err error) {
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

func (q operator) getIntegrityHash(b []byte) ([]byte, error) {
	head, hash, err := q.api.Producer.IntegrityHash(q.ctx)
	return append(object(append(b, '{')).json("head_block_id", head).json("integrity_hash", hash), '}'), err
}

func appendSnapshot(b []byte, s *admintypes.Snapshot) []byte {
	o := object(append(b, '{')).json("head_block_id", s.HeadID).uint("head_block_num", uint64(s.HeadNum))
	o = o.json("head_block_time", s.HeadTime).uint("version", uint64(s.Version))
	return append(o.text("snapshot_name", s.Name), '}')
}

func appendRequest(b []byte, s *admintypes.SnapshotRequest) object {
	o := object(append(b, '{')).uint("snapshot_request_id", uint64(s.ID)).uint("block_spacing", uint64(s.Spacing))
	o = o.uint("start_block_num", uint64(s.Start)).uint("end_block_num", uint64(s.End))
	return o.text("snapshot_description", s.Description)
}

func (q operator) createSnapshot(b []byte) ([]byte, error) {
	s, err := q.api.Producer.CreateSnapshot(q.ctx)
	return appendSnapshot(b, &s), err
}

func (q operator) scheduleSnapshot(b []byte) ([]byte, error) {
	spacing, start, end := q.optionalUint32("block_spacing"), q.optionalUint32("start_block_num"),
		q.optionalUint32("end_block_num")
	if spacing == nil {
		spacing = new(uint32)
	}
	description := ""
	if _, ok := q.optional("snapshot_description"); ok {
		description = q.text("snapshot_description", "")
		if slices.Contains(strings.FieldsFunc(description, func(c rune) bool { return c == '/' || c == '\\' }), "..") {
			return b, invalid(exception.New(exception.InvalidHTTPRequest, "snapshot_description ${text} is a path",
				"text", description))
		}
	}
	if err := q.end(); err != nil {
		return b, err
	}
	s, err := inquire(q, func(ctx context.Context) (admintypes.SnapshotRequest, error) {
		return q.api.Producer.ScheduleSnapshot(ctx, *spacing, start, end, description)
	})
	return append(appendRequest(b, &s), '}'), err
}

func (q operator) unscheduleSnapshot(b []byte) ([]byte, error) {
	id := q.uint32("snapshot_request_id", 0)
	if err := q.end(); err != nil {
		return b, err
	}
	s, err := inquire(q, func(ctx context.Context) (admintypes.SnapshotRequest, error) {
		return q.api.Producer.UnscheduleSnapshot(ctx, id)
	})
	return append(appendRequest(b, &s), '}'), err
}

func (q operator) getSnapshotRequests(b []byte) ([]byte, error) {
	requests, err := inquire(q, q.api.Producer.SnapshotRequests)
	if err != nil {
		return b, err
	}
	b = variant.AppendList(append(b, `{"snapshot_requests":`...), requests,
		func(b []byte, s *admintypes.SnapshotSchedule) []byte {
			o := variant.AppendKey(appendRequest(b, &s.SnapshotRequest), "pending_snapshots")
			return append(variant.AppendList(o, s.Pending, appendSnapshot), '}')
		})
	return append(b, '}'), nil
}

func (q operator) getScheduledFeatures(b []byte) ([]byte, error) {
	digests, err := inquire(q, q.api.Producer.ScheduledActivations)
	if err != nil {
		return b, err
	}
	return append(list(object(append(b, '{')), "protocol_features_to_activate", digests), '}'), nil
}

func (q operator) scheduleFeatures(b []byte) ([]byte, error) {
	var digests []types.Checksum256
	q.elements("protocol_features_to_activate", func(v variant.Value) error {
		c, err := checksumOf(v)
		digests = append(digests, c)
		return err
	})
	if err := q.end(); err != nil {
		return b, err
	}
	return acknowledge(b, q.order(func(ctx context.Context) error { return q.api.Producer.ScheduleActivations(ctx, digests) }))
}

func (q operator) getSupportedFeatures(b []byte) ([]byte, error) {
	enabled, activatable := q.boolean("exclude_disabled", false), q.boolean("exclude_unactivatable", false)
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	found := q.api.Features.Supported((head.Header.Timestamp + 1).TimePoint(), enabled, activatable)
	return variant.AppendList(b, found, func(b []byte, f **feature.Feature) []byte {
		return appendFeature(b, *f, nil)
	}), nil
}

func (q operator) getRAMCorrections(b []byte) ([]byte, error) {
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

func (q operator) getUnapplied(b []byte) ([]byte, error) {
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
		id, err := types.ParseChecksum256(lower)
		if err != nil {
			limit = 0 // nodeos finds nothing then
		}
		from = &id
	}
	within := time.Duration(-1)
	if watch.limited {
		within = watch.end.Sub(q.begin)
	}
	ctx, cancel := context.WithTimeout(q.ctx, writerTime)
	defer cancel()
	u, err := q.api.Producer.Unapplied(ctx, from, int(q.itemLimit(limit)), within)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{')).uint("size", uint64(u.Size)).uint("incoming_size", uint64(u.Incoming))
	o = variant.AppendList(variant.AppendKey(o, "trxs"), u.Transactions, func(b []byte, t *admintypes.Unapplied) []byte {
		o := object(append(b, '{')).json("trx_id", t.ID).json("expiration", t.Expiration).text("trx_type", t.Type)
		o = o.name("first_auth", t.FirstAuth).name("first_receiver", t.FirstReceiver).
			name("first_action", t.FirstAction)
		o = o.uint("total_actions", uint64(uint16(t.Actions))).uint("billed_cpu_time_us", uint64(t.Billed))
		return append(o.uint("size", t.Size), '}')
	})
	more := ""
	if u.More != nil {
		more = u.More.String()
	}
	return append(o.text("more", more), '}'), nil
}
