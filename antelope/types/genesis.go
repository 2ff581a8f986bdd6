package types

import "tarn/antelope/serial"

// DefaultGenesisKey is the key that nodeos is built with by default. Its private
// half is public: it is for development.
const DefaultGenesisKey = "EOS6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5GDW5CV"

// DefaultGenesis returns the genesis of a node that is given none: the default
// key and configuration, 2018-06-01T12:00:00.
func DefaultGenesis() Genesis {
	key, err := ParsePublicKey(DefaultGenesisKey)
	if err != nil { // a constant that a test decodes
		key = PublicKey{}
	}
	return Genesis{
		InitialTimestamp:     TimePoint(1527854400 * 1_000_000),
		InitialKey:           key,
		InitialConfiguration: DefaultChainConfig(),
	}
}

// Append appends the genesis as the chain's id is the hash of.
func (g Genesis) Append(b []byte) []byte {
	return g.InitialConfiguration.AppendV0(g.InitialKey.Append(g.InitialTimestamp.Append(b)))
}

// Read reads a genesis. What the configuration has beyond version 0 gets its
// default.
func (g *Genesis) Read(r *serial.Reader) {
	g.InitialTimestamp.Read(r)
	g.InitialKey.Read(r)
	g.InitialConfiguration = DefaultChainConfig()
	g.InitialConfiguration.ReadV0(r)
}

// ChainID returns the hash of the encoding.
func (g *Genesis) ChainID() Checksum256 { return Hash(g.Append(nil)) }
