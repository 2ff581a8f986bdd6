// Package recordedcalls reads and writes what two programs said to each other, as text that
// anybody can read and extend:
//
//	// What eosjs asks for first.
//	--> POST /v1/chain/get_info {}
//	<-- 200 {"server_version":"12345678",…}
//
// What is asked begins with an arrow to the right, what is answered with one to the left; a
// line that begins with a tab goes on with the one before. Comments, and blank lines, stand
// between exchanges. It owns that form and what … stands for, and knows no protocol.
package recordedcalls

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"strings"
)

// Exchange is something that is asked, and what is answered to it.
type Exchange struct {
	Comment string   // the lines above it, without their slashes; the file's own comment too
	Ask     string   // may be empty
	Unasked bool     // the other side spoke by itself
	Answers []string // in the order in which they came
	Line    int      // of the file, from 1, where it begins
}

const ask, answer, more, comment = "--> ", "<-- ", "\t", "//"

// Read reads a file of exchanges, one at least. One whose name ends with .gz is compressed.
func Read(path string) ([]Exchange, error) {
	b, err := os.ReadFile(path)
	if err == nil && strings.HasSuffix(path, ".gz") {
		var z *gzip.Reader
		if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
			b, err = io.ReadAll(z)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read the conversation %s: %w", path, err)
	}
	list, err := Parse(string(b))
	if err != nil {
		return nil, fmt.Errorf("%s:%w", path, err)
	}
	if len(list) == 0 {
		return nil, fmt.Errorf("%s: nothing is said in it", path)
	}
	return list, nil
}

// Parse reads exchanges. Its error begins with the number of the line.
func Parse(text string) ([]Exchange, error) {
	var list []Exchange
	var said *string // what a line with a tab goes on with
	var above []string
	for i, line := range strings.Split(text, "\n") {
		begin := func() *Exchange {
			list = append(list, Exchange{Comment: strings.Join(above, "\n"), Line: i + 1})
			above = nil
			return &list[len(list)-1]
		}
		switch {
		case strings.HasPrefix(line, ask), line == strings.TrimSpace(ask):
			e := begin()
			e.Ask = strings.TrimPrefix(line[len(strings.TrimSpace(ask)):], " ")
			said = &e.Ask
		case strings.HasPrefix(line, answer):
			if said == nil {
				begin().Unasked = true
			}
			e := &list[len(list)-1]
			e.Answers = append(e.Answers, line[len(answer):])
			said = &e.Answers[len(e.Answers)-1]
		case strings.HasPrefix(line, more) && said != nil:
			*said += "\n" + line[len(more):]
		case strings.HasPrefix(line, comment):
			above = append(above, strings.TrimPrefix(line[len(comment):], " "))
			said = nil
		case strings.TrimSpace(line) == "":
			said = nil
		default:
			return nil, fmt.Errorf("%d: neither a comment nor something that was said: %.40s", i+1, line)
		}
	}
	return list, nil
}

// Append appends an exchange in the form that Parse reads, and a blank line.
func (e *Exchange) Append(b []byte) []byte {
	say := func(mark, text string) {
		b = append(append(b, mark...), strings.ReplaceAll(text, "\n", "\n"+more)...)
		b = append(b, '\n')
	}
	if e.Comment != "" {
		b = append(append(b, "// "...), strings.ReplaceAll(e.Comment, "\n", "\n// ")...)
		b = append(b, '\n')
	}
	if e.Ask == "" && !e.Unasked {
		b = append(b, strings.TrimSpace(ask)+"\n"...)
	} else if !e.Unasked {
		say(ask, e.Ask)
	}
	for _, a := range e.Answers {
		say(answer, a)
	}
	return append(b, '\n')
}

// Matches tells whether something that was said is what a file has: … stands there for
// anything.
func Matches(want, said string) bool {
	parts := strings.Split(want, "…")
	last := len(parts) - 1
	if last == 0 {
		return want == said
	}
	rest, ok := strings.CutPrefix(said, parts[0])
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return ok && strings.HasSuffix(rest, parts[last])
}
