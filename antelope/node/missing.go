package node

import (
	"fmt"
	"strings"

	"tarn/store"
	"tarn/store/engine"
)

// missing refuses to start without what was asked for and this build does not have:
// what is not recorded now cannot be had later. An operator who knows may allow it,
// and is told at each start.
func (s *settings) missing() error {
	var list []string
	for _, plugin := range []struct{ name, means string }{
		{"eosio::state_history_plugin", "no history is recorded or served"},
		{"eosio::trace_api_plugin", "no traces are recorded or served"},
	} {
		if s.Plugins.Enabled(plugin.name) {
			list = append(list, plugin.name+" is not in this build: "+plugin.means)
		}
	}
	if len(list) == 0 {
		return nil
	}
	text := strings.Join(list, "; ")
	if !s.Bool("allow-missing-plugins") {
		return badOption("%s. Take the plugin out of the configuration, or set allow-missing-plugins = true to start without it", text)
	}
	s.log.Warn(text + ". The node starts all the same, because of allow-missing-plugins")
	return nil
}

// idle lists the options that were given for another engine, or another map mode,
// than the state has.
func (s *settings) idle(state store.Stats) []string {
	var list []string
	say := func(reason string, options ...string) {
		for _, name := range options {
			if s.Given(name) {
				list = append(list, fmt.Sprintf("%s has no effect: %s", name, reason))
			}
		}
	}
	switch {
	case state.Engine != string(engine.Page):
		say("it is for the page engine, and the state's is "+state.Engine,
			"database-map-mode", "state-private-mb", "chain-state-db-size-mb", "chain-state-db-guard-size-mb")
	case state.Mode != "mapped_private":
		say("it is for database-map-mode = mapped_private, and the state's is "+state.Mode, "state-private-mb")
	}
	return list
}
