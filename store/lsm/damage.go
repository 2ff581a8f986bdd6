package lsm

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"tarn/store"
)

// What libraries call their files, and where in them they say that something is.
var (
	libraryFile = regexp.MustCompile(
		`\b(\d{5,6}\.(sst|ldb|log|mem|vlog)|MANIFEST(-\d{6})?|OPTIONS-\d{6}|CURRENT|KEYREGISTRY|DISCARD)\b`)
	libraryAt = regexp.MustCompile(`\b(?:pos=|offset[ :=]|mismatch at )(\d+)`)
)

// complaints are what libraries say, in the order in which it is looked for, and what
// that means for those who have no library's source at hand.
var complaints = []struct {
	says, means string
}{
	{"checksum", "has a wrong checksum"},
	{"no such file", "is missing"},
	{"missing", "is missing or damaged"},
	{"EOF", "ends too early"},
	{"too short", "ends too early"},
	{"truncat", "ends too early"},
	{"greater than file size", "ends too early"},
}

// Damaged is what a library found wrong with a file, or with its folder where it names no
// file, in words that do not need the library's source: path is that of either.
func Damaged(path string, err error) *store.CorruptError {
	text := err.Error()
	e := &store.CorruptError{Path: path, Table: -1, Page: -1, Offset: -1}
	subject, verdict := "it", "cannot be decoded"
	if !libraryFile.MatchString(filepath.Base(path)) {
		if name := libraryFile.FindString(text); name != "" {
			e.Path = filepath.Join(path, name)
		} else if strings.Contains(text, "entry point") {
			e.Path = filepath.Join(path, "CURRENT") // which names the list of files
		} else {
			subject = "one of its files"
			if strings.Contains(text, "WAL") {
				subject = "one of its logs"
			}
		}
	}
	if at := libraryAt.FindStringSubmatch(text); at != nil {
		if n, err := strconv.ParseInt(at[1], 10, 64); err == nil {
			e.Offset = n
		}
	}
	for _, c := range complaints {
		if strings.Contains(text, c.says) {
			verdict = c.means
			break
		}
	}
	e.Detail = subject + " " + verdict
	return e
}
