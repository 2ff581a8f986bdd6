package node

// missing lists what was asked for and this build does not have: better said at the
// start than found out later.
func (s *settings) missing() []string {
	var list []string
	for _, plugin := range []struct{ name, means string }{
		{"eosio::state_history_plugin", "no history is recorded or served"},
		{"eosio::trace_api_plugin", "no traces are recorded or served"},
		{"eosio::test_control_plugin", "kill_node_on_producer is not served"},
	} {
		if s.Plugins.Enabled(plugin.name) {
			list = append(list, plugin.name+" is not in this build: "+plugin.means)
		}
	}
	for _, option := range []struct {
		asked       bool
		name, means string
	}{
		{s.Bool("enable-account-queries"), "enable-account-queries", "get_accounts_by_authorizers is not served"},
		{s.Uint("transaction-retry-max-storage-size-gb") > 0, "transaction-retry-max-storage-size-gb", "transactions are sent once"},
		{s.Uint("transaction-finality-status-max-storage-size-gb") > 0, "transaction-finality-status-max-storage-size-gb", "get_transaction_status is not served"},
	} {
		if option.asked {
			list = append(list, option.name+" is not in this build: "+option.means)
		}
	}
	return list
}
