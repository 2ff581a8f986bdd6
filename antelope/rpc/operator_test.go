package rpc_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/rpc"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/serve"
)

// operator notes what it is told.
type operator struct {
	paused   bool
	options  rpc.RuntimeOptions
	greylist []types.Name
	lists    rpc.Lists
	features []types.Checksum256
	request  rpc.SnapshotRequest
	from     *types.Checksum256
	limit    uint32
	within   time.Duration
	busy     error // of the writer
}

func (o *operator) Paused() bool                                 { return o.paused }
func (o *operator) Pause() error                                 { o.paused = true; return nil }
func (o *operator) Resume() error                                { o.paused = false; return nil }
func (o *operator) RuntimeOptions() (rpc.RuntimeOptions, error)  { return o.options, o.busy }
func (o *operator) SetRuntimeOptions(r rpc.RuntimeOptions) error { o.options = r; return nil }
func (o *operator) Greylist() []types.Name                       { return o.greylist }
func (o *operator) AddGreylist(n []types.Name) error {
	o.greylist = append(o.greylist, n...)
	return nil
}
func (o *operator) RemoveGreylist(n []types.Name) error { o.greylist = nil; return nil }
func (o *operator) Lists() (rpc.Lists, error)           { return o.lists, o.busy }
func (o *operator) SetLists(l rpc.Lists) error          { o.lists = l; return nil }
func (o *operator) IntegrityHash(context.Context) (types.Checksum256, types.Checksum256, error) {
	return types.Checksum256{1}, types.Checksum256{2}, nil
}
func (o *operator) CreateSnapshot(context.Context) (rpc.SnapshotInfo, error) {
	return rpc.SnapshotInfo{HeadID: types.Checksum256{3}, HeadNum: 7, Version: 6, Name: "/a/b.bin"}, nil
}
func (o *operator) ScheduleSnapshot(r rpc.SnapshotRequest) (rpc.SnapshotSchedule, error) {
	o.request = r
	return rpc.SnapshotSchedule{ID: 4, Spacing: 5, Start: 6, End: 4294967295, Description: "d"}, nil
}
func (o *operator) UnscheduleSnapshot(id uint32) (rpc.SnapshotSchedule, error) {
	if id != 4 {
		return rpc.SnapshotSchedule{}, exception.New(exception.SnapshotRequestNotFound, "Snapshot request not found")
	}
	return rpc.SnapshotSchedule{ID: id}, nil
}
func (o *operator) SnapshotRequests() ([]rpc.SnapshotSchedule, error) {
	return []rpc.SnapshotSchedule{{ID: 1, Pending: []rpc.SnapshotInfo{{HeadNum: 2}}}}, o.busy
}
func (o *operator) ScheduledFeatures() ([]types.Checksum256, error) { return o.features, o.busy }
func (o *operator) ScheduleFeatures(f []types.Checksum256) error    { o.features = f; return nil }
func (o *operator) Unapplied(_ context.Context, from *types.Checksum256, limit uint32, within time.Duration) (rpc.Unapplied, error) {
	o.from, o.limit, o.within = from, limit, within
	return rpc.Unapplied{Size: 2, IncomingSize: 1, Transactions: []rpc.UnappliedTransaction{{Type: "incoming_api", FirstAuth: types.N("a"), Size: 9}}, More: &types.Checksum256{5}}, nil
}

func zeros(first string) string {
	return first + "00000000000000000000000000000000000000000000000000000000000000"
}

func TestTheOperatorsCalls(t *testing.T) {
	n := newNode(t, func(s *state.State) {
		for _, name := range []string{"a", "b", "c"} {
			_, err := s.RAMCorrections.Create(types.N(name), state.RAMCorrection{Name: types.N(name), Correction: 5_000_000_000})
			must(t, err)
		}
	})
	op := &operator{}
	n.config.Producer = op
	n.start(serve.Options{})
	const ok = `{"result":"ok"}`
	key := n.maker.Key.Public().String()
	for _, c := range []struct {
		call, ask string
		status    int
		want      string
	}{
		{"paused", ``, 201, `false`},
		{"pause", `{}`, 201, ok},
		{"paused", ``, 201, `true`},
		{"paused", `{"a":1}`, 400, invalidRequest(unparsed)},
		{"resume", ``, 201, ok},
		{"get_runtime_options", ``, 201, `{}`},
		{"update_runtime_options", `{"max_transaction_time":"30","max_irreversible_block_age":-1,"produce_block_offset_ms":null,"greylist_limit":1000}`, 201, ok},
		{"get_runtime_options", ``, 201, `{"max_transaction_time":30,"max_irreversible_block_age":-1,"greylist_limit":1000}`},
		{"update_runtime_options", ``, 400, invalidRequest("A Request body is required")},
		{"update_runtime_options", `{"max_transaction_time":"x"}`, 400, invalidRequest(unparsed)},
		{"add_greylist_accounts", `{"accounts":["a","b"]}`, 201, ok},
		{"get_greylist", ``, 201, `{"accounts":["a","b"]}`},
		{"remove_greylist_accounts", `{"accounts":["a"]}`, 201, ok},
		{"get_greylist", ``, 201, `{"accounts":[]}`},
		{"set_whitelist_blacklist", `{"actor_whitelist":["b","a","a"],"action_blacklist":[["x","y"]],"key_blacklist":["` + key + `"]}`, 201, ok},
		{"get_whitelist_blacklist", ``, 201, `{"actor_whitelist":["a","b"],"actor_blacklist":[],"contract_whitelist":[],"contract_blacklist":[],"action_blacklist":[["x","y"]],"key_blacklist":["` + key + `"]}`},
		{"get_integrity_hash", ``, 201, `{"head_block_id":"` + zeros("01") + `","integrity_hash":"` + zeros("02") + `"}`},
		{"create_snapshot", `whatever`, 201, `{"head_block_id":"` + zeros("03") + `","head_block_num":7,"head_block_time":"1970-01-01T00:00:00.000","version":6,"snapshot_name":"/a/b.bin"}`},
		{"schedule_snapshot", `{"block_spacing":5}`, 201, `{"snapshot_request_id":4,"block_spacing":5,"start_block_num":6,"end_block_num":4294967295,"snapshot_description":"d"}`},
		{"schedule_snapshot", ``, 201, `{"snapshot_request_id":4,"block_spacing":5,"start_block_num":6,"end_block_num":4294967295,"snapshot_description":"d"}`},
		{"schedule_snapshot", `{"snapshot_description":"../../x"}`, 400, body(400, "Invalid Request", exception.InvalidHTTPRequest.Code, exception.InvalidHTTPRequest.Name,
			exception.InvalidHTTPRequest.What, "Unable to parse valid input from POST body")},
		{"unschedule_snapshot", `{"snapshot_request_id":4}`, 201, `{"snapshot_request_id":4,"block_spacing":0,"start_block_num":0,"end_block_num":0,"snapshot_description":""}`},
		{"unschedule_snapshot", `{"snapshot_request_id":5}`, 500, body(500, "Internal Service Error", exception.SnapshotRequestNotFound.Code, exception.SnapshotRequestNotFound.Name,
			exception.SnapshotRequestNotFound.What, "Snapshot request not found")},
		{"get_snapshot_requests", ``, 201, `{"snapshot_requests":[{"snapshot_request_id":1,"block_spacing":0,"start_block_num":0,"end_block_num":0,"snapshot_description":"","pending_snapshots":[` +
			`{"head_block_id":"` + zeros("00") + `","head_block_num":2,"head_block_time":"1970-01-01T00:00:00.000","version":0,"snapshot_name":""}]}]}`},
		{"schedule_protocol_feature_activations", `{"protocol_features_to_activate":["` + zeros("ab") + `"]}`, 201, ok},
		{"get_scheduled_protocol_feature_activations", ``, 201, `{"protocol_features_to_activate":["` + zeros("ab") + `"]}`},
		{"get_account_ram_corrections", `{"limit":2}`, 201, `{"rows":[{"name":"a","ram_correction":"5000000000"},{"name":"b","ram_correction":"5000000000"}],"more":"c"}`},
		{"get_account_ram_corrections", `{"lower_bound":"b","upper_bound":"c","reverse":true}`, 201, `{"rows":[{"name":"c","ram_correction":"5000000000"},{"name":"b","ram_correction":"5000000000"}]}`},
		{"get_unapplied_transactions", `{"lower_bound":"` + zeros("0a") + `","limit":3}`, 200, `{"size":2,"incoming_size":1,"trxs":[{"trx_id":"` + zeros("00") + `","expiration":"1970-01-01T00:00:00",` +
			`"trx_type":"incoming_api","first_auth":"a","first_receiver":"","first_action":"","total_actions":0,"billed_cpu_time_us":0,"size":9}],"more":"` + zeros("05") + `"}`},
	} {
		n.expect("/v1/producer/"+c.call, c.ask, c.status, c.want)
	}
	if op.request.Spacing != nil || op.from == nil || op.from[0] != 10 || op.limit != 3 {
		t.Errorf("asked %+v, from %v, %d", op.request, op.from, op.limit)
	}
	if status, _ := n.ask("/v1/producer/get_unapplied_transactions", `{"time_limit_ms":0}`); status != 200 || op.within != 0 {
		t.Errorf("with no time: %d, %v", status, op.within)
	}
	op.busy = errors.New("the node is stopping")
	for _, call := range []string{"get_runtime_options", "get_whitelist_blacklist", "get_snapshot_requests", "get_scheduled_protocol_feature_activations"} {
		if status, _ := n.ask("/v1/producer/"+call, ``); status != 500 {
			t.Errorf("%s of a writer that is stopping: %d", call, status)
		}
	}
	n.contains("/v1/producer/get_supported_protocol_features", ``, 201, `{"feature_digest":"0ec7e080177b2c02b278d5088611686b49d739925a92d9bfcacd7fc6b74053bd",`+
		`"subjective_restrictions":{"enabled":true,"preactivation_required":false,"earliest_allowed_activation_time":"1970-01-01T00:00:00.000"},`+
		`"description_digest":"64fe7df32e9b86be2b296b3f81dfd527f84e82b98e363bc97e40bc7a83733310","dependencies":[],"protocol_feature_type":"builtin",`+
		`"specification":[{"name":"builtin_feature_codename","value":"PREACTIVATE_FEATURE"}]}`)
}

// peers are one connection.
type peers struct{}

func (peers) Connect(a string) string    { return "added connection " + a }
func (peers) Disconnect(a string) string { return "no known connection for host " + a }
func (peers) Status(a string) (rpc.Connection, bool) {
	return rpc.Connection{Peer: a, Last: rpc.Handshake{Time: 1574265900144000000, Generation: -1}}, a == "known:1"
}
func (p peers) Connections() []rpc.Connection {
	c, _ := p.Status("known:1")
	return []rpc.Connection{c}
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
	n.start(serve.Options{})
	const connection = `{"peer":"known:1","remote_ip":"","remote_port":"","connecting":false,"syncing":false,"is_bp_peer":false,"is_socket_open":false,"is_blocks_only":false,` +
		`"is_transactions_only":false,"last_handshake":{"network_version":0,`
	n.expect("/v1/net/connect", `"host:9876"`, 201, `"added connection host:9876"`)
	n.expect("/v1/net/disconnect", `"host:9876"`, 201, `"no known connection for host host:9876"`)
	n.expect("/v1/net/status", `"x"`, 201, `null`)
	n.contains("/v1/net/status", `"known:1"`, 201, connection)
	n.contains("/v1/net/connections", ``, 201, `[`+connection)
	n.contains("/v1/net/connections", ``, 201, `"time":"1574265900144000000","token":"`+zeros("00")+`","sig":"SIG_K1_1111`)
	n.expect("/v1/net/connect", `{}`, 400, invalidRequest("A Request body is required"))
	n.expect("/v1/net/connect", `{"a":1}`, 400, invalidRequest(unparsed))
	n.expect("/v1/db_size/get", ``, 200, `{"free_bytes":1,"used_bytes":2,"size":3,"indices":[{"index":"c","row_count":1},{"index":"a","row_count":9},{"index":"b","row_count":9}]}`)
	n.expect("/v1/test_control/kill_node_on_producer", `{"producer":"eosio","where_in_sequence":3,"based_on_lib":true}`, 202, `{}`)
	if killed != types.N("eosio") {
		t.Errorf("killed %s", killed)
	}
}

// tracker knows one transaction.
type tracker struct{}

func (tracker) Status(id types.Checksum256) (rpc.Status, rpc.StatusChain) {
	c := rpc.StatusChain{HeadID: types.Checksum256{0, 0, 0, 9}, IrreversibleID: types.Checksum256{0, 0, 0, 8}, EarliestID: types.Checksum256{0, 0, 0, 7}}
	switch id[0] {
	case 1:
		return rpc.Status{State: "IN_BLOCK", BlockID: types.Checksum256{0, 0, 0, 9}, BlockTime: 1_000_000, Expiration: 2_000_000}, c
	case 2:
		return rpc.Status{State: "FAILED", Expiration: 2_000_000}, c
	}
	return rpc.Status{}, c
}

// found is authorised by everything.
type found struct{}

func (found) Accounts(_ *state.View, l []types.PermissionLevel, k []types.PublicKey) (a []rpc.Authorized, err error) {
	for i := range l {
		a = append(a, rpc.Authorized{Account: types.N("x"), Permission: types.N("active"), ByAccount: &l[i], Weight: 1, Threshold: 2})
	}
	for i := range k {
		a = append(a, rpc.Authorized{Account: types.N("x"), Permission: types.N("owner"), ByKey: &k[i], Weight: 1, Threshold: 1})
	}
	return a, nil
}

func TestStatusAndAuthorizers(t *testing.T) {
	n := newNode(t, nil)
	n.config.Finality, n.config.Authorizers = tracker{}, found{}
	n.start(serve.Options{})
	const epoch = `"1970-01-01T00:00:00.000"`
	chain := `"head_number":9,"head_id":"` + zeros("00")[:6] + `09` + zeros("00")[8:] + `","head_timestamp":` + epoch + `,"irreversible_number":8,"irreversible_id":"000000` + `08` + zeros("00")[8:] +
		`","irreversible_timestamp":` + epoch + `,"earliest_tracked_block_id":"00000007` + zeros("00")[8:] + `","earliest_tracked_block_number":7}`
	const path = "/v1/chain/get_transaction_status"
	n.expect(path, `{"id":"`+zeros("01")+`"}`, 200, `{"state":"IN_BLOCK","block_number":9,"block_id":"00000009`+zeros("00")[8:]+`","block_timestamp":"1970-01-01T00:00:01.000","expiration":"1970-01-01T00:00:02.000",`+chain)
	n.expect(path, `{"id":"`+zeros("02")+`"}`, 200, `{"state":"FAILED","expiration":"1970-01-01T00:00:02.000",`+chain)
	n.expect(path, `{"id":"`+zeros("03")+`"}`, 200, `{"state":"UNKNOWN",`+chain)
	n.expect("/v1/chain/get_accounts_by_authorizers", `{"accounts":["bob",{"actor":"al","permission":"p"}],"keys":["`+types.DefaultGenesisKey+`"]}`, 200,
		`{"accounts":[{"account_name":"x","permission_name":"active","authorizing_account":{"actor":"bob","permission":""},"weight":1,"threshold":2},`+
			`{"account_name":"x","permission_name":"active","authorizing_account":{"actor":"al","permission":"p"},"weight":1,"threshold":2},`+
			`{"account_name":"x","permission_name":"owner","authorizing_key":"`+types.DefaultGenesisKey+`","weight":1,"threshold":1}]}`)
}

// No body may crash a call, and every answer is JSON with a status that is known.
func FuzzBody(f *testing.F) {
	for _, s := range []string{``, `{}`, `{"code":"code","scope":"scope","table":"rows","json":true,"index_position":2,"key_type":"i64","lower_bound":"1"}`, packedTrx, `[` + packedTrx + `]`,
		`{"transaction":` + packedTrx + `}`, `{"block_num_or_id":"2"}`, `{"account_name":"payer","abi_hash":"00"}`, `{"timestamp":"2020-01-01T00:00:00","transactions":[{"status":"executed","trx":[0,"00"]}]}`,
		`{"actions":[{"account":"a","data":"00"}]}`, `"a:1"`, `{"accounts":[["a","b"]],"action_blacklist":[["a","b"]]}`, `{"code":"code","symbol":"A","account":"payer"}`} {
		for i := range uint8(60) {
			f.Add(i, s)
		}
	}
	n := tablesNode(f)
	n.config.Transactions, n.config.Finality, n.config.Authorizers, n.config.Producer = &failing{errors.New("no")}, tracker{}, found{}, &operator{}
	n.config.Net, n.config.ReadOnly = peers{}, true
	calls := rpc.New(n.config).Calls()
	f.Fuzz(func(t *testing.T, which uint8, body string) {
		c := calls[int(which)%len(calls)]
		status, answer := c.Handle(&serve.Request{Context: context.Background(), Target: c.Path, Body: body}, nil)
		if status < 200 || status > 503 || len(answer) == 0 {
			t.Fatalf("%s: %d %q", c.Path, status, answer)
		}
	})
}
