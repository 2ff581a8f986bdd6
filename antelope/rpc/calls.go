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

func named[G asked](name string, b bodies, answer func(G, []byte) ([]byte, error)) call {
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
		named("get_activated_protocol_features", possible, chain.getActivatedFeatures),
		named("get_block", required, blocks.getBlock),
		named("get_block_info", required, blocks.getBlockInfo),
		named("get_block_header_state", required, blocks.getBlockHeaderState),
		named("get_account", required, accounts.getAccount),
		named("get_code", required, accounts.getCode),
		named("get_code_hash", required, accounts.getCodeHash),
		named("get_consensus_parameters", noParameters, chain.getConsensusParameters),
		named("get_abi", required, accounts.getABI),
		named("get_raw_code_and_abi", required, accounts.getRawCodeAndABI),
		named("get_raw_abi", required, accounts.getRawABI),
		named("get_table_rows", required, tables.getTableRows),
		named("get_table_by_scope", required, tables.getTableByScope),
		named("get_currency_balance", required, tables.getCurrencyBalance),
		named("get_currency_stats", required, tables.getCurrencyStats),
		named("get_producers", required, tables.getProducers),
		named("get_producer_schedule", noParameters, chain.getProducerSchedule),
		named("get_scheduled_transactions", required, transactions.getScheduledTransactions),
		named("get_required_keys", required, transactions.getRequiredKeys),
		call{path: "get_transaction_id", raw: plainTransaction, answer: of(transactions.getTransactionID)},
		named("get_raw_block", required, blocks.getRawBlock),
		named("get_block_header", required, blocks.getBlockHeader),
	)
	list = append(list, group(prefix, Node, http.StatusOK, named("get_info", noParameters, chain.getInfo))...)
	if a.Transactions != nil {
		list = append(list, waiting(group(prefix, ChainRO, http.StatusOK,
			named("compute_transaction", required, transactions.computeTransaction),
			named("send_read_only_transaction", required, transactions.sendReadOnlyTransaction)))...)
		list = append(list, waiting(group(prefix, ChainRW, http.StatusAccepted,
			named("push_transaction", required, transactions.pushTransaction),
			call{path: "push_transactions", bodies: required, most: maxPushed,
				answer: of(transactions.pushTransactions)},
			named("send_transaction", required, transactions.sendTransaction),
			named("send_transaction2", required, transactions.sendTransaction2),
			named("push_block", required, blocks.pushBlock)))...)
	}
	if a.LastVote != nil {
		list = append(list,
			group(prefix, ChainRO, http.StatusOK, named("get_finalizer_info", noParameters, chain.getFinalizerInfo))...)
	}
	if a.Authorizers != nil {
		list = append(list, group(prefix, ChainRO, http.StatusOK,
			named("get_accounts_by_authorizers", required, accounts.getAccountsByAuthorizers))...)
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
			named("connect", requiredText, peers.connect),
			named("disconnect", requiredText, peers.disconnect)),
		group(prefix, NetRO, http.StatusCreated,
			named("status", requiredText, peers.connectionStatus),
			named("connections", noParameters, peers.connections),
			named("bp_gossip_peers", noParameters, peers.bpGossipPeers))...)
}

// anyBody takes whatever comes for no parameters.
func anyBody(string, variant.Limits) (v variant.Value, err error) { return v, nil }

func producerCalls() []call {
	const prefix = "/v1/producer/"
	list := group(prefix, ProducerRO, http.StatusCreated,
		named("paused", noParameters, operator.paused),
		named("get_greylist", noParameters, operator.getGreylist),
		named("get_supported_protocol_features", possible, operator.getSupportedFeatures),
		named("get_account_ram_corrections", required, operator.getRAMCorrections),
	)
	return append(list, waiting(writerCalls(prefix))...)
}

// writerCalls are those that the producer's writer answers.
func writerCalls(prefix string) []call {
	list := group(prefix, ProducerRO, http.StatusCreated,
		named("get_runtime_options", noParameters, operator.getRuntimeOptions),
		named("get_whitelist_blacklist", noParameters, operator.getLists),
		named("get_scheduled_protocol_feature_activations", noParameters, operator.getScheduledFeatures),
		named("get_snapshot_requests", noParameters, operator.getSnapshotRequests))
	list = append(list, group(prefix, ProducerRO, http.StatusOK,
		named("get_unapplied_transactions", possible, operator.getUnapplied))...)
	list = append(list, group(prefix, ProducerRW, http.StatusCreated,
		named("pause", noParameters, operator.pause),
		named("pause_at_block", required, operator.pauseAtBlock),
		named("resume", noParameters, operator.resume),
		named("update_runtime_options", required, operator.updateRuntimeOptions),
		named("add_greylist_accounts", required, operator.addGreylist),
		named("remove_greylist_accounts", required, operator.removeGreylist),
		named("set_whitelist_blacklist", required, operator.setLists),
		named("get_integrity_hash", noParameters, operator.getIntegrityHash),
		named("schedule_protocol_feature_activations", required, operator.scheduleFeatures))...)
	return append(list, group(prefix, Snapshot, http.StatusCreated,
		call{path: "create_snapshot", raw: anyBody, answer: of(operator.createSnapshot)},
		named("schedule_snapshot", possible, operator.scheduleSnapshot),
		named("unschedule_snapshot", required, operator.unscheduleSnapshot))...)
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
