package intrinsic

import "tarn/antelope/wasm"

// Work is charged for before it is done, in the units of [wasm.FuelPerTick]: the
// charge looks at the clock whenever so much has come together, and ends the run if
// time is up. So a contract that is late does no more than what one such sum buys,
// whatever it calls. Prices are never part of the chain's rules: they only say how
// often the clock is looked at, and are rather too high than too low.

// price is what a call costs: a sum, and more for each byte of its spans, which are
// taken as if all of them were used. What depends on something else, like a row's
// size, is charged by [Apply.Charge] where that is known.
type price struct {
	call, byte uint32
}

// Sums that a call costs. Whatever costs a whole tick looks at the clock at each call.
const (
	light    = 100    // hardly more than the call
	floating = 400    // arithmetic in software, a hash's beginning
	looking  = 2000   // a row is looked for
	changing = 4000   // a row is changed
	sending  = 10_000 // authority is checked, a structure is decoded
	adding   = 20_000 // points of a curve are added
	long     = wasm.FuelPerTick
)

// Sums that a byte costs.
const (
	writing = 8  // into rows and into what is kept of them for undo
	hashing = 16 // by the slowest hash
)

// textSlice is how many bytes of a text are looked through at a time.
const textSlice = 16 << 10

// Charge takes units for work that is about to be done, and ends the run if time is
// up. The chain calls it where only it knows how much there is to do. It may only be
// called on the goroutine of a host function.
func (a *Apply) Charge(units uint64) {
	if units <= a.fuel {
		a.fuel -= units
		return
	}
	a.fuel = wasm.FuelPerTick
	a.check()()
}
