package config

import (
	"fmt"
	"io"
	"strings"
)

// Help writes the flags, with their defaults.
func Help(w io.Writer, env Environment) {
	c := defaults(env.Home)
	for _, g := range groups(c, new(line)) {
		width := 0
		for _, f := range g.flags {
			width = max(width, len(f.head()))
		}
		fmt.Fprintf(w, "\n%s:\n", g.title)
		for _, f := range g.flags {
			if f.Help == "" {
				continue
			}
			text := f.Help
			if f.Instead != "" {
				text += " (no effect: " + f.Instead + ")"
			}
			if f.value.show != "" {
				text += " (default: " + f.value.show + ")"
			}
			fmt.Fprintf(w, "  %s%s  %s\n", f.head(), strings.Repeat(" ", width-len(f.head())), text)
		}
	}
}

func (f *Flag) head() string {
	switch {
	case f.Name == "help":
		return "--help, -h"
	case f.value.bool:
		return "--" + f.Name
	}
	return "--" + f.Name + " value"
}
