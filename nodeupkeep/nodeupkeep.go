// Package nodeupkeep is what the life of a node is made of whatever its protocol is: when the state
// is saved, how memory is shared out, how far a long piece of work is, who hears of it, how the
// end saves the state, and what helps when a disk or memory ends.
//
// It owns no file, keeps no goroutine after a call, knows no protocol and no engine, and names no option of a
// command line: each ledger's own node has those.
package nodeupkeep
