package livepage

import (
	"encoding/json"
	"math"
	"strconv"
)

func appendID(b []byte, session, number int64) []byte {
	b = strconv.AppendInt(b, session, 10)
	b = append(b, '-')
	return strconv.AppendInt(b, number, 10)
}

// appendNumbers writes what curves are drawn of, as JSON, to five digits.
func appendNumbers(b []byte, values []float64) []byte {
	b = append(b, '[')
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, v)
	}
	return append(b, ']')
}

func appendNumber(b []byte, v float64) []byte {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return append(b, "null"...)
	case v == math.Trunc(v) && math.Abs(v) < 1e5: // most are 0, and this is much faster
		return strconv.AppendInt(b, int64(v), 10)
	}
	return strconv.AppendFloat(b, v, 'g', 5, 64)
}

// appendFigures writes the figures of the newest sample, all digits.
func (s *samples) appendFigures(b []byte) []byte {
	b = append(b, '[')
	for i, v := range s.figures {
		if i > 0 {
			b = append(b, ',')
		}
		switch {
		case s.o.Figures[i].Unit == Text:
			b = appendText(b, s.words[i])
		case math.IsNaN(v) || math.IsInf(v, 0):
			b = append(b, "null"...)
		default:
			b = strconv.AppendFloat(b, v, 'g', -1, 64)
		}
	}
	return append(b, ']')
}

// appendText writes a string as JSON.
func appendText(b []byte, text string) []byte {
	quoted, err := json.Marshal(text)
	if err != nil { // there is no such string
		return append(b, `""`...)
	}
	return append(b, quoted...)
}

// layout is what the page is built of.
type layout struct {
	Title   string         `json:"title"`
	Version string         `json:"version"`
	Panels  []panelLayout  `json:"panels"`
	Figures []figureLayout `json:"figures"`
}

type panelLayout struct {
	Group   string   `json:"group"`
	Title   string   `json:"title"`
	Help    string   `json:"help"`
	Unit    Unit     `json:"unit"`
	Stacked bool     `json:"stacked"`
	Series  []string `json:"series"`
}

type figureLayout struct {
	Group string `json:"group"`
	Title string `json:"title"`
	Help  string `json:"help"`
	Unit  Unit   `json:"unit"`
}

func (o *Options) layout() layout {
	l := layout{Title: o.Title, Version: o.Version, Panels: []panelLayout{}, Figures: []figureLayout{}}
	for _, p := range o.Panels {
		names := make([]string, len(p.Series))
		for i, s := range p.Series {
			names[i] = s.Name
		}
		l.Panels = append(l.Panels, panelLayout{p.Group, p.Title, p.Help, p.Unit, p.Stacked, names})
	}
	for _, f := range o.Figures {
		l.Figures = append(l.Figures, figureLayout{f.Group, f.Title, f.Help, f.Unit})
	}
	return l
}

// allFor is for how many samples the encoding of everything is given out again: a viewer
// gets those that are missing as events. So whatever is asked, it is made so rarely.
const allFor = 10

// everything is the answer that a page begins with: the layout, the rings, and the id of the
// sample that they end with. Nobody changes it.
func (s *samples) everything() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.allAt > 0 && s.number-s.allAt < allFor {
		return s.all, nil
	}
	head, err := json.Marshal(s.o.layout())
	if err != nil {
		return nil, err
	}
	b := make([]byte, 0, max(len(head)+1024, len(s.all)+len(s.all)/8))
	b = append(b, `{"layout":`...)
	b = append(b, head...)
	b = append(b, `,"id":"`...)
	b = appendID(b, s.began, s.number)
	b = append(b, `","figures":`...)
	b = s.appendFigures(b)
	b = s.seconds.appendColumns(append(b, `,"seconds":`...))
	b = s.minutes.appendColumns(append(b, `,"minutes":`...))
	s.all, s.allAt = append(b, "}\n"...), s.number
	return s.all, nil
}

// appendColumns writes the times, and the values of each series.
func (r *ring) appendColumns(b []byte) []byte {
	b = append(b, `{"t":[`...)
	for i := range r.filled {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, r.times[r.slot(i)], 10)
	}
	b = append(b, `],"v":[`...)
	for column := range r.width {
		if column > 0 {
			b = append(b, ',')
		}
		b = append(b, '[')
		for i := range r.filled {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendNumber(b, r.values[r.slot(i)*r.width+column])
		}
		b = append(b, ']')
	}
	return append(b, "]}"...)
}
