package rpc

import (
	"cmp"
	"net/http"
	"slices"

	"tarn/antelope/rpc/nodeoshttp"
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
		list = append(list,
			call{path: "/v1/db_size/get", category: DBSize, status: http.StatusOK, answer: of(operator.getSize)})
	}
	if a.Metrics != nil {
		list = append(list, call{path: "/v1/prometheus/metrics", category: Prometheus, status: http.StatusOK,
			answer: of(operator.metrics)})
	}
	if a.Kill != nil {
		list = append(list, call{path: "/v1/test_control/kill_node_on_producer", category: TestControl,
			status: http.StatusAccepted, bodies: required, answer: of(operator.kill)})
	}
	return list
}

// group makes the calls of a category that have the same status.
func group(prefix string, c nodeoshttp.Category, status int, calls ...call) []call {
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

// taking marks calls that take transactions or blocks of strangers, and wait for what becomes of them.
func taking(calls []call) []call {
	for i := range calls {
		calls[i].takes = true
	}
	return waiting(calls)
}

func newCall[G asked](name string, b bodies, answer func(G, []byte) ([]byte, error)) call {
	return call{path: name, bodies: b, answer: of(answer)}
}

// of makes a method of what is asked the answer of a call.
func of[G asked](answer func(G, []byte) ([]byte, error)) func(*query, []byte) ([]byte, error) {
	return func(q *query, b []byte) ([]byte, error) { return answer(G{q}, b) }
}

func (a *API) chainCalls() []call {
	const prefix = "/v1/chain/"
	if a.Chain == nil {
		return nil
	}
	list := group(prefix, ChainRO, http.StatusOK,
		newCall("get_activated_protocol_features", possible, chain.getActivatedFeatures),
		newCall("get_block", required, blocks.getBlock),
		newCall("get_block_info", required, blocks.getBlockInfo),
		newCall("get_block_header_state", required, blocks.getBlockHeaderState),
		newCall("get_account", required, accounts.getAccount),
		newCall("get_code", required, accounts.getCode),
		newCall("get_code_hash", required, accounts.getCodeHash),
		newCall("get_consensus_parameters", noParameters, chain.getConsensusParameters),
		newCall("get_abi", required, accounts.getABI),
		newCall("get_raw_code_and_abi", required, accounts.getRawCodeAndABI),
		newCall("get_raw_abi", required, accounts.getRawABI),
		newCall("get_table_rows", required, tables.getTableRows),
		newCall("get_table_by_scope", required, tables.getTableByScope),
		newCall("get_currency_balance", required, tables.getCurrencyBalance),
		newCall("get_currency_stats", required, tables.getCurrencyStats),
		newCall("get_producers", required, tables.getProducers),
		newCall("get_producer_schedule", noParameters, chain.getProducerSchedule),
		newCall("get_scheduled_transactions", required, transactions.getScheduledTransactions),
		newCall("get_required_keys", required, transactions.getRequiredKeys),
		call{path: "get_transaction_id", raw: plainTransaction, answer: of(transactions.getTransactionID)},
		newCall("get_raw_block", required, blocks.getRawBlock),
		newCall("get_block_header", required, blocks.getBlockHeader),
	)
	list = append(list, group(prefix, Node, http.StatusOK, newCall("get_info", noParameters, chain.getInfo))...)
	if a.Transactions != nil {
		list = append(list, taking(group(prefix, ChainRO, http.StatusOK,
			newCall("compute_transaction", required, transactions.computeTransaction),
			newCall("send_read_only_transaction", required, transactions.sendReadOnlyTransaction)))...)
		list = append(list, taking(group(prefix, ChainRW, http.StatusAccepted,
			newCall("push_transaction", required, transactions.pushTransaction),
			call{path: "push_transactions", bodies: required, most: maxPushed,
				answer: of(transactions.pushTransactions)},
			newCall("send_transaction", required, transactions.sendTransaction),
			newCall("send_transaction2", required, transactions.sendTransaction2),
			newCall("push_block", required, blocks.pushBlock)))...)
	}
	if a.LastVote != nil {
		list = append(list,
			group(prefix, ChainRO, http.StatusOK, newCall("get_finalizer_info", noParameters, chain.getFinalizerInfo))...)
	}
	if a.Authorizers != nil {
		list = append(list, group(prefix, ChainRO, http.StatusOK,
			newCall("get_accounts_by_authorizers", required, accounts.getAccountsByAuthorizers))...)
	}
	if a.Finality != nil {
		list = append(list, group(prefix, ChainRO, http.StatusOK,
			call{path: "get_transaction_status", raw: statusBody, answer: of(transactions.getTransactionStatus)})...)
	}
	return list
}

func netCalls() []call {
	const prefix = "/v1/net/"
	return append(
		group(prefix, NetRW, http.StatusCreated,
			newCall("connect", requiredText, peers.connect),
			newCall("disconnect", requiredText, peers.disconnect)),
		group(prefix, NetRO, http.StatusCreated,
			newCall("status", requiredText, peers.connectionStatus),
			newCall("connections", noParameters, peers.connections),
			newCall("bp_gossip_peers", noParameters, peers.bpGossipPeers))...)
}

// anyBody takes whatever comes for no parameters.
func anyBody(string, variant.Limits) (v variant.Value, err error) { return v, nil }

func producerCalls() []call {
	const prefix = "/v1/producer/"
	list := group(prefix, ProducerRO, http.StatusCreated,
		newCall("paused", noParameters, operator.paused),
		newCall("get_greylist", noParameters, operator.getGreylist),
		newCall("get_supported_protocol_features", possible, operator.getSupportedFeatures),
		newCall("get_account_ram_corrections", required, operator.getRAMCorrections),
	)
	return append(list, waiting(writerCalls(prefix))...)
}

// writerCalls are those that the producer's writer answers.
func writerCalls(prefix string) []call {
	list := group(prefix, ProducerRO, http.StatusCreated,
		newCall("get_runtime_options", noParameters, operator.getRuntimeOptions),
		newCall("get_whitelist_blacklist", noParameters, operator.getLists),
		newCall("get_scheduled_protocol_feature_activations", noParameters, operator.getScheduledFeatures),
		newCall("get_snapshot_requests", noParameters, operator.getSnapshotRequests))
	list = append(list, group(prefix, ProducerRO, http.StatusOK,
		newCall("get_unapplied_transactions", possible, operator.getUnapplied))...)
	list = append(list, group(prefix, ProducerRW, http.StatusCreated,
		newCall("pause", noParameters, operator.pause),
		newCall("pause_at_block", required, operator.pauseAtBlock),
		newCall("resume", noParameters, operator.resume),
		newCall("update_runtime_options", required, operator.updateRuntimeOptions),
		newCall("add_greylist_accounts", required, operator.addGreylist),
		newCall("remove_greylist_accounts", required, operator.removeGreylist),
		newCall("set_whitelist_blacklist", required, operator.setLists),
		newCall("get_integrity_hash", noParameters, operator.getIntegrityHash),
		newCall("schedule_protocol_feature_activations", required, operator.scheduleFeatures))...)
	return append(list, group(prefix, Snapshot, http.StatusCreated,
		call{path: "create_snapshot", raw: anyBody, answer: of(operator.createSnapshot)},
		newCall("schedule_snapshot", possible, operator.scheduleSnapshot),
		newCall("unschedule_snapshot", required, operator.unscheduleSnapshot))...)
}

func (q operator) getSize(b []byte) ([]byte, error) {
	s, err := q.api.Size()
	if err != nil {
		return b, err
	}
	slices.SortFunc(s.Tables, func(x, y TableSize) int {
		return cmp.Or(cmp.Compare(x.Rows, y.Rows), cmp.Compare(x.Name, y.Name))
	})
	o := object(append(b, '{')).uint("free_bytes", s.Free).uint("used_bytes", s.Used).uint("size", s.Total)
	o = variant.AppendList(variant.AppendKey(o, "indices"), s.Tables, func(b []byte, t *TableSize) []byte {
		return append(object(append(b, '{')).text("index", t.Name).uint("row_count", t.Rows), '}')
	})
	return append(o, '}'), nil
}

func (q operator) kill(b []byte) ([]byte, error) {
	producer, slot, irreversible := q.name("producer"), q.uint32("where_in_sequence", 0),
		q.boolean("based_on_lib", false)
	if err := q.end(); err != nil {
		return b, err
	}
	q.api.Kill(producer, slot, irreversible)
	return append(b, "{}"...), nil
}
