package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tarn/internal/didyoumean"
)

// Plugins are the plugins that are enabled, by their full names (eosio::...), each
// after those that it requires.
type Plugins []string

// Enabled tells whether a plugin is.
func (p Plugins) Enabled(name string) bool {
	for _, n := range p {
		if n == name {
			return true
		}
	}
	return false
}

// requirements lists the plugins of nodeos with those that each requires.
func requirements() map[string][]string {
	return map[string][]string{
		"chain_plugin":              nil,
		"chain_api_plugin":          {"chain_plugin", "http_plugin"},
		"db_size_api_plugin":        {"http_plugin", "chain_plugin"},
		"http_plugin":               nil,
		"http_client_plugin":        nil,
		"net_plugin":                {"chain_plugin"},
		"net_api_plugin":            {"net_plugin", "http_plugin"},
		"producer_plugin":           {"chain_plugin", "signature_provider_plugin"},
		"producer_api_plugin":       {"producer_plugin", "http_plugin"},
		"prometheus_plugin":         {"http_plugin", "chain_plugin", "producer_plugin", "net_plugin"},
		"resource_monitor_plugin":   {"chain_plugin"},
		"signature_provider_plugin": {"http_client_plugin"},
		"state_history_plugin":      {"chain_plugin"},
		"test_control_plugin":       {"chain_plugin"},
		"test_control_api_plugin":   {"test_control_plugin", "chain_plugin", "http_plugin"},
		"trace_api_plugin":          {"chain_plugin", "http_plugin"},
	}
}

// enable enables what the options name, what that requires, and what every node
// has. The error names all that nobody knows.
func enable(options []string) (Plugins, error) {
	needs := requirements()
	var out Plugins
	var errs []error
	var add func(short string)
	add = func(short string) {
		if out.Enabled("eosio::" + short) {
			return
		}
		for _, n := range needs[short] {
			add(n)
		}
		out = append(out, "eosio::"+short)
	}
	for _, option := range options {
		// One option may name several, with a space, a tab or a comma between them.
		for _, name := range strings.Split(strings.NewReplacer("\t", " ", ",", " ").Replace(option), " ") {
			short, ok := strings.CutPrefix(name, "eosio::")
			if _, known := needs[short]; !ok || !known {
				errs = append(errs, fmt.Errorf("unable to find plugin: %s%s", name, insteadOf(name)))
				continue
			}
			add(short)
		}
	}
	for _, name := range []string{"chain_plugin", "net_plugin", "producer_plugin", "resource_monitor_plugin"} {
		add(name)
	}
	return out, errors.Join(errs...)
}

// insteadOf says what a plugin that nobody knows was once, or may have been meant to be.
func insteadOf(name string) string {
	const prefix = "eosio::"
	short := strings.TrimPrefix(name, prefix)
	if now := appendSuccessor(removedPlugins(), short); now != "" {
		return now
	}
	known := slices.Sorted(maps.Keys(requirements()))
	near := didyoumean.Name(short, known)
	if near == "" && slices.Contains(known, short+"_plugin") {
		near = short + "_plugin"
	}
	if near == "" { // another prefix than eosio::
		_, after, _ := strings.Cut(name, "::")
		near = didyoumean.Name(after, known)
	}
	if near == "" {
		return ""
	}
	return fmt.Sprintf(" (the nearest known one is '%s%s')", prefix, near)
}
