package config

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// ignoredKeys are the keys of go-opera's file that are accepted without an effect, or the
// beginnings of such keys, with what happens instead.
func ignoredKeys() map[string]string {
	const (
		engines  = "the store is set by the section Tarn"
		caches   = "the store and the ledger have their own caches"
		protocol = "the node's own limits hold"
	)
	return map[string]string{
		"Node.Name": "the name is go-opera's", "Node.Version": "the version is the program's",
		"Node.USB": "hardware wallets are not supported", "Node.NoUSB": "hardware wallets are not supported",
		"Node.SmartCardDaemonPath": "smart cards are not supported", "Node.ExternalSigner": "keys of the keystore sign",
		"Node.GraphQLCors": "there is no GraphQL", "Node.GraphQLVirtualHosts": "there is no GraphQL",
		"Node.P2P.EnableMsgEvents": "message events are not supported", "Node.P2P.Name": "the name is go-opera's",
		"Node.P2P.DialRatio": protocol, "Node.P2P.NodeDatabase": "it is in the data folder",
		"Node.P2P.PrivateKey": "see --nodekey", "Opera.OperaDiscoveryURLs": "peers are found by discovery",
		"Opera.SnapDiscoveryURLs": "peers are found by discovery", "Opera.Protocol": protocol,
		"Opera.HeavyCheck": "all processors check", "OperaStore": engines, "LachesisStore": caches, "Lachesis": caches,
		"VectorClock": caches, "DBs": engines,
	}
}

// read reads a configuration file into c. A key that go-opera does not know is an error, as
// there.
func (c *Config) read(path string) error {
	failed := func(err error) error {
		return fmt.Errorf("TOML config file error: %s: %w; `opera dumpconfig` shows a file with all keys", path, err)
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		return failed(err)
	}
	bootnodes, bootnodesV5 := c.Node.P2P.BootstrapNodes, c.Node.P2P.BootstrapNodesV5
	meta, err := toml.Decode(string(raw), c)
	if err != nil {
		var at toml.ParseError
		if errors.As(err, &at) {
			return failed(fmt.Errorf("line %d: %w", at.Position.Line, err))
		}
		return failed(err)
	}
	// go-opera writes one empty node where those of the network are meant.
	for nodes, before := range map[*[]string][]string{&c.Node.P2P.BootstrapNodes: bootnodes,
		&c.Node.P2P.BootstrapNodesV5: bootnodesV5} {
		if len(*nodes) == 1 && !strings.Contains((*nodes)[0], "@") {
			*nodes = before
		}
	}
	return c.reportUndecoded(meta, failed)
}

// reportUndecoded says what of a file had no effect, each part of it once, and refuses what
// nobody knows.
func (c *Config) reportUndecoded(meta toml.MetaData, failed func(error) error) error {
	instead, said := ignoredKeys(), []string{}
	var errs []error
	for _, key := range meta.Undecoded() {
		if len(key) > 0 && meta.Type(key...) == "Hash" {
			continue // its keys follow
		}
		name := acceptedKey(instead, key)
		switch {
		case name == "":
			errs = append(errs, failed(fmt.Errorf("field '%s' is not defined in %s",
				key[len(key)-1], strings.Join(key[:len(key)-1], "."))))
		case !slices.Contains(said, name):
			said = append(said, name)
			c.notice(name+" in the file", instead[name])
		}
	}
	return errors.Join(errs...)
}

// acceptedKey returns under what name a key is accepted, "" if it is not.
func acceptedKey(instead map[string]string, key toml.Key) string {
	for n := len(key); n > 0; n-- {
		name := strings.Join(key[:n], ".")
		if _, ok := instead[name]; ok {
			return name
		}
	}
	return ""
}

// Dump writes the configuration as a file.
func (c *Config) Dump(w io.Writer) error {
	e := toml.NewEncoder(w)
	e.Indent = ""
	if err := e.Encode(c); err != nil {
		return fmt.Errorf("write the configuration: %w", err)
	}
	return nil
}
