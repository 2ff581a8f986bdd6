package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// grown is a suite with two parts, over an option of 1, 10 and 1000; of the second subject the first
// run has no value.
func grown() Growth {
	parts := []string{"few", "many"}
	return Growth{Option: "connections", Points: []GrowthPoint{
		{1, measured(true, parts, []float64{100, 110, 120}, nil)},
		{10, measured(true, parts, []float64{1000, 1100, 1200}, []float64{10, 11, 12})},
		{1000, measured(true, parts, []float64{50_000}, []float64{30})},
	}}
}

func TestValuesThatGrowAreTables(t *testing.T) {
	tables := grown().Tables("")
	if len(tables) != 2 {
		t.Fatalf("%d tables", len(tables))
	}
	var out bytes.Buffer
	if err := tables[0].Write(&out); err != nil {
		t.Fatal(err)
	}
	want := `### Transfers answered, few (1/s), by connections

Medians of the rounds. More is better.

| connections |      a |    b |
| ----------- |-------:|-----:|
| 1           |    110 |    – |
| 10          |  1 100 | 11.0 |
| 1 000       | 50 000 | 30.0 |

`
	if out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
	if tables := grown().Tables("other"); len(tables) != 0 {
		t.Errorf("a value that no run has: %d tables", len(tables))
	}
	if tables := (Growth{}).Tables(""); len(tables) != 0 {
		t.Errorf("no runs: %d tables", len(tables))
	}
}

func TestCurvesAreWholeDocumentsInBothSchemes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	g := grown()
	g.Points[2].Run.Subjects[1].Program = "</svg><b>&"
	g.Points[2].Run.Subjects[1].Mode = "m"
	names, err := g.SavePictures(dir, "")
	if err != nil || len(names) != 4 {
		t.Fatalf("%v, %v", names, err)
	}
	for _, name := range []string{"push-by-connections-few-light.svg", "push-by-connections-many-dark.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "<b>") {
			t.Errorf("%s has others' markup", name)
		}
		circles := 0
		for d := xml.NewDecoder(bytes.NewReader(text)); ; {
			token, err := d.Token()
			if errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if e, is := token.(xml.StartElement); is && e.Name.Local == "circle" {
				circles++
			}
		}
		if circles != 5 {
			t.Errorf("%s has %d points of 5", name, circles)
		}
	}
	for _, p := range g.Points {
		p.Run.Suites[0].Name = "../elsewhere"
		for i := range p.Run.Lives {
			p.Run.Lives[i].Suite = p.Run.Suites[0].Name
		}
	}
	if _, err := g.SavePictures(dir, ""); err == nil || !strings.Contains(err.Error(), "cannot be a file's name") {
		t.Errorf("%v", err)
	}
	if _, err := (Growth{Option: "x"}).SavePictures(dir, ""); err == nil {
		t.Error("nothing to draw is no error")
	}
}

func TestAxesHaveRoundValuesWithinThem(t *testing.T) {
	for _, c := range []struct {
		values, ticks []float64
		factors       bool
	}{
		{[]float64{3, 10}, []float64{0, 5, 10}, false},
		{[]float64{0.5, 0.9}, []float64{0, 0.5}, false},
		{[]float64{0, 0}, []float64{0, 0.5, 1}, false},
		{[]float64{0, 1e6}, []float64{0, 500_000, 1e6}, false},
		{[]float64{-4, 4}, []float64{-4, -2, 0, 2, 4}, false},
		{[]float64{1, 10, 1000}, []float64{1, 10, 100, 1000}, true},
		{[]float64{7, 300}, []float64{10, 20, 50, 100, 200}, true},
		{nil, []float64{0, 0.5, 1}, false},
		{[]float64{5, 5}, []float64{0, 2, 4}, false},
	} {
		a := newAxis(c.values)
		near := slices.EqualFunc(a.ticks(), c.ticks, func(x, y float64) bool { return math.Abs(x-y) < 1e-9*max(1, math.Abs(y)) })
		if a.factors != c.factors || !near {
			t.Errorf("%v: %v, factors %v", c.values, a.ticks(), a.factors)
		}
		for _, v := range append(a.ticks(), c.values...) {
			if share := a.share(v); share < -1e-9 || share > 1+1e-9 {
				t.Errorf("%v: %v stands at %v", c.values, v, share)
			}
		}
	}
}
