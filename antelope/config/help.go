package config

import (
	"fmt"
	"strings"

	"tarn/internal/cobraflags"
)

const (
	helpWidth  = 80
	helpColumn = 40 // where descriptions begin
)

// title is the heading of a part of a group.
func (g *Group) title(commandLine bool) string {
	what := "Config Options"
	if commandLine {
		what = "Command Line Options"
	}
	if g.Plugin == application {
		return g.Plugin + " " + what
	}
	return what + " for " + g.Plugin
}

// part is the options of the file, or the others.
func (g *Group) part(commandLine bool) []Option {
	var list []Option
	for _, o := range g.Options {
		if o.CommandLine == commandLine {
			list = append(list, o)
		}
	}
	return list
}

// help is the text of --help.
func (t *table) help() string {
	var b strings.Builder
	b.WriteString("Application Options:\n")
	for i := range t.groups {
		for _, commandLine := range []bool{false, true} {
			list := t.groups[i].part(commandLine)
			if len(list) == 0 {
				continue
			}
			fmt.Fprintf(&b, "\n%s:\n", t.groups[i].title(commandLine))
			for j := range list {
				list[j].appendHelp(&b)
			}
		}
	}
	b.WriteString("\n")
	return b.String()
}

// description is what --help says of the option.
func (o *Option) description() string {
	if o.Instead != "" {
		return strings.TrimRight(o.Help, "\n") + "\nHas no effect: " + o.Instead + "."
	}
	return o.Help
}

// Synopsis is the option for whoever lists options.
func (o *Option) Synopsis() cobraflags.Option {
	s := cobraflags.Option{Name: o.Name, Short: o.Short, Default: o.Default, Help: o.description()}
	if o.takesValue() {
		s.Value = "arg"
	}
	return s
}

func (o *Option) appendHelp(b *strings.Builder) {
	head := "  --" + o.Name
	if o.Short != "" {
		head = fmt.Sprintf("  -%s [ --%s ]", o.Short, o.Name)
	}
	if o.takesValue() {
		head += " arg"
		if o.Default != "" {
			head += " (=" + o.shownDefault() + ")"
		}
	}
	b.WriteString(head)
	column := len(head)
	if column >= helpColumn {
		b.WriteString("\n")
		column = 0
	}
	for _, paragraph := range strings.Split(strings.TrimRight(o.description(), "\n"), "\n") {
		indent := len(paragraph) - len(strings.TrimLeft(paragraph, " "))
		for _, line := range wrap(strings.TrimLeft(paragraph, " "), helpWidth-helpColumn-indent) {
			b.WriteString(strings.Repeat(" ", helpColumn+indent-column) + line + "\n")
			column = 0
		}
	}
}

// wrap breaks a text at spaces into lines of at most so many bytes, if it can.
func wrap(text string, width int) []string {
	lines := []string{""}
	for _, word := range strings.Fields(text) {
		last := &lines[len(lines)-1]
		switch {
		case *last == "":
			*last = word
		case len(*last)+1+len(word) <= width:
			*last += " " + word
		default:
			lines = append(lines, word)
		}
	}
	return lines
}

// shownDefault is the default as nodeos prints it: paths in quotes.
func (o *Option) shownDefault() string {
	if o.Kind == Path && o.Default != "" {
		return `"` + o.Default + `"`
	}
	return o.Default
}

// defaults is the text of --print-default-config, and of a new config.ini.
func (t *table) defaults() string {
	var b strings.Builder
	for i := range t.groups {
		g := &t.groups[i]
		for _, o := range g.part(false) {
			b.WriteString("# " + strings.ReplaceAll(o.Help, "\n", "\n# "))
			if g.Plugin != application {
				b.WriteString(" (" + g.Plugin + ")")
			}
			shown := o.shownDefault()
			if o.Kind == Switch {
				shown = "false"
			}
			fmt.Fprintf(&b, "\n# %s = %s\n\n", o.Name, shown)
		}
	}
	return b.String()
}
