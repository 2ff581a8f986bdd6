package node

import (
	"fmt"

	"tarn/store"
	"tarn/store/engine"
)

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
	if state.Engine != string(engine.LevelDB) {
		say("it is for leveldb, and the state's engine is "+state.Engine, "state-seek-compaction")
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
