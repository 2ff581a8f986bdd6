package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tarn/internal/didyoumean"
)

// Assignment is one option as it was given.
type Assignment struct {
	Name   string
	Values []string // words after it, or the value in the file
}

// table finds options.
type table struct {
	groups  []Group
	options map[string]*Option
	order   []*Option
}

func newTable() *table {
	t := &table{groups: Groups(), options: map[string]*Option{}}
	for _, g := range t.groups {
		for i := range g.Options {
			o := &g.Options[i]
			t.options[o.Name] = o
			t.order = append(t.order, o)
		}
	}
	return t
}

// find returns the option that a word of the command line means: a short one with
// its dash, or a long one without dashes, which may be cut short while only one
// begins so (boost::program_options: allow_guessing). nil is none.
func (t *table) find(word string) (*Option, error) {
	if o := t.options[word]; o != nil {
		return o, nil
	}
	var guesses []string
	for _, o := range t.order {
		if o.Short != "" && word == "-"+o.Short {
			return o, nil
		}
		if strings.HasPrefix(o.Name, word) {
			guesses = append(guesses, "'--"+o.Name+"'")
		}
	}
	switch len(guesses) {
	case 0:
		return nil, nil
	case 1:
		return t.options[strings.Trim(guesses[0], "'-")], nil
	}
	slices.Sort(guesses)
	last := len(guesses) - 1
	return nil, fmt.Errorf("option '--%s' is ambiguous and matches %s, and %s",
		word, strings.Join(guesses[:last], ", "), guesses[last])
}

func (o *Option) takesValue() bool { return o.Kind != Flag && o.Kind != Switch }

// token is a word of the command line that has been understood as an option, or,
// without a name, as none.
type token struct {
	word     string // the option's own
	key      string // how to find it
	values   []string
	option   *Option
	terminal bool // after "--"
}

// commandLine splits a command line into options, with the rules of
// boost::program_options' unix style. The error names all words that are not
// understood; the others are returned with it.
func (t *table) commandLine(args []string) ([]Assignment, error) {
	var list []token
	var errs []error
	for len(args) > 0 {
		next, rest, err := t.next(args)
		if err != nil {
			errs, rest = append(errs, err), args[1:]
			for len(rest) > 0 && !strings.HasPrefix(rest[0], "-") {
				rest = rest[1:] // what was to be its value
			}
		}
		list, args = append(list, next...), rest
	}
	var out []Assignment
	follows := false // a word that nobody knows
	for _, k := range gather(list) {
		if k.option != nil {
			out, follows = append(out, Assignment{k.option.Name, k.values}), false
			continue
		}
		if !follows || strings.HasPrefix(k.word, "-") {
			errs = append(errs, t.unknown(k.word, "--", "passed as command line argument"))
		}
		follows = true // the next one may be its value, which may be a secret
	}
	return out, errors.Join(errs...)
}

// next takes the first word off, with what belongs to it.
func (t *table) next(args []string) (list []token, rest []string, err error) {
	word, rest := args[0], args[1:]
	switch {
	case word == "--":
		for _, w := range rest {
			list = append(list, token{word: w, terminal: true})
		}
		return list, nil, nil
	case strings.HasPrefix(word, "--"):
		name, value, adjacent := strings.Cut(word[2:], "=")
		if adjacent && value == "" {
			return nil, nil, fmt.Errorf("the argument for option '--%s' should follow immediately after the equal sign",
				name)
		}
		list = []token{{word: word, key: name}}
		if adjacent {
			list[0].values = []string{value}
		}
	case len(word) > 1 && word[0] == '-':
		if list, err = t.short(word); err != nil {
			return nil, nil, err
		}
	default:
		return []token{{word: word}}, rest, nil
	}
	for i := range list {
		following := []string(nil)
		if i == len(list)-1 {
			following = rest
		}
		used, err := t.finish(&list[i], following)
		if err != nil {
			return nil, nil, err
		}
		rest = rest[used:]
	}
	return list, rest, nil
}

// short splits a word of short options: those without a value may stand together,
// and a value may follow without a space.
func (t *table) short(word string) ([]token, error) {
	var list []token
	name, more := word[:2], word[2:]
	for {
		o, err := t.find(name)
		if err != nil {
			return nil, err
		}
		if o == nil || o.takesValue() || more == "" {
			k := token{word: word, key: name}
			if more != "" {
				k.values = []string{more}
			}
			return append(list, k), nil
		}
		list = append(list, token{word: word, key: name})
		name, more = "-"+more[:1], more[1:]
	}
}

// finish finds a token's option, and takes its value from the words that follow if
// it needs one and has none. It returns how many it took.
func (t *table) finish(k *token, following []string) (used int, err error) {
	if k.option, err = t.find(k.key); err != nil {
		return 0, err
	}
	switch o := k.option; {
	case o == nil:
		return 0, t.unknown(k.word, "--", "passed as command line argument")
	case !o.takesValue() && len(k.values) > 0:
		return 0, fmt.Errorf("option '--%s' does not take any arguments", o.Name)
	case !o.takesValue() || len(k.values) > 0:
		return 0, nil
	case len(following) == 0 || t.isShort(following[0]):
		return 0, fmt.Errorf("the required argument for option '--%s' is missing%s", o.Name, o.expectedValue())
	}
	k.values = following[:1:1]
	return 1, nil
}

// isShort tells whether a word is a known short option. Long ones with their dashes
// are taken for values here, as boost::program_options does.
func (t *table) isShort(word string) bool {
	return slices.ContainsFunc(t.order, func(o *Option) bool { return o.Short != "" && word == "-"+o.Short })
}

// gather gives the words that stand alone to the option before them, if it takes
// many.
func gather(list []token) []token {
	var out []token
	for _, k := range list {
		if last := len(out) - 1; k.option == nil && !k.terminal && last >= 0 && out[last].option != nil &&
			out[last].option.Multitoken {
			out[last].values = append(out[last].values, k.word)
			continue
		}
		out = append(out, k)
	}
	return out
}

// unknown is the error for a word that is no option. nodeos stops after where.
// The nearest known one begins with dashes there.
func (t *table) unknown(word, dashes, where string) error {
	near := t.nearest(word)
	name, _, valued := strings.Cut(word, "=")
	now := appendSuccessor(removedOptions(), strings.ReplaceAll(strings.TrimLeft(name, "-"), "_", "-"))
	if o := t.options[near]; valued && (now != "" || o != nil && o.Secret) {
		word = name + "=***"
	}
	text := fmt.Sprintf("Unknown option '%s' %s", word, where)
	if now != "" {
		text += now
	} else if near != "" {
		text += fmt.Sprintf(" (the nearest known one is '%s%s')", dashes, near)
	}
	return fmt.Errorf("%s", text)
}

// nearest returns the option whose name is fewest changes away, or none if it is not alike.
func (t *table) nearest(word string) string {
	word, _, _ = strings.Cut(strings.TrimLeft(word, "-"), "=")
	names := make([]string, len(t.order))
	for i, o := range t.order {
		names[i] = o.Name
	}
	return didyoumean.Name(strings.ReplaceAll(word, "_", "-"), names)
}
