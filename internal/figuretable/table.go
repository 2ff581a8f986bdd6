// Package figuretable writes what was measured: tables in Markdown, numbers to their
// significant digits, targets, and the machine that it was measured on. It measures
// nothing but what the kernel counts of the whole machine, and keeps nothing.
package figuretable

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Table is one table of a report.
type Table struct {
	Title string
	How   string // how the figures were made
	Head  []string
	Rows  [][]string
	Notes []string
}

// Add adds a row of cells, one for each of Head. What would break the line of a cell, or its
// column, is escaped: names come from other programs.
func (t *Table) Add(cells ...string) {
	row := make([]string, len(cells))
	for i, c := range cells {
		row[i] = OneLine(c)
	}
	t.Rows = append(t.Rows, row)
}

// OneLine escapes what ends a line, moves a terminal's cursor, or is no text, and what ends a
// cell of a table.
func OneLine(s string) string {
	var b strings.Builder
	for _, c := range s {
		switch {
		case c == '|':
			b.WriteString(`\|`)
		case c == utf8.RuneError || !unicode.IsPrint(c):
			q := strconv.QuoteRuneToASCII(c)
			b.WriteString(q[1 : len(q)-1])
		default:
			b.WriteRune(c)
		}
	}
	return b.String()
}

// Write renders t as Markdown: words to the left, numbers to the right.
func (t Table) Write(w io.Writer) error {
	var b strings.Builder
	if t.Title != "" {
		fmt.Fprintf(&b, "### %s\n\n%s\n\n", t.Title, t.How)
	}
	width := make([]int, len(t.Head))
	number := make([]bool, len(t.Head))
	for i := range t.Head {
		width[i], number[i] = len([]rune(t.Head[i])), i > 0
		for _, r := range t.Rows {
			width[i] = max(width[i], len([]rune(r[i])), 3)
			number[i] = number[i] && !isWord(r[i])
		}
	}
	line := func(cells []string) {
		b.WriteString("|")
		for i, c := range cells {
			pad := strings.Repeat(" ", width[i]-len([]rune(c)))
			if number[i] {
				fmt.Fprintf(&b, " %s%s |", pad, c)
			} else {
				fmt.Fprintf(&b, " %s%s |", c, pad)
			}
		}
		b.WriteString("\n")
	}
	line(t.Head)
	b.WriteString("|")
	for i := range t.Head {
		dashes := strings.Repeat("-", width[i]+1)
		if number[i] {
			b.WriteString(dashes + ":|")
		} else {
			b.WriteString(" " + dashes[1:] + " |")
		}
	}
	b.WriteString("\n")
	for _, r := range t.Rows {
		line(r)
	}
	for _, n := range t.Notes {
		fmt.Fprintf(&b, "\n%s\n", n)
	}
	b.WriteString("\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// isWord tells whether a cell is text rather than a number or the lack of one.
func isWord(cell string) bool {
	return cell != "" && cell != None && !strings.ContainsAny(cell, "0123456789") && cell != NotHere
}

// Cells that are no numbers and stand where numbers do.
const (
	None    = "–"
	NotHere = "not here"
)
