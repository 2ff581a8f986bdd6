package config

import (
	"fmt"
	"io"
	"strings"

	"tarn/internal/cobraflags"
)

// Synopsis is the flags for whoever lists them.
func Synopsis(env Environment) []cobraflags.Option {
	var all []cobraflags.Option
	for _, g := range groups(defaults(env.Home), new(line)) {
		for _, f := range g.flags {
			o := cobraflags.Option{Name: f.Name, Default: f.value.show, Help: f.description()}
			switch {
			case f.Name == "help":
				o.Short = "h"
			case !f.value.bool:
				o.Value = "value"
			}
			if f.Help != "" {
				all = append(all, o)
			}
		}
	}
	return all
}

// description is what --help says of the flag, but for its default.
func (f *Flag) description() string {
	if f.Instead != "" {
		return f.Help + " (no effect: " + f.Instead + ")"
	}
	return f.Help
}

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
			text := f.description()
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
