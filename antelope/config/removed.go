package config

// removedOptions tells what takes the place of options that nodeos had until some version
// before 5.0.3, by name. A configuration that is carried from release to release still
// has them.
func removedOptions() map[string]string {
	const (
		offset   = "removed in Leap 5.0; produce-block-offset-ms says how much earlier the last block of a round is made"
		deferred = "removed in Leap 5.0: deferred transactions have no share of a block of their own; there is no " +
			"replacement"
		reversible = "since Leap 3.1 reversible blocks are in a file in blocks-dir; there is no replacement"
		tls        = "the API has no TLS of its own since Leap 4.0; let a proxy have it, with http-server-address behind it"
		client     = "HTTPS to keosd is not supported since Leap 4.0; signature-provider takes http and unix addresses"
		history    = "the history plugin was removed in Leap 3.1, no replacement"
		rocks      = "only EOSIO 2.1 has it; state-engine says what keeps the state"
		testing    = "txn_test_gen_plugin was removed in Leap 4.0, no replacement"
		login      = "login_plugin was removed in Leap 4.0, no replacement"
		bnet       = "bnet_plugin was removed in EOSIO 1.7; p2p-listen-endpoint and p2p-peer-address are for peers"
		mongo      = "mongo_db_plugin was removed in EOSIO 2.0; state_history_plugin keeps what indexers read"
		yubihsm    = "it is keosd's; use signature-provider = <public key>=KEOSD:<url>"
		shared     = "removed in EOSIO 1.0; chain-state-db-size-mb bounds the state"
		pending    = "removed in EOSIO 1.0; max-transaction-time says how long a transaction may take"
	)
	return map[string]string{
		"cpu-effort-percent": offset, "last-block-cpu-effort-percent": offset, "produce-time-offset-us": offset,
		"last-block-time-offset-us": offset,
		"incoming-defer-ratio":      deferred, "max-scheduled-transaction-time-per-block-ms": deferred,
		"max-nonprivileged-inline-action-size": "removed in Leap 5.0: the chain's own max_inline_action_size is the " +
			"bound; there is no replacement",
		"reversible-blocks-db-size-mb": reversible, "reversible-blocks-db-guard-size-mb": reversible,
		"fix-reversible-blocks": reversible, "import-reversible-blocks": reversible, "export-reversible-blocks": reversible,
		"https-server-address": tls, "https-certificate-chain-file": tls, "https-private-key-file": tls,
		"https-ecdh-curve":       tls,
		"https-client-root-cert": client, "https-client-validate-peers": client,
		"network-version-match": "peers of every version are taken; there is no replacement",
		"private-key":           "use signature-provider = <public key>=KEY:<private key>",
		"filter-on":             history, "filter-out": history, "filter-transfers": history,
		"snapshot-to-json": "use `tarn nodeos snapshot to-json`",
		"backing-store":    rocks, "persistent-storage-num-threads": rocks, "persistent-storage-max-num-files": rocks,
		"persistent-storage-write-buffer-size-mb": rocks, "persistent-storage-bytes-per-sync": rocks,
		"wallet-dir": "it is keosd's", "unlock-timeout": "it is keosd's",
		"yubihsm-url": yubihsm, "yubihsm-authkey": yubihsm,
		"disable-subjective-billing":         "removed in Leap 5.0; use disable-subjective-p2p-billing and disable-subjective-api-billing",
		"disable-all-subjective-mitigations": "only builds of nodeos for its developers have it; there is no replacement",
		"disable-api-persisted-trx": "removed in Leap 4.0: transactions of the API are not kept until they " +
			"expire; there is no replacement",
		"max-implicit-request": "removed in EOSIO 1.6: peers are told of all blocks and transactions; there is no " +
			"replacement",
		"prometheus-exporter-address": "removed in Leap 5.0; use http-server-address, or http-category-address = " +
			"prometheus,<host:port>",
		"required-participation": "removed in EOSIO 1.0; max-irreversible-block-age stops production on a chain " +
			"that stands",
		"txn-reference-block-lag": testing, "txn-test-gen-threads": testing,
		"txn-test-gen-account-prefix":     testing,
		"txn-test-gen-expiration-seconds": testing, "txn-test-gen-stop-on-push-failed": testing,
		"max-login-requests": login, "max-login-timeout": login,
		"bnet-endpoint": bnet, "bnet-connect": bnet, "bnet-follow-irreversible": bnet, "bnet-no-trx": bnet,
		"bnet-peer-log-format": bnet, "bnet-threads": bnet,
		"mongodb-uri": mongo, "mongodb-queue-size": mongo, "mongodb-abi-cache-size": mongo, "mongodb-wipe": mongo,
		"mongodb-block-start":  mongo,
		"mongodb-store-blocks": mongo, "mongodb-store-block-states": mongo, "mongodb-store-transactions": mongo,
		"mongodb-store-transaction-traces": mongo, "mongodb-store-action-traces": mongo,
		"mongodb-expire-after-seconds": mongo,
		"mongodb-update-via-block-num": mongo, "mongodb-filter-on": mongo, "mongodb-filter-out": mongo,
		"shared-memory-size-mb": shared, "shared-file-size": shared,
		"shared-file-dir":              "removed in EOSIO 1.0; use state-dir",
		"resync-blockchain":            "removed in EOSIO 1.0; use --delete-all-blocks",
		"block-log-dir":                "removed in EOSIO 1.0; use blocks-dir",
		"max-pending-transaction-time": pending, "max-deferred-transaction-time": deferred,
		"listen-endpoint":      "removed in EOSIO 1.0; use p2p-listen-endpoint",
		"remote-endpoint":      "removed in EOSIO 1.0; use p2p-peer-address",
		"public-endpoint":      "removed in EOSIO 1.0; use p2p-server-address",
		"http-server-endpoint": "removed in EOSIO 1.0; use http-server-address",
	}
}

// removedPlugins is the same for plugins, without the eosio:: before them.
func removedPlugins() map[string]string {
	const history = "removed in Leap 3.1, no replacement"
	return map[string]string{
		"history_plugin": history, "history_api_plugin": history, "mongo_db_plugin": history,
		"bnet_plugin":  "removed in EOSIO 1.7; net_plugin serves peers",
		"login_plugin": "removed, no replacement", "txn_test_gen_plugin": "removed, no replacement",
		"wallet_plugin": "it is keosd's", "wallet_api_plugin": "it is keosd's",
	}
}

// appendSuccessor adds to an error's text what became of a name, if it was one once.
func appendSuccessor(was map[string]string, name string) string {
	if now := was[name]; now != "" {
		return ": " + now
	}
	return ""
}
