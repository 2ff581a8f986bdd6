package rpc

import (
	"cmp"
	"net/http"
	"slices"

	"tarn/antelope/rpc/dialect"
	"tarn/antelope/variant"
)

// calls returns the endpoints that the configuration has an owner for.
func (a *API) calls() []call {
	list := a.chainCalls()
	if a.Net != nil {
		list = append(list, netCalls()...)
	}
	if a.Producer != nil {
		list = append(list, producerCalls()...)
	}
	if a.Size != nil {
		list = append(list, call{path: "/v1/db_size/get", category: DBSize, status: http.StatusOK, answer: (*query).getSize})
	}
	if a.Metrics != nil {
		list = append(list, call{path: "/v1/prometheus/metrics", category: Prometheus, status: http.StatusOK, answer: (*query).metrics})
	}
	if a.Kill != nil {
		list = append(list, call{path: "/v1/test_control/kill_node_on_producer", category: TestControl, status: http.StatusAccepted, bodies: required, answer: (*query).kill})
	}
	return list
}

// group makes the calls of a category that have the same status.
func group(prefix string, c dialect.Category, status int, calls ...call) []call {
	for i := range calls {
		calls[i].path, calls[i].category, calls[i].status = prefix+calls[i].path, c, status
	}
	return calls
}

// waiting marks calls that may wait for the writer or for blocks.
func waiting(calls []call) []call {
	for i := range calls {
		calls[i].waits = true
	}
	return calls
}

func named(name string, b bodies, answer func(*query, []byte) ([]byte, error)) call {
	return call{path: name, bodies: b, answer: answer}
}

func (a *API) chainCalls() []call {
	const prefix = "/v1/chain/"
	if a.Chain == nil {
		return nil
	}
	list := group(prefix, ChainRO, http.StatusOK,
		named("get_activated_protocol_features", possible, (*query).getActivatedFeatures),
		named("get_block", required, (*query).getBlock),
		named("get_block_info", required, (*query).getBlockInfo),
		named("get_block_header_state", required, (*query).getBlockHeaderState),
		named("get_account", required, (*query).getAccount),
		named("get_code", required, (*query).getCode),
		named("get_code_hash", required, (*query).getCodeHash),
		named("get_consensus_parameters", noParameters, (*query).getConsensusParameters),
		named("get_abi", required, (*query).getABI),
		named("get_raw_code_and_abi", required, (*query).getRawCodeAndABI),
		named("get_raw_abi", required, (*query).getRawABI),
		named("get_table_rows", required, (*query).getTableRows),
		named("get_table_by_scope", required, (*query).getTableByScope),
		named("get_currency_balance", required, (*query).getCurrencyBalance),
		named("get_currency_stats", required, (*query).getCurrencyStats),
		named("get_producers", required, (*query).getProducers),
		named("get_producer_schedule", noParameters, (*query).getProducerSchedule),
		named("get_scheduled_transactions", required, (*query).getScheduledTransactions),
		named("get_required_keys", required, (*query).getRequiredKeys),
		call{path: "get_transaction_id", raw: plainTransaction, answer: (*query).getTransactionID},
		named("get_raw_block", required, (*query).getRawBlock),
		named("get_block_header", required, (*query).getBlockHeader),
	)
	list = append(list, group(prefix, Node, http.StatusOK, named("get_info", noParameters, (*query).getInfo))...)
	if a.Transactions != nil {
		list = append(list, waiting(group(prefix, ChainRO, http.StatusOK,
			named("compute_transaction", required, (*query).computeTransaction),
			named("send_read_only_transaction", required, (*query).sendReadOnlyTransaction)))...)
		list = append(list, waiting(group(prefix, ChainRW, http.StatusAccepted,
			named("push_transaction", required, (*query).pushTransaction),
			call{path: "push_transactions", bodies: required, most: maxPushed, answer: (*query).pushTransactions},
			named("send_transaction", required, (*query).sendTransaction),
			named("send_transaction2", required, (*query).sendTransaction2),
			named("push_block", required, (*query).pushBlock)))...)
	}
	if a.Authorizers != nil {
		list = append(list, group(prefix, ChainRO, http.StatusOK,
			named("get_accounts_by_authorizers", required, (*query).getAccountsByAuthorizers))...)
	}
	if a.Finality != nil {
		list = append(list, group(prefix, ChainRO, http.StatusOK,
			call{path: "get_transaction_status", raw: statusBody, answer: (*query).getTransactionStatus})...)
	}
	return list
}

func netCalls() []call {
	const prefix = "/v1/net/"
	return append(
		group(prefix, NetRW, http.StatusCreated,
			named("connect", requiredText, (*query).connect),
			named("disconnect", requiredText, (*query).disconnect)),
		group(prefix, NetRO, http.StatusCreated,
			named("status", requiredText, (*query).connectionStatus),
			named("connections", noParameters, (*query).connections))...)
}

// anyBody takes whatever comes for no parameters.
func anyBody(string, variant.Limits) (v variant.Value, err error) { return v, nil }

func producerCalls() []call {
	const prefix = "/v1/producer/"
	list := group(prefix, ProducerRO, http.StatusCreated,
		named("paused", noParameters, (*query).paused),
		named("get_greylist", noParameters, (*query).getGreylist),
		named("get_supported_protocol_features", possible, (*query).getSupportedFeatures),
		named("get_account_ram_corrections", required, (*query).getRAMCorrections),
	)
	return append(list, waiting(writerCalls(prefix))...)
}

// writerCalls are those that the producer's writer answers.
func writerCalls(prefix string) []call {
	list := group(prefix, ProducerRO, http.StatusCreated,
		named("get_runtime_options", noParameters, (*query).getRuntimeOptions),
		named("get_whitelist_blacklist", noParameters, (*query).getLists),
		named("get_scheduled_protocol_feature_activations", noParameters, (*query).getScheduledFeatures),
		named("get_snapshot_requests", noParameters, (*query).getSnapshotRequests))
	list = append(list, group(prefix, ProducerRO, http.StatusOK,
		named("get_unapplied_transactions", possible, (*query).getUnapplied))...)
	list = append(list, group(prefix, ProducerRW, http.StatusCreated,
		named("pause", noParameters, (*query).pause),
		named("resume", noParameters, (*query).resume),
		named("update_runtime_options", required, (*query).updateRuntimeOptions),
		named("add_greylist_accounts", required, (*query).addGreylist),
		named("remove_greylist_accounts", required, (*query).removeGreylist),
		named("set_whitelist_blacklist", required, (*query).setLists),
		named("get_integrity_hash", noParameters, (*query).getIntegrityHash),
		named("schedule_protocol_feature_activations", required, (*query).scheduleFeatures))...)
	return append(list, group(prefix, Snapshot, http.StatusCreated,
		call{path: "create_snapshot", raw: anyBody, answer: (*query).createSnapshot},
		named("schedule_snapshot", possible, (*query).scheduleSnapshot),
		named("unschedule_snapshot", required, (*query).unscheduleSnapshot))...)
}

func (q *query) getSize(b []byte) ([]byte, error) {
	s, err := q.api.Size()
	if err != nil {
		return b, err
	}
	slices.SortFunc(s.Tables, func(x, y TableSize) int { return cmp.Or(cmp.Compare(x.Rows, y.Rows), cmp.Compare(x.Name, y.Name)) })
	o := object(append(b, '{')).uint("free_bytes", s.Free).uint("used_bytes", s.Used).uint("size", s.Total)
	o = variant.AppendList(variant.AppendKey(o, "indices"), s.Tables, func(b []byte, t *TableSize) []byte {
		return append(object(append(b, '{')).text("index", t.Name).uint("row_count", t.Rows), '}')
	})
	return append(o, '}'), nil
}

func (q *query) kill(b []byte) ([]byte, error) {
	producer, slot, irreversible := q.name("producer"), q.uint32("where_in_sequence", 0), q.boolean("based_on_lib", false)
	if err := q.end(); err != nil {
		return b, err
	}
	q.api.Kill(producer, slot, irreversible)
	return append(b, "{}"...), nil
}
