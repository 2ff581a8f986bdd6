package report

import (
	"cmp"
	"fmt"
	"html"
	"math"
	"slices"
	"strings"
)

// The measures of a curve's picture, in pixels.
const (
	graphLeft  = 76 // where values are written
	graphHigh  = 260
	graphRight = 24
	tickWide   = 56 // the least between two values of the option that are written
)

// picture is a curve with its title, and lines that say where it comes from.
func (g Growth) picture(c growthCurve, colours scheme) string {
	p := newGraph(g, c)
	d := &drawing{below: pictureEdge}
	d.words("title", fmt.Sprintf(`x="%d"`, pictureEdge), pictureEdge+labelHigh-letterAbove, c.title())
	d.below += labelHigh + pictureEdge/2
	for i, name := range c.labels {
		d.below += labelHigh
		fmt.Fprintf(&d.text, `<rect class="%s" x="%d" y="%d" width="12" height="12" rx="2"/>`,
			colourClass(i), pictureEdge+1, d.below-labelHigh+4)
		d.words("label", fmt.Sprintf(`x="%d"`, pictureEdge+20), d.below-letterAbove, name)
	}
	d.below += labelHigh
	p.draw(d, c)
	d.below += labelHigh
	d.words("faint", fmt.Sprintf(`x="%d" text-anchor="middle"`, (graphLeft+pictureWide-graphRight)/2),
		d.below-letterAbove, g.Option)
	d.below += labelHigh / 2
	for _, words := range g.provenance(c) {
		d.below += labelHigh
		d.words("faint", fmt.Sprintf(`x="%d"`, pictureEdge), d.below-letterAbove, words)
	}
	whole := d.below + pictureEdge
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" role="img" `+
		`aria-label="%s">`+"\n<style>%s</style>\n"+`<rect width="100%%" height="100%%" fill="%s"/>`+"\n%s</svg>\n",
		pictureWide, whole, pictureWide, whole, html.EscapeString(c.title()), colours.style()+colours.lines(),
		colours.back, d.text.String())
}

// provenance says how a curve is read, and which runs it is of.
func (g Growth) provenance(c growthCurve) []string {
	last := slices.MaxFunc(g.Points, func(a, b GrowthPoint) int { return a.Run.Began.Compare(b.Run.Began) }).Run
	return []string{c.how(), fmt.Sprintf("tarn bench run %s, until %s, %d processors (%s).", c.suite.Name,
		last.Began.UTC().Format("2006-01-02"), last.Machine.CPUs, last.Machine.CPU)}
}

// graph is where points of a curve stand.
type graph struct {
	x, y axis
	at   []float64 // of the points, on x
}

func newGraph(g Growth, c growthCurve) graph {
	p := graph{}
	for _, point := range g.Points {
		p.at = append(p.at, point.At)
	}
	var values []float64
	for _, column := range c.columns {
		for _, e := range column {
			if e.N > 0 {
				values = append(values, e.Least, e.Most)
			}
		}
	}
	p.x, p.y = newAxis(p.at), newAxis(values)
	return p
}

// draw draws the frame, the values at its sides, and the curves.
func (p graph) draw(d *drawing, c growthCurve) {
	top, low := d.below, d.below+graphHigh
	x := func(v float64) float64 { return graphLeft + p.x.share(v)*(pictureWide-graphLeft-graphRight) }
	y := func(v float64) float64 { return float64(low) - p.y.share(v)*graphHigh }
	for _, v := range p.y.ticks() {
		fmt.Fprintf(&d.text, `<line class="grid" x1="%d" x2="%d" y1="%.1f" y2="%.1f"/>`,
			graphLeft, pictureWide-graphRight, y(v), y(v))
		d.words("faint", fmt.Sprintf(`x="%d" text-anchor="end"`, graphLeft-8), int(y(v))+letterAbove-1, c.tick(v))
	}
	written := math.Inf(-1)
	for _, v := range p.at {
		if x(v)-written >= tickWide {
			d.words("faint", fmt.Sprintf(`x="%.1f" text-anchor="middle"`, x(v)), low+labelHigh-letterAbove/2, number(v))
			written = x(v)
		}
	}
	for i, column := range c.columns {
		var line []string
		for k, e := range column {
			if e.N == 0 {
				continue
			}
			at, class := x(p.at[k]), colourClass(i)
			line = append(line, fmt.Sprintf("%.1f,%.1f", at, y(e.Median)))
			fmt.Fprintf(&d.text, `<circle class="%s" cx="%.1f" cy="%.1f" r="3.5"/>`, class, at, y(e.Median))
			if e.Most > e.Least {
				fmt.Fprintf(&d.text, `<line class="range" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>`,
					at, at, y(e.Least), y(e.Most))
			}
		}
		fmt.Fprintf(&d.text, `<polyline class="line %s-line" points="%s"/>`+"\n", colourClass(i), strings.Join(line, " "))
	}
	d.below = top + graphHigh + labelHigh
}

// axis is one side of a graph: even steps from zero, or even factors where values lie far apart.
type axis struct {
	low, high float64
	factors   bool
}

// ticksMost is how many steps an axis of even steps has at most.
const ticksMost = 10

// farApart is the factor between the least and the greatest value from which an axis has factors.
const farApart = 20

// newAxis has room for values.
func newAxis(values []float64) axis {
	if len(values) == 0 {
		return axis{0, 1, false}
	}
	low, high := slices.Min(values), slices.Max(values)
	if low > 0 && high/low >= farApart {
		return axis{low, high, true}
	}
	if high <= 0 {
		high = 1
	}
	return axis{min(0, low), high, false}
}

// share is where a value stands, from 0 to 1.
func (a axis) share(v float64) float64 {
	if a.factors {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v - a.low) / (a.high - a.low)
}

// ticks are round values, few of them: powers of ten, with halves and fifths if there are not three; or
// multiples of a round step.
func (a axis) ticks() (all []float64) {
	if !a.factors {
		step := roundStep((a.high - a.low) / 4)
		first := math.Ceil(a.low / step)
		for i := range ticksMost {
			if v := (first + float64(i)) * step; v <= a.high+step*1e-6 {
				all = append(all, v)
			}
		}
		return all
	}
	for _, factors := range [][]float64{{1}, {1, 2, 5}} {
		all = nil
		for power := math.Floor(math.Log10(a.low)); power <= math.Log10(a.high); power++ {
			for _, f := range factors {
				if v := math.Pow(10, power) * f; v >= a.low*(1-1e-9) && v <= a.high*(1+1e-9) {
					all = append(all, v)
				}
			}
		}
		if len(all) >= 3 {
			break
		}
	}
	return all
}

// roundStep is the least of 1, 2, 5 times a power of ten that is not below v.
func roundStep(v float64) float64 {
	ten := math.Pow(10, math.Floor(math.Log10(v)))
	for _, f := range []float64{1, 2, 5} {
		if ten*f >= v*(1-1e-9) {
			return ten * f
		}
	}
	return cmp.Or(ten*10, 1)
}
