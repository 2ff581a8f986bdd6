package config

// removed tells what takes the place of options that nodeos had until some version
// before 5.0.3, by name. A configuration that is carried from release to release still
// has them.
func removed() map[string]string {
	const (
		offset     = "it is gone since Leap 5.0; produce-block-offset-ms says how much earlier the last block of a round is made"
		deferred   = "it is gone since Leap 5.0: deferred transactions have no share of a block of their own; nothing takes its place"
		reversible = "reversible blocks have no database since Leap 3.1, but a file in blocks-dir; nothing takes its place"
		tls        = "the API has no TLS of its own since Leap 4.0; let a proxy have it, with http-server-address behind it"
		client     = "no HTTPS is spoken to keosd since Leap 4.0; signature-provider takes http and unix addresses"
		history    = "the history plugin is gone since Leap 3.1; nothing takes its place"
		rocks      = "it is of EOSIO 2.1 alone; state-engine says what keeps the state"
	)
	return map[string]string{
		"cpu-effort-percent": offset, "last-block-cpu-effort-percent": offset, "produce-time-offset-us": offset, "last-block-time-offset-us": offset,
		"incoming-defer-ratio": deferred, "max-scheduled-transaction-time-per-block-ms": deferred,
		"max-nonprivileged-inline-action-size": "it is gone since Leap 5.0: the chain's own max_inline_action_size is the bound; nothing takes its place",
		"reversible-blocks-db-size-mb":         reversible, "reversible-blocks-db-guard-size-mb": reversible,
		"fix-reversible-blocks": reversible, "import-reversible-blocks": reversible, "export-reversible-blocks": reversible,
		"https-server-address": tls, "https-certificate-chain-file": tls, "https-private-key-file": tls, "https-ecdh-curve": tls,
		"https-client-root-cert": client, "https-client-validate-peers": client,
		"network-version-match": "peers of every version are taken; nothing takes its place",
		"private-key":           "use signature-provider = <public key>=KEY:<private key>",
		"filter-on":             history, "filter-out": history, "filter-transfers": history,
		"snapshot-to-json": "use `tarn nodeos snapshot to-json`",
		"backing-store":    rocks, "persistent-storage-num-threads": rocks, "persistent-storage-max-num-files": rocks,
		"persistent-storage-write-buffer-size-mb": rocks, "persistent-storage-bytes-per-sync": rocks,
		"wallet-dir": "it is keosd's", "unlock-timeout": "it is keosd's",
	}
}

// removedPlugins is the same for plugins, without the eosio:: before them.
func removedPlugins() map[string]string {
	const history = "it is gone since Leap 3.1; nothing takes its place"
	return map[string]string{
		"history_plugin": history, "history_api_plugin": history, "mongo_db_plugin": history,
		"bnet_plugin":  "it is gone since EOSIO 1.7; net_plugin serves peers",
		"login_plugin": "it is gone; nothing takes its place", "txn_test_gen_plugin": "it is gone; nothing takes its place",
		"wallet_plugin": "it is keosd's", "wallet_api_plugin": "it is keosd's",
	}
}

// afterwards adds to an error's text what became of a name, if it was one once.
func afterwards(was map[string]string, name string) string {
	if now := was[name]; now != "" {
		return ": " + now
	}
	return ""
}
