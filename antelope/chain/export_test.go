package chain

import (
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
)

// RunInstead makes the chain run code whatever contract an account has, on an engine,
// and n privileged in the pending block.
func (c *Chain) RunInstead(code []byte, n types.Name, interpreter bool) error {
	if err := c.cache.Close(); err != nil {
		return err
	}
	var err error
	if c.cache, err = wasm.NewCache(wasm.Options{Functions: intrinsic.Functions(), Interpreter: interpreter}); err != nil {
		return err
	}
	c.machine = c.cache.NewMachine()
	t := c.blankTransaction()
	t.loadCode = func(types.Checksum256) ([]byte, error) { return code, nil }
	c.spare = t
	m, err := c.editMetadata(n)
	if err == nil {
		m.SetPrivileged(true)
	}
	return err
}
