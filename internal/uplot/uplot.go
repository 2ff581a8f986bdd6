// Package uplot holds uPlot 1.6.32 (github.com/leeoniya/uPlot, MIT), which draws curves
// in a browser: as its npm package has it, minified, with its licence.
//
// It owns these files and their way into a page. It knows no series, no page and no
// colours, and changes nothing in the library.
package uplot

import _ "embed"

// The library's files. They are constants but for the compiler.
var (
	//go:embed uPlot.iife.min.js
	script string
	//go:embed uPlot.min.css
	style string
	//go:embed LICENSE
	licence string
)

// Version is the library's.
const Version = "1.6.32"

// notice goes before what is copied into a page: the licence wants to be with each copy.
func notice() string { return "/* uPlot " + Version + "\n" + licence + "\n*/\n" }

// Script is the library with its licence: JavaScript that defines the global uPlot. It has
// no "</script" in it, so it may stand inside a page.
func Script() string { return notice() + script }

// Style is the library's CSS with its licence. It has no "</style" in it.
func Style() string { return notice() + style }
