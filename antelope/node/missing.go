package node

// missing lists what was asked for and this build does not have: better said at the
// start than found out later.
func (s *settings) missing() []string {
	var list []string
	for _, plugin := range []struct{ name, means string }{
		{"eosio::state_history_plugin", "no history is recorded or served"},
		{"eosio::trace_api_plugin", "no traces are recorded or served"},
	} {
		if s.Plugins.Enabled(plugin.name) {
			list = append(list, plugin.name+" is not in this build: "+plugin.means)
		}
	}
	return list
}
