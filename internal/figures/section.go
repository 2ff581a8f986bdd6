package figures

import (
	"fmt"
	"slices"
	"strings"
)

// Choose checks the names of a report's sections against all that there are, each
// with a line of what it is; no names are all of them.
func Choose(sections [][2]string, names []string) ([]string, error) {
	var all []string
	for _, s := range sections {
		all = append(all, s[0])
	}
	for _, n := range names {
		if !slices.Contains(all, n) {
			return nil, fmt.Errorf("no section is called %q; there are %s", n, strings.Join(all, ", "))
		}
	}
	if len(names) == 0 {
		return all, nil
	}
	return names, nil
}
