// Package node is what the life of a node is made of whatever its protocol is: when the state
// is saved, how memory is shared out, how far a long piece of work is, and what helps when a
// disk or memory ends.
//
// It owns no file and no goroutine, knows no protocol and no engine, and names no option of a
// command line: each ledger's own node has those.
package node
