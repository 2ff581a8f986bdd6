package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manual is the manual page of c in section 1, in roff's man macros.
func manual(c *cobra.Command, version string, at time.Time) []byte {
	var b bytes.Buffer
	name := pageName(c)
	fmt.Fprintf(&b, ".TH %s 1 %s %s\n.ad l\n", quote(strings.ToUpper(name)), quote(at.UTC().Format(time.DateOnly)),
		quote("tarn "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(name), roff(c.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(c.UseLine()))
	text := c.Long
	if text == "" {
		text = c.Short
	}
	b.WriteString(".SH DESCRIPTION\n" + paragraphs(text))
	if c.Example != "" {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(c.Example))
	}
	commands(&b, c)
	flags(&b, "OPTIONS", c.NonInheritedFlags())
	flags(&b, "OPTIONS OF ALL COMMANDS", c.InheritedFlags())
	if c.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(pageName(c.Parent())))
	}
	return b.Bytes()
}

// pageName is a page's name: the words of the command with dashes.
func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// commands lists those below c: its own, and the words of one that reads its line itself.
func commands(b *bytes.Buffer, c *cobra.Command) {
	var lines []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			lines = append(lines, fmt.Sprintf(".TP\n.BR %s (1)\n%s\n", roff(pageName(sub)), roff(sub.Short)))
		}
	}
	if c.DisableFlagParsing && c.ValidArgsFunction != nil {
		lines = append(lines, words(c, nil)...)
	}
	if len(lines) > 0 {
		b.WriteString(".SH COMMANDS\n" + strings.Join(lines, ""))
	}
}

// words lists what c says may follow the words before.
func words(c *cobra.Command, before []string) []string {
	var lines []string
	next, _ := c.ValidArgsFunction(c, before, "")
	for _, n := range next {
		word, help, last := strings.Cut(n, "\t")
		all := append(before[:len(before):len(before)], word)
		if !last {
			lines = append(lines, words(c, all)...)
			continue
		}
		lines = append(lines, fmt.Sprintf(".TP\n.B %s\n%s\n", roff(strings.Join(all, " ")), roff(help)))
	}
	return lines
}

func flags(b *bytes.Buffer, title string, set *pflag.FlagSet) {
	set.SortFlags = false
	var lines []string
	set.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		head := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			head = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + head
		}
		if kind, _ := pflag.UnquoteUsage(f); kind != "" {
			head += ` \fI` + roff(kind) + `\fR`
		}
		help := f.Usage
		if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" {
			help = strings.TrimRight(help, "\n") + " (default: " + f.DefValue + ")"
		}
		lines = append(lines, ".TP\n"+head+"\n"+strings.TrimPrefix(paragraphs(help), ".PP\n"))
	})
	if len(lines) > 0 {
		b.WriteString(".SH " + quote(title) + "\n" + strings.Join(lines, ""))
	}
}

// paragraphs keeps a text's lines: empty ones part paragraphs, the others stay lines of
// their own.
func paragraphs(text string) string {
	var b strings.Builder
	for i, p := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".sp\n")
		}
		b.WriteString(strings.ReplaceAll(roff(p), "\n", "\n.br\n") + "\n")
	}
	return b.String()
}

// roff escapes a text: no line of it is a request.
func roff(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "`", `\(ga`, "'", `\(aq`, "^", `\(ha`, "~", `\(ti`).
			Replace(line)
		if strings.HasPrefix(line, ".") {
			line = `\&` + line
		}
		lines[i] = line
	}
	return strings.Join(lines, "\n")
}

func quote(text string) string { return `"` + strings.ReplaceAll(text, `"`, `\(dq`) + `"` }
