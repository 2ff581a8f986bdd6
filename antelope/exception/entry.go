package exception

import (
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	"tarn/internal/invariants"
)

// Level is how grave nodeos takes an entry of a stack.
type Level string

// The levels of entries: what an exception says where it arises is an error, what is said of it
// on its way out a warning.
const (
	LevelError Level = "error"
	LevelWarn  Level = "warn"
)

// Entry is one thing that was said of an exception (libfc: log_message): a format, and the
// values for it. It doesn't change.
type Entry struct {
	Level  Level
	Format string // has the values that it shows as ${key}

	values []any     // keys and values in turn
	at     time.Time // when it was said
	pc     uintptr   // where it was said; 0 if that is not known
}

// JSON is a value that says itself how nodeos shows it.
type JSON interface{ AppendJSON(b []byte) []byte }

// entry is what the caller of the function that calls it says.
func entry(l Level, format string, values []any) Entry {
	if invariants.Enabled {
		check(format, values)
	}
	var pc [1]uintptr
	runtime.Callers(3, pc[:])
	return Entry{Level: l, Format: format, values: values, at: time.Now(), pc: pc[0]}
}

// check checks that values are such as an entry may have.
func check(format string, values []any) {
	for i, v := range values {
		if i%2 == 0 {
			_, ok := v.(string)
			invariants.Check(ok && i+1 < len(values), "%q has the value %v without a key", format, v)
			continue
		}
		r := reflect.ValueOf(v)
		_, text := v.(string)
		_, json := v.(JSON)
		_, truth := v.(bool)
		invariants.Check(text || json || truth || r.CanInt() || r.CanUint(), "%q has a value of type %T", format, v)
	}
}

// Unplaced is an entry for what is no exception: a text, from nowhere in particular.
func Unplaced(text string) *Entry {
	return &Entry{Level: LevelError, Format: "${what}", values: []any{"what", text}}
}

// Values calls do for each value, in their order, with its key. A value is a string, a boolean,
// an integer, or [JSON].
func (e *Entry) Values(do func(key string, value any)) {
	for i := 0; i+1 < len(e.values); i += 2 {
		if key, ok := e.values[i].(string); ok {
			do(key, e.values[i+1])
		}
	}
}

// Time is when it was said; zero if that is not known.
func (e *Entry) Time() time.Time { return e.at }

// Place is where in our source it was said: the file's name, the line, and the function without
// its package; empty if that is not known.
func (e *Entry) Place() (file string, line int, function string) {
	if e.pc == 0 {
		return "", 0, ""
	}
	f, _ := runtime.CallersFrames([]uintptr{e.pc}).Next()
	name := f.Function[strings.LastIndexByte(f.Function, '/')+1:]
	_, function, _ = strings.Cut(name, ".")
	return filepath.Base(f.File), f.Line, function
}
