// Package intrinsic holds the host functions of Leap 5.0: what contracts import from
// the module "env". It owns how arguments are taken from a contract's memory (bounds,
// alignment, aliasing, null), which functions an action may call, what they return
// into that memory, and what is printed. [Functions] is the table that a machine
// links against; [GenesisOf] and package feature say from when on each may be imported.
//
// What functions do to the chain it asks of the chain through [Context]; it holds no
// state, reads no clock and knows no storage.
package intrinsic
