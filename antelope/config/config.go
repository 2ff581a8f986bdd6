package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"tarn/store/vfs"
)

// Environment is what the process around the options is like.
type Environment struct {
	Home    string // of the user; the default folders are in it
	Dir     string // that relative folders on the command line are in
	Version string // for --version
	Full    string // for --full-version
}

// Config is what a node is to do.
type Config struct {
	Values
	DataDir   string // absolute
	ConfigDir string // absolute
	File      string // the configuration file
	LogConf   string // the log's configuration; it need not exist
	Plugins   Plugins

	// Print, if not empty, is what is to be printed in place of running a node.
	Print string
	// Said is what was given, the command line first, without secrets.
	Said []Assignment
	// Notices are lines for the operator, about the configuration as a whole.
	Notices []string
}

// Error is a refusal to start.
type Error struct {
	Text  string // of several mistakes a line each
	Code  int    // of the process's exit
	Cause error  // nil for none
}

func (e *Error) Error() string { return e.Text }
func (e *Error) Unwrap() error { return e.Cause }

// ExitCode is what the process ends with.
func (e *Error) ExitCode() int { return e.Code }

// The codes that nodeos ends with (Leap: programs/nodeos/main.cpp), as a shell sees
// them.
const (
	ExitOther      = 254 // anything thrown
	ExitInitialize = 255 // it could not begin
	ExitMemory     = 1   // no memory left for the state
	ExitReported   = 5   // what was asked for was printed
)

func refuse(err error) error { return &Error{Text: err.Error(), Code: ExitOther, Cause: err} }

// Load reads a command line, and the configuration file that it names or implies;
// where that is config.ini in the configuration folder and does not exist, it is
// made, with all options as comments. Errors are of type *[Error], with all mistakes in
// one, those of the command line first. With an error that has mistakes of the values alone
// the Config is returned, too: options with mistakes have their defaults in it, and the
// others may be looked at for more mistakes, but nothing may be made.
func Load(args []string, env Environment) (*Config, error) {
	t := newTable()
	c := &Config{Values: Values{values: map[string]*value{}}}
	line, err := t.commandLine(args)
	err = errors.Join(err, c.store(t, line, "--"))
	if err == nil {
		if c.Print = c.printout(t, env); c.Print != "" {
			return c, nil
		}
	}
	// What is in the folders that a mistaken command line means may be somebody
	// else's: it is read, if it is there, and nothing is made.
	mistaken := err != nil
	e := c.folders(env)
	text := ""
	if e == nil {
		text, e = c.read(t, !mistaken)
	}
	if e != nil && !mistaken {
		return nil, e
	}
	err = errors.Join(err, e)
	lines, e := t.file(text, c.File)
	err = errors.Join(err, e, c.store(t, lines, ""), c.fill(t))
	c.Plugins, e = enable(c.Texts("plugin"))
	if err = errors.Join(err, e, c.check()); err != nil {
		return c, refuse(err)
	}
	c.tell(t, line, lines)
	return c, nil
}

// printout is what the command line asks to be printed, if anything.
func (c *Config) printout(t *table, env Environment) string {
	switch {
	case c.Bool("help"):
		return t.help()
	case c.Bool("version"):
		return cmp.Or(c.Text("reported-version"), env.Version) + "\n"
	case c.Bool("full-version"):
		return strings.Replace(env.Full, env.Version, cmp.Or(c.Text("reported-version"), env.Version), 1) + "\n"
	case c.Bool("print-default-config"):
		return t.defaults()
	}
	return ""
}

// folders finds the folders and files.
func (c *Config) folders(env Environment) error {
	under := func(dir, path string) string {
		if filepath.IsAbs(path) {
			return path
		}
		return filepath.Join(dir, path)
	}
	root := filepath.Join(env.Home, ".local", "share", "eosio", "nodeos")
	c.DataDir, c.ConfigDir = filepath.Join(root, "data"), filepath.Join(root, "config")
	if c.Given("data-dir") {
		c.DataDir = under(env.Dir, c.Text("data-dir"))
	}
	if c.Given("config-dir") {
		c.ConfigDir = under(env.Dir, c.Text("config-dir"))
	}
	c.File, c.LogConf = filepath.Join(c.ConfigDir, "config.ini"), filepath.Join(c.ConfigDir, "logging.json")
	if c.Given("config") {
		c.File = under(c.ConfigDir, c.Text("config"))
	}
	if name := c.Text("logconf"); c.Given("logconf") && name != "logging.json" {
		c.LogConf = under(c.ConfigDir, name)
		if _, err := os.Stat(c.LogConf); err != nil {
			return &Error{Text: fmt.Sprintf("Logging configuration file %q missing.", c.LogConf), Code: ExitInitialize}
		}
	}
	return nil
}

// read reads the configuration file, or makes it if it may.
func (c *Config) read(t *table, mayMake bool) (string, error) {
	text, err := os.ReadFile(c.File)
	switch {
	case err == nil:
		return string(text), nil
	case !errors.Is(err, fs.ErrNotExist):
		return "", refuse(fmt.Errorf("can not read options configuration file '%s': %w", c.File, err))
	case c.File != filepath.Join(c.ConfigDir, "config.ini"):
		return "", &Error{Text: fmt.Sprintf("Config file %q missing.", c.File), Code: ExitInitialize}
	case !mayMake:
		return "", nil
	}
	if err := os.MkdirAll(c.ConfigDir, 0o755); err != nil {
		return "", refuse(err)
	}
	if err := vfs.WriteDurably(vfs.OS, c.File, []byte(t.defaults())); err != nil {
		return "", refuse(err)
	}
	return "", nil
}

// tell gathers what the operator is told about what was given.
func (c *Config) tell(t *table, line, file []Assignment) {
	for _, a := range append(line, file...) {
		o := t.options[a.Name]
		if o.Secret {
			hidden := make([]string, len(a.Values))
			for i := range hidden {
				hidden[i] = "***"
			}
			a.Values = hidden
		}
		c.Said = append(c.Said, a)
	}
	for _, o := range t.order {
		x := c.values[o.Name]
		if o.Instead == "" || !c.Given(o.Name) || o.isDefault(x) {
			continue
		}
		given := ""
		if len(x.texts) > 0 && !o.Secret {
			given = " = " + x.texts[0]
		}
		c.Notices = append(c.Notices, fmt.Sprintf("%s%s has no effect: %s", o.Name, given, o.Instead))
	}
}

// isDefault tells whether a value is the option's default, which asks for nothing.
func (o *Option) isDefault(x *value) bool {
	normal := &value{option: o}
	text := o.Default
	if o.Kind == Switch {
		text = "false"
	}
	return text != "" && normal.parse([]string{text}, "") == nil && equal(x, normal)
}

func equal(a, b *value) bool {
	return a.number == b.number && a.duration == b.duration &&
		strings.Join(a.texts, "\n") == strings.Join(b.texts, "\n")
}

// Summary is what was given, in one line for the log.
func (c *Config) Summary() string {
	var b strings.Builder
	for i, a := range c.Said {
		if i > 0 {
			b.WriteString(", ")
		}
		b.WriteString(a.Name)
		if text := strings.Join(a.Values, ", "); text != "" {
			b.WriteString(" = " + text)
		}
	}
	return b.String()
}

// Under returns the value of an option that is a path, in dir if it is relative.
func (c *Config) Under(dir, name string) string {
	path := c.Text(name)
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}
