package rpc

import (
	"bytes"
	"sync"
	"sync/atomic"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// codecs keeps the ABIs of accounts, made ready to convert. An entry is good for as
// long as the account's ABI has the same bytes.
type codecs struct {
	entries sync.Map     // types.Name -> *codecEntry
	bytes   atomic.Int64 // as entries count
}

// codecEntry is an account's ABI.
type codecEntry struct {
	raw   []byte
	def   *abi.Def // nil if the account has no ABI
	codec *abi.Codec
	err   error     // why there is no codec
	wrong error     // why the bytes are no ABI
	again time.Time // when it is looked at again, of one that took too long; zero for never
}

// clock limits how long each of several conversions may take. It looks at the time
// only now and then, so that a small one is not blamed for having waited for a
// processor, and costs nothing.
type clock struct {
	limit  time.Duration
	checks int
	start  time.Time // of the measurement; zero before
}

func (c *clock) restart() { c.checks, c.start = 0, time.Time{} }

func (c *clock) expired() bool {
	c.checks++
	if c.checks%checksPerLook != 0 {
		return false
	}
	if c.start.IsZero() {
		c.start = time.Now()
		return false
	}
	return time.Since(c.start) > c.limit
}

// budget returns a budget that each restart fills.
func (c *clock) budget() abi.Budget {
	c.restart()
	return abi.Deadline(c.limit.Microseconds(), c.expired)
}

// abiOf returns the ABI of an account that exists. The error is of bytes that are
// no ABI.
func (a *API) abiOf(v *state.View, n types.Name) (*codecEntry, error) {
	raw, err := v.ABI(n)
	if err != nil {
		return nil, err
	}
	if e, ok := a.codecs.find(n); ok && bytes.Equal(e.raw, raw) {
		return e, e.wrong
	}
	e := &codecEntry{raw: bytes.Clone(raw)}
	if e.def, e.wrong = abi.Decode(e.raw); e.wrong != nil {
		a.codecs.store(n, e)
		return e, e.wrong
	}
	def := e.def
	if def == nil {
		def = &abi.Def{}
	}
	c := clock{limit: a.ABITime}
	if e.codec, e.err = abi.New(def, c.budget()); exception.Is(e.err, exception.ABISerializationDeadline) {
		e.again = time.Now().Add(abiAgain)
	}
	a.codecs.store(n, e)
	return e, nil
}

// find returns what is kept of an account's ABI.
func (c *codecs) find(n types.Name) (*codecEntry, bool) {
	kept, ok := c.entries.Load(n)
	if !ok {
		return nil, false
	}
	e := kept.(*codecEntry) //nolint:forcetypeassert // there are no others
	return e, e.again.IsZero() || time.Now().Before(e.again)
}

func (c *codecs) store(n types.Name, e *codecEntry) {
	more := e.counts()
	if old, loaded := c.entries.Swap(n, e); loaded {
		more -= old.(*codecEntry).counts() //nolint:forcetypeassert // there are no others
	}
	if c.bytes.Add(more) <= maxCodecs {
		return
	}
	// Any half of them: what is used comes back at its next use.
	c.entries.Range(func(k, _ any) bool {
		if e, had := c.entries.LoadAndDelete(k); had {
			c.bytes.Add(-e.(*codecEntry).counts()) //nolint:forcetypeassert // there are no others
		}
		return c.bytes.Load() > maxCodecs/2
	})
}

// counts is how many bytes of an ABI the entry counts for.
func (e *codecEntry) counts() int64 { return codecEach + int64(len(e.raw)) }

// contents returns what converts transactions and traces with the ABIs of a view's
// accounts. ABIs that are wrong count as none.
func (a *API) contents(v *state.View) *abi.Contents {
	c := &clock{limit: a.ABITime}
	known := map[types.Name]*abi.Codec{} // what has been looked at, which may take long for each of many actions
	resolve := func(n types.Name) *abi.Codec {
		codec, ok := known[n]
		if ok {
			return codec
		}
		if e, err := a.abiOf(v, n); err == nil && e.def != nil {
			codec = e.codec
		}
		known[n] = codec
		return codec
	}
	return &abi.Contents{Resolve: resolve, ActionBudget: c.budget}
}

// table returns what the ABI says of a table.
func (e *codecEntry) table(n types.Name) (*abi.TableDef, error) {
	if e.def != nil {
		for i := range e.def.Tables {
			if e.def.Tables[i].Name == n {
				return &e.def.Tables[i], nil
			}
		}
	}
	return nil, exception.New(exception.ContractTableQuery, "Table ${table} is not specified in the ABI", "table", n)
}

// contractABI returns the ABI of a contract, whose account must exist (Leap:
// chain_apis::get_abi).
func (a *API) contractABI(v *state.View, code types.Name) (*codecEntry, error) {
	account, err := v.Accounts.Get(code)
	if err == nil && account == nil {
		err = exception.New(exception.AccountQuery, "Fail to retrieve account for ${account}", "account", code)
	}
	if err != nil {
		return nil, err
	}
	return a.abiOf(v, code)
}
