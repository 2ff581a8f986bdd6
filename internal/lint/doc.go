// Package lint keeps the house rules as tests: who may import whom, how long a
// function and a file may be, what must be documented, what must not occur, and
// which modules the binary may link. It owns the rules and their named
// exceptions, and holds no code that a program could use.
package lint
