package config

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// value is where a flag's text goes.
type value struct {
	bool bool
	set  func(text string) error
	show string // the default, as --help prints it
}

func text(p *string) value {
	return value{set: func(s string) error { *p = s; return nil }, show: quoteString(*p)}
}

func quoteString(s string) string {
	if s == "" {
		return ""
	}
	return strconv.Quote(s)
}

func toggle(p *bool) value {
	return value{bool: true, set: func(s string) error {
		b, err := strconv.ParseBool(s)
		*p = b
		return err
	}}
}

func number[T ~int | ~uint32 | ~uint64](p *T) value {
	return value{show: fmt.Sprint(*p), set: func(s string) error {
		n, err := strconv.ParseUint(s, 0, 64)
		if err == nil && uint64(T(n)) != n || err == nil && T(n) < 0 {
			err = strconv.ErrRange
		}
		*p = T(n)
		return err
	}}
}

func fraction(p *float64) value {
	return value{show: fmt.Sprint(*p), set: func(s string) (err error) {
		*p, err = strconv.ParseFloat(s, 64)
		return err
	}}
}

func period(p *time.Duration) value {
	return value{show: p.String(), set: func(s string) (err error) {
		*p, err = time.ParseDuration(s)
		return err
	}}
}

// list is separated by commas.
func list(p *[]string) value {
	return value{show: quoteString(strings.Join(*p, ",")), set: func(s string) error {
		*p = []string{}
		for part := range strings.SplitSeq(s, ",") {
			if part = strings.TrimSpace(part); part != "" {
				*p = append(*p, part)
			}
		}
		return nil
	}}
}

// choice is one of some words.
func choice(p *string, words ...string) value {
	return value{show: quoteString(*p), set: func(s string) error {
		for _, w := range words {
			if s == w {
				*p = s
				return nil
			}
		}
		return fmt.Errorf("must be %s", strings.TrimPrefix(strings.Join(words, " or "), " or "))
	}}
}

// withShownDefault is a value with another default in --help.
func (v value) withShownDefault(show string) value {
	v.show = show
	return v
}

// unusedOption takes what has no meaning here, of a kind.
func unusedOption(show string) value {
	return value{set: func(string) error { return nil }, show: show}
}

func unusedToggle() value { return toggle(new(bool)) }
