// Package clienttest lets the programs that people use (eosjs, WharfKit, pyntelope,
// eos-go, cleos) work on a chain of ours and on one of a real nodeos, made by the same steps,
// and compares all that they see: status, headers and bodies of the answers, with the
// order of their members and the forms of their values, and what the program makes of
// them. Clients of state history are let read a chain that both nodes have, while it
// grows, forks, and stands still.
//
// It owns the programs' scripts, in the folders js/, py/ and go/, the contract in exhibit/
// that they call, and the list of what may differ, each with its reason. It is only
// tests; TARN_CLIENTS=1 runs them (docs/testing/antelope.md). What cannot be installed
// is skipped.
package clienttest
