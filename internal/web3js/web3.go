// Package web3js holds web3.js 0.20.1 (github.com/ethereum/web3.js, LGPL-3.0), what the
// consoles of Ethereum's nodes speak to a node with: one file with the libraries that it
// needs, as its npm package has it, and its licence.
//
// It owns these files. It knows no console, runs nothing, and changes nothing in the
// library.
package web3js

import _ "embed"

// The library's files. They are constants but for the compiler.
var (
	//go:embed web3.js
	script string
	//go:embed LICENSE
	licence string
)

// Version is the library's.
const Version = "0.20.1"

// Script is the library: JavaScript that defines the global function require, of which
// require("web3") is the library.
func Script() string { return script }

// Licence is the notice of the library's licence.
func Licence() string { return licence }
