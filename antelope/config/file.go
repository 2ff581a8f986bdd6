package config

import (
	"fmt"
	"strings"
)

// file reads the text of a config.ini: lines of name = value, where everything
// after a # is a comment and a line in brackets puts its text and a dot before the
// names that follow (boost::program_options: parse_config_file).
func (t *table) file(text, path string) ([]Assignment, error) {
	var out []Assignment
	prefix := ""
	for line := range strings.Lines(text) {
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
			return nil, fmt.Errorf("the options configuration file contains an invalid line '%s'", line)
		}
		name = prefix + trim(name)
		if o := t.options[name]; o == nil || o.CommandLine {
			return nil, t.unknown(name, "", "inside the config file "+path)
		}
		out = append(out, Assignment{name, []string{trim(value)}})
	}
	return out, nil
}

func trim(s string) string { return strings.Trim(s, " \t\r\n") }
