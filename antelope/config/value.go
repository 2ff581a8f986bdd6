package config

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"tarn/internal/invariants"
)

// value is what an option came to.
type value struct {
	option    *Option
	texts     []string // Texts; of other kinds the first, of unsigned numbers as it was written
	number    uint64   // unsigned kinds and bools; signed ones as two's complement
	duration  time.Duration
	defaulted bool
}

// Values are all options' values. Getters are given names of options of their kind;
// another name is a programmer's error and reads as nothing.
type Values struct {
	values map[string]*value
}

func (v *Values) get(name string, kinds ...Kind) *value {
	x := v.values[name]
	if x == nil {
		return &value{}
	}
	invariants.Check(slices.Contains(kinds, x.option.Kind), "option %s is read as another kind", name)
	return x
}

// Has tells whether an option was given, or has a default (variables_map::count).
func (v *Values) Has(name string) bool { return v.values[name] != nil }

// Given tells whether an option was given, on the command line or in the file.
func (v *Values) Given(name string) bool { x := v.values[name]; return x != nil && !x.defaulted }

// Bool is the value of a Bool or a Switch, and whether a Flag was given.
func (v *Values) Bool(name string) bool { return v.get(name, Flag, Switch, Bool).number != 0 }

// Uint is the value of an unsigned option, 0 if there is none.
func (v *Values) Uint(name string) uint64 { return v.get(name, Uint16, Uint32, Uint64).number }

// asWritten is an unsigned option as the operator wrote it: -1 is the largest number of its kind.
func (v *Values) asWritten(name string) string {
	if x := v.get(name, Uint16, Uint32, Uint64); len(x.texts) > 0 {
		return x.texts[0]
	}
	return ""
}

// Int is the value of a signed option.
func (v *Values) Int(name string) int64 { return int64(v.get(name, Int32, Int64).number) }

// Duration is the value of a Duration.
func (v *Values) Duration(name string) time.Duration { return v.get(name, Duration).duration }

// Text is the value of a Text, a Path or a Choice, empty if there is none.
func (v *Values) Text(name string) string {
	if x := v.get(name, Text, Path, Choice); len(x.texts) > 0 {
		return x.texts[0]
	}
	return ""
}

// Texts are the values of Texts; those of the command line come first.
func (v *Values) Texts(name string) []string { return v.get(name, Texts).texts }

// store adds what one source says. What an earlier source said stands, or is added
// to if the option is Composing (boost::program_options::store). An option whose value
// is not understood is as if it were not given; the error names all of them.
func (v *Values) store(t *table, from []Assignment, dashes string) error {
	var errs []error
	final := map[string]bool{}
	for name, x := range v.values {
		final[name] = !x.option.Composing && !x.defaulted
	}
	for _, a := range from {
		if final[a.Name] {
			continue
		}
		o, x := t.options[a.Name], v.values[a.Name]
		if x == nil || x.defaulted {
			x = &value{option: o}
			v.values[a.Name] = x
		} else if o.Kind != Texts {
			errs = append(errs, fmt.Errorf("option '%s%s' cannot be specified more than once", dashes, a.Name))
			continue
		}
		if err := x.parse(a.Values, dashes); err != nil {
			errs = append(errs, err)
			delete(v.values, a.Name)
		}
	}
	return errors.Join(errs...)
}

// fill gives options that were not given their defaults.
func (v *Values) fill(t *table) error {
	for _, o := range t.order {
		if v.values[o.Name] != nil || o.Default == "" && o.Kind != Switch {
			continue
		}
		x := &value{option: o, defaulted: true}
		text := o.Default
		if o.Kind == Switch {
			text = "false"
		}
		if err := x.parse([]string{text}, ""); err != nil {
			return err
		}
		v.values[o.Name] = x
	}
	return nil
}

// parse understands words as the option's kind.
func (x *value) parse(words []string, dashes string) error {
	o := x.option
	if o.Kind == Texts {
		x.texts = append(x.texts, words...)
		return nil
	}
	if len(words) == 0 { // a Flag or a Switch on the command line
		x.number = 1
		return nil
	}
	w := words[0]
	ok := true
	switch o.Kind {
	case Flag:
		x.number = 1
	case Switch, Bool:
		if x.number, ok = parseBool(w); !ok {
			return fmt.Errorf(
				"the argument ('%s') for option '%s%s' is invalid. Valid choices are 'on|off', 'yes|no', '1|0' and "+
					"'true|false'", w, dashes, o.Name)
		}
	case Text:
		x.texts = words[:1]
	case Path:
		if w, ok = parsePath(w); ok {
			x.texts = []string{w}
		}
	case Choice:
		if o.AnyCase {
			words = []string{strings.ToLower(w)}
		}
		x.texts, ok = words[:1], slices.Contains(o.Choices, words[0])
	case Duration:
		x.duration, ok = parseDuration(w)
	case Uint16, Uint32, Uint64:
		x.texts = words[:1]
		x.number, ok = parseUnsigned(w, map[Kind]int{Uint16: 16, Uint32: 32, Uint64: 64}[o.Kind])
	case Int32, Int64:
		n, err := strconv.ParseInt(w, 10, map[Kind]int{Int32: 32, Int64: 64}[o.Kind])
		x.number, ok = uint64(n), err == nil
	}
	if ok {
		return nil
	}
	if o.Kind == Choice {
		return fmt.Errorf("the argument for option '%s%s' is invalid: '%s' is none of %s%s", dashes, o.Name, w,
			strings.Join(o.Choices, ", "), appendSuccessor(o.Former, w))
	}
	if w != "" {
		w = " ('" + w + "')"
	}
	return fmt.Errorf("the argument%s for option '%s%s' is invalid%s", w, dashes, o.Name, o.expectedValue())
}

// expectedValue says what an option's value is, for whoever gave another; nothing of texts.
func (o *Option) expectedValue() string {
	what := ""
	switch o.Kind {
	case Path:
		what = "a path, in double quotes if it has spaces"
	case Choice:
		what = "one of " + strings.Join(o.Choices, ", ")
	case Duration:
		what = "a whole number of seconds, or a number with a unit, such as 90s or 5m"
	case Uint16, Uint32, Uint64, Int32, Int64:
		what = "a whole number" + o.unit() + o.bounds()
	}
	if what == "" {
		return ""
	}
	return ": " + what + " is expected"
}

// unit is that of a number, as the option's name or its text has it.
func (o *Option) unit() string {
	for end, unit := range map[string]string{
		"-mb": "MiB", "-gb": "GiB", "-us": "microseconds", "-ms": "milliseconds", "-msec": "milliseconds",
		"-sec": "seconds", "-seconds": "seconds", "-minutes": "minutes", "-pct": "percent", "-bytes": "bytes",
		"-body-size": "bytes", "-period": "seconds", "-block-age": "seconds", "-transaction-time": "milliseconds",
		"-provider-timeout": "milliseconds", "-space-threshold": "percent",
	} {
		if strings.HasSuffix(o.Name, end) {
			return " of " + unit
		}
	}
	return ""
}

// bounds are those that the kind of a number sets.
func (o *Option) bounds() string {
	switch o.Kind {
	case Uint16:
		return ", 0 to 65535,"
	case Uint32:
		return ", 0 to 4294967295,"
	case Int32:
		return ", -2147483648 to 2147483647,"
	}
	return ""
}

func parseBool(s string) (uint64, bool) {
	switch strings.ToLower(s) {
	case "", "on", "yes", "1", "true":
		return 1, true
	case "off", "no", "0", "false":
		return 0, true
	}
	return 0, false
}

// parsePath reads a path as std::filesystem reads one from a stream: up to a space,
// or in double quotes, where a backslash takes the next character as it is.
func parsePath(s string) (string, bool) {
	if !strings.HasPrefix(s, `"`) {
		return s, s != "" && !strings.ContainsAny(s, " \t\r\n\v\f")
	}
	var b strings.Builder
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '"':
			return b.String(), i == len(s)-1
		case '\\':
			if i++; i == len(s) {
				return "", false
			}
		}
		b.WriteByte(s[i])
	}
	return "", false
}

// parseUnsigned reads a number as boost::lexical_cast does: a negative one wraps
// around.
func parseUnsigned(s string, bits int) (uint64, bool) {
	digits, negative := strings.CutPrefix(s, "-")
	if !negative {
		digits = strings.TrimPrefix(s, "+")
	}
	n, err := strconv.ParseUint(digits, 10, bits)
	if negative {
		n = -n & (math.MaxUint64 >> (64 - bits))
	}
	return n, err == nil
}

func parseDuration(s string) (time.Duration, bool) {
	if n, err := strconv.ParseUint(s, 10, 32); err == nil {
		return time.Duration(n) * time.Second, true
	}
	d, err := time.ParseDuration(s)
	return d, err == nil && d >= 0
}
