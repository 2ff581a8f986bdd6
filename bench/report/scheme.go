package report

import (
	"fmt"
	"strings"
)

// scheme is the colours of a page, or of a picture.
type scheme struct {
	name                                    string
	back, text, faint, line, stripe, accent string
	subjects                                [colours]string
}

func light() scheme {
	return scheme{"light", "#ffffff", "#1b1f24", "#5d6670", "#d8dde3", "#f4f6f8", "#0b6e99",
		[colours]string{"#0b6e99", "#c4432b", "#3a7d34", "#8a4fb5", "#b07d00", "#0f8f86", "#c2317f", "#555555"}}
}

func dark() scheme {
	return scheme{"dark", "#14181c", "#e3e7eb", "#98a2ad", "#323a42", "#1b2127", "#5cc3ea",
		[colours]string{"#5cc3ea", "#ff8b73", "#86d17e", "#c69bea", "#f0c04a", "#5fd6cc", "#ff8ac4", "#bbbbbb"}}
}

// variables are the colours that a page's style calls by name: the dark ones on a screen that asks
// for them.
func variables() string {
	return fmt.Sprintf(":root { %s }\n@media screen and (prefers-color-scheme: dark) {\n:root { %s }\n}\n",
		light().variables(), dark().variables())
}

func (s scheme) variables() string {
	var b strings.Builder
	fmt.Fprintf(&b, "--back: %s; --text: %s; --faint: %s; --line: %s; --stripe: %s; --accent: %s;",
		s.back, s.text, s.faint, s.line, s.stripe, s.accent)
	for i, c := range s.subjects {
		fmt.Fprintf(&b, " --c%d: %s;", i, c)
	}
	return b.String()
}

// style is that of a picture, which has no page around it.
func (s scheme) style() string {
	var b strings.Builder
	fmt.Fprintf(&b, "text { font: 14px system-ui, sans-serif; fill: %s; } .part, .title { font-weight: 600; } "+
		".faint { fill: %s; font-size: 12px; } .range { stroke: %s; stroke-width: 1.5; opacity: .7; } "+
		".article { fill: none; stroke: %s; stroke-dasharray: 4 3; }", s.text, s.faint, s.text, s.faint)
	for i, c := range s.subjects {
		fmt.Fprintf(&b, " .c%d { fill: %s; }", i, c)
	}
	return b.String()
}

// lines are the styles of a picture with curves, besides.
func (s scheme) lines() string {
	var b strings.Builder
	fmt.Fprintf(&b, " .grid { stroke: %s; } .line { fill: none; stroke-width: 2; }", s.line)
	for i, c := range s.subjects {
		fmt.Fprintf(&b, " .c%d-line { stroke: %s; }", i, c)
	}
	return b.String()
}
