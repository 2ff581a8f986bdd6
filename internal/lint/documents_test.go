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
