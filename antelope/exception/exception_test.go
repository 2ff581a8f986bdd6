package exception_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"tarn/antelope/exception"
)

func TestErrorsAreOfTheirKindAndOfThoseItDerivesFrom(t *testing.T) {
	cause := errors.New("cause")
	err := fmt.Errorf("pushing: %w", exception.Wrap(exception.TxDuplicate, cause, "transaction ${n}", "n", 5))
	if !exception.Is(err, exception.TxDuplicate) || !exception.Is(err, exception.Transaction) ||
		!exception.Is(err, exception.ChainException) ||
		!exception.Is(err, exception.Database, exception.Transaction) {
		t.Error("the error is not of its kinds")
	}
	if exception.Is(err, exception.ExpiredTx) || exception.Is(err, exception.Database) || exception.Is(err) ||
		exception.Is(cause, exception.Transaction) || exception.Is(nil, exception.Transaction) {
		t.Error("the error is of other kinds")
	}
	e := exception.Of(err)
	if e == nil || e.Message() != "transaction 5" || !errors.Is(err, cause) {
		t.Errorf("found %v", e)
	}
	if got, want := err.Error(),
		"pushing: 3040008 tx_duplicate: Duplicate transaction: transaction 5: cause"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if exception.Of(cause) != nil || exception.Of(nil) != nil {
		t.Error("an exception of nothing")
	}
	if (*exception.Kind)(nil).Is(exception.Transaction) {
		t.Error("no kind is of a kind")
	}
}

func TestTheOutermostExceptionDecides(t *testing.T) {
	inner := exception.New(exception.SymbolType, "inner")
	err := exception.Wrap(exception.Unpack, fmt.Errorf("at 5: %w", inner), "outer")
	if !exception.Is(err, exception.Unpack) || exception.Is(err, exception.SymbolType) {
		t.Errorf("kind of %v", err)
	}
}

// kinds reads the declarations of a file of the package: code, name, what, base.
func kinds(t *testing.T, file string) (out []map[string]string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		unary, ok := spec.Values[0].(*ast.UnaryExpr)
		if !ok {
			return true
		}
		kind := map[string]string{"go": spec.Names[0].Name}
		for i, e := range unary.X.(*ast.CompositeLit).Elts {
			field := []string{"Code", "Name", "What", "Base"}[i]
			switch v := e.(type) {
			case *ast.BasicLit:
				text := v.Value
				if v.Kind == token.STRING {
					text, _ = strconv.Unquote(text)
				}
				kind[field] = text
			case *ast.Ident:
				if v.Name != "nil" {
					kind[field] = v.Name
				}
			}
		}
		out = append(out, kind)
		return true
	})
	return out
}

func TestKindsAreDistinctAndInTheRangeOfTheirBase(t *testing.T) {
	codes, names := map[string]string{}, map[string]string{}
	byName := map[string]map[string]string{}
	for _, file := range []string{"kinds.go", "fc.go"} {
		list := kinds(t, file)
		if len(list) < 10 {
			t.Fatalf("%d kinds in %s", len(list), file)
		}
		for _, k := range list {
			byName[k["go"]] = k
			if other := codes[k["Code"]]; other != "" {
				t.Errorf("%s and %s have code %s", other, k["go"], k["Code"])
			}
			if other := names[k["Name"]]; other != "" {
				t.Errorf("%s and %s have name %s", other, k["go"], k["Name"])
			}
			codes[k["Code"]], names[k["Name"]] = k["go"], k["go"]
			if k["What"] == "" || k["Name"] == "" || k["Name"] != strings.ToLower(k["Name"]) {
				t.Errorf("%s: name %q, what %q", k["go"], k["Name"], k["What"])
			}
			if k["Base"] == "" && k["go"] != "ChainException" && k["go"] != "FCUnspecified" {
				t.Errorf("%s has no base", k["go"])
			}
		}
	}
	for name, k := range byName {
		base := byName[k["Base"]]
		if base == nil || len(k["Code"]) != 7 || base["go"] == "ChainException" {
			continue
		}
		// A family shares the digits before its last four, or three.
		if code, from := k["Code"], base["Code"]; code[:3] != from[:3] {
			t.Errorf("%s has code %s, its base %s", name, code, from)
		}
	}
}

func TestAnExceptionKnowsItsPlace(t *testing.T) {
	for _, e := range []*exception.Error{exception.New(exception.TxDuplicate, "x"),
		exception.Wrap(exception.TxDuplicate, nil, "x")} {
		if file, line, function := e.Place(); file != "exception_test.go" || line == 0 ||
			function != "TestAnExceptionKnowsItsPlace" {
			t.Errorf("%s:%d %s", file, line, function)
		}
	}
	if file, line, function := new(exception.Error).Place(); file != "" || line != 0 || function != "" {
		t.Errorf("%s:%d %s", file, line, function)
	}
}

func TestWhatIsSaidLaterIsKeptBesideTheException(t *testing.T) {
	first := exception.New(exception.TxDuplicate, "x")
	second := first.With("${a} and ${b}", "b", "${a}", "a", "1")
	third, other := second.With("third"), second.With("other")
	if len(first.Later()) != 0 || len(second.Later()) != 1 || len(third.Later()) != 2 ||
		other.Later()[1].Format != "other" || third.Later()[1].Format != "third" {
		t.Errorf("%v %v %v %v", first.Later(), second.Later(), third.Later(), other.Later())
	}
	n := third.Later()[0]
	if text := n.Text(); text != "1 and ${a}" {
		t.Error(text)
	}
	if file, line, function := n.Place(); file != "exception_test.go" || line == 0 ||
		function != "TestWhatIsSaidLaterIsKeptBesideTheException" {
		t.Errorf("%s:%d %s", file, line, function)
	}
	if third.Error() != first.Error() || !exception.Is(third, exception.TxDuplicate) {
		t.Error(third)
	}
}

// The stack is in the order of nodeos: what stands for another comes first, then that one, and
// at the end what was said of both.
func TestTheStackHasWhatCausedAnException(t *testing.T) {
	cause := exception.New(exception.UnsatisfiedAuthorization, "cause").With("of the cause")
	e := exception.Wrap(exception.Unpack, fmt.Errorf("somewhere: %w", cause), "first").With("of both")
	var got []string
	for _, s := range e.Stack() {
		if s.Time().IsZero() {
			t.Errorf("%q has no time", s.Format)
		}
		got = append(got, string(s.Level)+" "+s.Format)
	}
	want := "warn first, error cause, warn of the cause, warn of both"
	if strings.Join(got, ", ") != want {
		t.Errorf("%q, want %q", got, want)
	}
	if s := exception.New(exception.Unpack, "first").From(cause).Stack(); len(s) != 3 ||
		s[0].Level != exception.LevelError {
		t.Errorf("%v", s)
	}
	if s := exception.Recast(exception.Unpack, "what", "first", "k", 1).Stack(); len(s) != 1 ||
		s[0].Text() != "first (what)" || s[0].Level != exception.LevelWarn {
		t.Errorf("%v", s)
	}
	if e.Thread() != "nodeos" || e.In("read-0").Thread() != "read-0" || e.Thread() != "nodeos" {
		t.Error("threads")
	}
}

func TestACopiedExceptionOfTheChainHasNoClass(t *testing.T) {
	e := exception.New(exception.TxDuplicate, "x")
	c := e.Copied()
	if !exception.Is(e, exception.TxDuplicate) || exception.Is(c, exception.TxDuplicate) ||
		exception.Is(c, exception.ChainException) || c.Error() != e.Error() {
		t.Errorf("%v of %+v", c, c.Kind)
	}
	if e := exception.New(exception.FCEndOfFile, "x"); e.Copied() != e {
		t.Error("a class of the foundation library is lost")
	}
}

// What is not nodeos' own is wrapped by the first note.
func TestAStandardExceptionGoesOnWithItsFirstNote(t *testing.T) {
	e := exception.Standard(exception.LogicError, "taken").With("one ${x}", "x", "2")
	if e.Message() != "taken: one 2" || e.Said().Format != "${what}: one ${x}" || e.Kind.What != "taken" ||
		len(e.Later()) != 0 {
		t.Errorf("%+v", e)
	}
	if e = e.With("two"); e.Message() != "taken: one 2" || len(e.Later()) != 1 {
		t.Errorf("%+v", e)
	}
	if e := exception.Standard(exception.LogicError, "taken %d", 5); e.Message() != "rethrow taken 5: " {
		t.Error(e.Message())
	}
}
