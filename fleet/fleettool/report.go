package fleettool

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"tarn/fleet"
	"tarn/fleet/stream"
)

func writeJSON(w io.Writer, s any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(s)
}

// writeText writes the report for people.
func writeText(w io.Writer, s *stream.Survey, now time.Time) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(format string, values ...any) { fmt.Fprintf(t, format+"\n", values...) }
	line("fleet\t%s", s.Fleet)
	if p := s.Publisher; p != nil {
		line("published by\t%s%s", p.Node, where(s.Members, p.Node))
		line("head\t%s", point(p.Head))
		line("irreversible\t%s", point(p.Final))
	} else {
		line("published by\tnobody")
	}
	line("moves\t%s", keeps(&s.Moves, now))
	if n := s.Newest; n != nil && n.Kept != "" {
		line("snapshots\tin a folder")
	} else {
		line("snapshots\t%s", keeps(&s.Snapshots, now))
	}
	if n := s.Newest; n != nil {
		line("newest snapshot\t%s, %d bytes, %d rows, made %s ago", point(n.Point), n.Bytes, n.Rows,
			now.Sub(n.Made).Round(time.Second))
	} else {
		line("newest snapshot\tnone")
	}
	if len(s.Missing) > 0 {
		line("incomplete\t%s, missing or behind: end no other server before they have all",
			strings.Join(s.Missing, ", "))
	}
	line("")
	line("member\thost\tprocess\tsince\tblock\tbehind")
	for i := range s.Members {
		m := &s.Members[i]
		line("%s\t%s\t%d\t%s\t%d\t%s", role(m), m.Host, m.Process, m.Since.UTC().Format(time.DateTime),
			m.Head.Revision, behind(s, m))
	}
	if len(s.Members) == 0 {
		line("none answers")
	}
	return t.Flush()
}

func point(p fleet.Point) string { return fmt.Sprintf("block %d (%s)", p.Revision, p.ID) }

// where is on which machine a member runs, if it has answered.
func where(members []stream.Member, node string) string {
	for i := range members {
		if members[i].Node == node {
			return fmt.Sprintf(", process %d on %s", members[i].Process, members[i].Host)
		}
	}
	return ", which does not answer"
}

func keeps(k *stream.Kept, now time.Time) string {
	text := fmt.Sprintf("%d messages, %d bytes", k.Messages, k.Bytes)
	if k.Messages > 0 {
		text += fmt.Sprintf(", from %s ago to %s ago", now.Sub(k.First).Round(time.Second),
			now.Sub(k.Last).Round(time.Second))
	}
	text += fmt.Sprintf("; copies: %d", k.Copies)
	if k.Copies > 1 && k.Leader != "" {
		text += ", led by " + k.Leader
	}
	if len(k.Missing) > 0 {
		text += ", missing or behind: " + strings.Join(k.Missing, ", ")
	}
	return text
}

func role(m *stream.Member) string {
	switch {
	case m.Publishing:
		return m.Role + " (publishes)"
	case m.Role == stream.RoleNode:
		return m.Role + " (stands by)"
	}
	return m.Role
}

// behind is how many blocks a member is behind the publisher.
func behind(s *stream.Survey, m *stream.Member) string {
	if s.Publisher == nil {
		return "?"
	}
	// A member may have answered after the publisher wrote where it is.
	return fmt.Sprint(max(s.Publisher.Head.Revision, m.Head.Revision) - m.Head.Revision)
}
