package didyoumean

import (
	"strings"
	"testing"
)

func TestTheNearestNameIsFound(t *testing.T) {
	names := []string{"datadir", "cache", "h", "http.addr", "http.port"}
	for word, want := range map[string]string{
		"datdir": "datadir", "dtaadir": "datadir", "http.adr": "http.addr", "http-port": "http.port", "cache": "cache",
		"": "", "y": "", "verbosity": "", strings.Repeat("x", longest+1): "",
	} {
		if got := Name(word, names); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := Name("x", nil); got != "" {
		t.Errorf("of no names: %q", got)
	}
}
