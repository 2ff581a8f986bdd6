package dbtool

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"
)

// formatGrouped writes a number with its thousands apart: 1,234,567.
func formatGrouped(n int64) string {
	s := strconv.FormatInt(n, 10)
	start := 0
	if n < 0 {
		start = 1
	}
	for i := len(s) - 3; i > start; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// size writes bytes in the unit that fits: 1.5 GiB; ? if they are not known.
func size(n int64) string {
	if n < 0 {
		return "? bytes"
	}
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB", "PiB"}
	v, u := float64(n), 0
	for v >= 1024 && u < len(units)-1 {
		v, u = v/1024, u+1
	}
	if u == 0 {
		return fmt.Sprintf("%d bytes", n)
	}
	return fmt.Sprintf("%.1f %s", v, units[u])
}

// parseSize reads what size writes, and the short forms: 4G, 512M, 1.5 GiB. All
// units are powers of 1024.
func parseSize(s string) (int64, error) {
	text := strings.TrimSpace(s)
	digits := strings.TrimRight(text, " BbIiKkMmGgTtEeSsYy")
	unit := strings.ToLower(strings.TrimSpace(text[len(digits):]))
	shift := map[string]uint{
		"": 0, "b": 0, "bytes": 0, "k": 10, "kb": 10, "kib": 10, "m": 20, "mb": 20, "mib": 20,
		"g": 30, "gb": 30, "gib": 30, "t": 40, "tb": 40, "tib": 40,
	}
	bits, ok := shift[unit]
	v, err := strconv.ParseFloat(digits, 64)
	v *= float64(int64(1) << bits)
	if err != nil || !ok || !(v >= 0 && v <= 1<<62) { // NaN is neither
		return 0, fmt.Errorf("%q is no size; write for example 512M, 64G or a number of bytes", s)
	}
	return int64(v), nil
}

// sizeFlag is a size on the command line.
type sizeFlag int64

func (f *sizeFlag) String() string { return strconv.FormatInt(int64(*f), 10) }
func (f *sizeFlag) Type() string   { return "size" }
func (f *sizeFlag) Set(s string) error {
	n, err := parseSize(s)
	*f = sizeFlag(n)
	return err
}

// printable shows bytes as text, with dots for what is none.
func printable(b []byte) string {
	out := make([]byte, len(b))
	for i, c := range b {
		if out[i] = c; c < ' ' || c > '~' {
			out[i] = '.'
		}
	}
	return string(out)
}

// ago writes how long ago something was, to the second.
func ago(seconds float64) string {
	if seconds < 0 {
		return "in the future by this machine's clock"
	}
	return (time.Duration(seconds) * time.Second).String() + " ago"
}

func writeJSON(w io.Writer, v any) error {
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}
