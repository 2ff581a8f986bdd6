package config

import (
	"errors"
	"fmt"
	"strings"
)

// file reads the text of a config.ini: lines of name = value, where everything
// after a # is a comment and a line in brackets puts its text and a dot before the
// names that follow (boost::program_options: parse_config_file). The error names all
// lines that are not understood; the others are returned with it. A byte order mark, with which some
// editors begin a file, is skipped; nodeos takes it for a part of the first name.
func (t *table) file(text, path string) ([]Assignment, error) {
	var out []Assignment
	var errs []error
	prefix := ""
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line, _, _ = strings.Cut(line, "#")
		line = trim(line)
		if line == "" {
			continue
		}
		if line[0] == '[' && line[len(line)-1] == ']' {
			if prefix = line[1 : len(line)-1]; !strings.HasSuffix(prefix, ".") {
				prefix += "."
			}
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			errs = append(errs, fmt.Errorf("the options configuration file contains an invalid line '%s'", line))
			continue
		}
		name = prefix + trim(name)
		if o := t.options[name]; o == nil || o.CommandLine {
			errs = append(errs, t.unknown(name, "", "inside the config file "+path))
			continue
		}
		out = append(out, Assignment{name, []string{trim(value)}})
	}
	return out, errors.Join(errs...)
}

func trim(s string) string { return strings.Trim(s, " \t\r\n") }
