package lint

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// links of Markdown to files, without their fragments.
var links = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

func TestDocumentsLinkToWhatExists(t *testing.T) {
	linked := map[string]bool{}
	var documents []string
	walk(t, func(name string) {
		if path.Ext(name) != ".md" {
			return
		}
		documents = append(documents, name)
		for _, m := range links.FindAllStringSubmatch(string(read(t, name)), -1) {
			target := path.Join(path.Dir(name), m[1])
			linked[target], linked[path.Join(target, "README.md")] = true, true
			if !exists(filepath.Join(root, target)) {
				t.Errorf("%s links to %s, which is not there", name, m[1])
			}
		}
	})
	for _, name := range documents {
		if strings.HasPrefix(name, "docs/") && !linked[name] {
			t.Errorf("no document links to %s", name)
		}
	}
}

var hashes = regexp.MustCompile(`\b[0-9a-f]{50,}\b`)

// Chain ids and the like are copied by hand, and compared by readers with what a node
// says.
func TestHashesInDocumentsAreWhole(t *testing.T) {
	walk(t, func(name string) {
		if path.Ext(name) != ".md" {
			return
		}
		for _, h := range hashes.FindAllString(string(read(t, name)), -1) {
			if len(h) != 64 {
				t.Errorf("%s: %s has %d digits, not 64", name, h, len(h))
			}
		}
	})
}
