package execute

import (
	"tarn/antelope/types"
	"tarn/antelope/wasm"
	"tarn/antelope/wasm/intrinsic"
)

// RunInstead makes the executor run code whatever contract an account has, on an engine,
// and n privileged in the pending block.
func (e *Executor) RunInstead(code []byte, n types.Name, interpreter bool) error {
	if err := e.shared.cache.Close(); err != nil {
		return err
	}
	var err error
	if e.shared.cache, err = wasm.NewCache(wasm.Options{Functions: intrinsic.Functions(),
		Interpreter: interpreter}); err != nil {
		return err
	}
	e.machine = e.shared.cache.NewMachine()
	t := e.blankTransaction()
	t.loadCode = func(types.Checksum256) ([]byte, error) { return code, nil }
	e.spare = t
	m, err := e.editMetadata(n)
	if err == nil {
		m.SetPrivileged(true)
	}
	return err
}

// RehearsalsMost is how many readers rehearsals have at most.
const RehearsalsMost = rehearsalsMost

// Idle is how many of them have nothing to do.
func (r *Rehearsals) Idle() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.idle)
}

// Failures is how many accounts they know of whom a transaction failed.
func (r *Rehearsals) Failures() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.failed)
}
