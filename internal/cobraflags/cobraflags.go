// Package cobraflags tells cobra of the options of a command that reads its line itself, so
// that manual pages and completions know them. It never parses one.
package cobraflags

import (
	"errors"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Option is one option as its command's help has it.
type Option struct {
	Name, Short string // Short is one letter, or empty
	Value       string // a word for what it takes; empty if it takes nothing
	Default     string // empty for none
	Help        string
}

// Add tells of the options. c must have DisableFlagParsing.
func Add(c *cobra.Command, options []Option) {
	for _, o := range options {
		f := &pflag.Flag{Name: o.Name, Shorthand: o.Short, Usage: o.Help, DefValue: o.Default, Value: shown(o)}
		if o.Value == "" {
			f.NoOptDefVal = "true"
		}
		c.Flags().AddFlag(f)
	}
}

// shown is a value that is told of, and never set.
type shown Option

// String is the value of a switch that nobody turned on, which cobra asks help for.
func (s shown) String() string {
	if s.Value == "" {
		return "false"
	}
	return s.Default
}

func (s shown) Type() string {
	if s.Value == "" {
		return "bool"
	}
	return s.Value
}

var errNotRead = errors.New("the command reads its options itself")

func (s shown) Set(string) error { return errNotRead }
