package report

import (
	"errors"
	"fmt"
	"html"
	"path/filepath"
	"strings"
	"unicode"

	"tarn/bench/record"
	"tarn/store/vfs"
)

// The measures of a picture, in pixels.
const (
	pictureWide = 720
	pictureEdge = 16
)

// SavePictures writes the chart of each suite of a run as SVG into a folder, which it makes:
// SUITE-light.svg and SUITE-dark.svg, each whole or not at all. It returns the files. A run of which
// no suite has a chart is an error. With the name of a metric the charts show it, of the suites that
// have it, and the files are named for it too.
func SavePictures(dir string, r *record.Run, metric string) (names []string, err error) {
	if err := vfs.MkdirAll(vfs.OS, dir); err != nil {
		return nil, fmt.Errorf("make the folder of pictures: %w", err)
	}
	for _, s := range r.Suites {
		file := s.Name
		if metric != "" {
			file += "-" + fileWords(metric)
		}
		s, ok := showing(s, metric)
		if !ok {
			continue
		}
		c := chartOf(r, s)
		if c.longest() <= 0 {
			continue
		}
		saved, err := inSchemes(dir, file, func(colours scheme) string { return picture(c, colours, provenance(r, s)) })
		if names = append(names, saved...); err != nil {
			return names, err
		}
	}
	if len(names) == 0 {
		return nil, errors.New("no suite of the run has values to draw")
	}
	return names, nil
}

// showing is a suite whose chart shows a metric, or what it shows anyway if that is "". It is false for a suite
// without values, or without the metric.
func showing(s record.Suite, metric string) (record.Suite, bool) {
	if metric != "" {
		s.Chart = record.Chart{Metric: metric}
	}
	return s, len(s.Metrics) > 0 && (metric == "" || chartMetrics(s)[0].Name == metric)
}

// inSchemes writes a picture in the colours of light and of dark pages, as FILE-light.svg and
// FILE-dark.svg, and returns the files.
func inSchemes(dir, file string, draw func(scheme) string) (names []string, err error) {
	if filepath.Base(file) != file { // a record may be anybody's
		return nil, fmt.Errorf("%q cannot be a file's name", file)
	}
	for _, colours := range []scheme{light(), dark()} {
		name := filepath.Join(dir, file+"-"+colours.name+".svg")
		if err := vfs.WriteDurably(vfs.OS, name, []byte(draw(colours))); err != nil {
			return names, fmt.Errorf("write the picture %s: %w", name, err)
		}
		names = append(names, name)
	}
	return names, nil
}

// fileWords are the words of a name, with dashes between.
func fileWords(name string) string {
	return strings.Join(strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}), "-")
}

// picture is a chart with its title, and lines that say where it comes from.
func picture(c chart, colours scheme, below []string) string {
	shapes, high := c.body()
	const titleHigh = labelHigh + pictureEdge
	under := pictureEdge + titleHigh + high + barGap
	whole := under + len(below)*labelHigh + pictureEdge
	d := &drawing{}
	left := fmt.Sprintf(`x="%d"`, pictureEdge)
	fmt.Fprintf(&d.text, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" `+
		`role="img" aria-label="%s">`+"\n", pictureWide, whole, pictureWide, whole, html.EscapeString(c.title))
	fmt.Fprintf(&d.text, "<style>%s</style>\n"+`<rect width="100%%" height="100%%" fill="%s"/>`+"\n",
		colours.style(), colours.back)
	d.words("title", left, pictureEdge+labelHigh-letterAbove, c.title)
	fmt.Fprintf(&d.text, `<svg %s y="%d" width="%d" height="%d">`+"\n%s</svg>\n",
		left, pictureEdge+titleHigh, pictureWide-2*pictureEdge, high, shapes)
	for i, words := range below {
		d.words("faint", left, under+(i+1)*labelHigh-letterAbove, words)
	}
	d.text.WriteString("</svg>\n")
	return d.text.String()
}

// provenance says how a picture is read, and which run it is of.
func provenance(r *record.Run, s record.Suite) []string {
	ended := ""
	if r.Ended != record.EndWhole {
		ended = ", " + r.Ended
	}
	return append(caption(r, s), fmt.Sprintf("tarn bench run %s, %s, %d processors (%s)%s.",
		s.Name, r.Began.UTC().Format("2006-01-02"), r.Machine.CPUs, r.Machine.CPU, ended))
}
