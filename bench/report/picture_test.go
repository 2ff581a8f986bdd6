package report

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPicturesAreWholeDocumentsInBothSchemes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new", "folder")
	r := fixed()
	r.Subjects[1].Program = "</svg><b>&"
	names, err := SavePictures(dir, r, "")
	if err != nil || len(names) != 2 {
		t.Fatalf("%v, %v", names, err)
	}
	for i, name := range []string{"import-light.svg", "import-dark.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || names[i] != filepath.Join(dir, name) {
			t.Fatalf("%v, %v", names, err)
		}
		if !strings.Contains(string(text), "2026-03-04, 2 processors (Fast &lt;CPU&gt;), out of time.") ||
			strings.Contains(string(text), "<b>") {
			t.Errorf("%s does not say where it comes from, or has others' markup:\n%s", name, text)
		}
		for d := xml.NewDecoder(strings.NewReader(string(text))); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if strings.Contains(picture(chartOf(r, r.Suites[0]), light(), nil), dark().back) {
		t.Error("a light picture has a dark back")
	}
	r.Suites[0].Name = "../elsewhere"
	for i := range r.Lives {
		r.Lives[i].Suite = r.Suites[0].Name
	}
	if _, err := SavePictures(dir, r, ""); err == nil || !strings.Contains(err.Error(), "cannot be a file's name") {
		t.Errorf("%v", err)
	}
	if _, err := SavePictures(dir, measured(true, []string{""}, nil), ""); err == nil ||
		!strings.Contains(err.Error(), "no suite") {
		t.Errorf("%v", err)
	}
}

// The page's script draws curves in the colours of the bars.
func TestTheScriptHasTheColoursOfTheSchemes(t *testing.T) {
	for _, s := range []scheme{light(), dark()} {
		if list := s.name + `: ["` + strings.Join(s.subjects[:], `", "`) + `"]`; !strings.Contains(pageScript, list) {
			t.Errorf("page.js has other colours than %s", list)
		}
	}
}
