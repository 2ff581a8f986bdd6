package chaintest

import (
	"errors"

	"tarn/antelope/chain"
	"tarn/antelope/snapshot"
	"tarn/antelope/types"
)

// Hash is the integrity hash of the state that a chain has published.
func Hash(c *chain.Chain) (types.Checksum256, error) {
	v, err := c.View()
	if err != nil {
		return types.Checksum256{}, err
	}
	h, err := snapshot.Hash(v, c.Standing(), snapshot.Options{})
	return h, errors.Join(err, v.Close())
}
