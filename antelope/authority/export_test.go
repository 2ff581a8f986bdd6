package authority

import "tarn/antelope/types"

// SatisfiedAuthority is [Checker.Satisfied] of an authority that no permission has.
func (c *Checker) SatisfiedAuthority(a *types.Authority, delay int64) (bool, error) {
	c.delay = delay
	c.known.clear()
	return c.authority(a, 0)
}
