package web3js

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"
)

func TestTheFilesAreThoseOfTheRelease(t *testing.T) {
	for _, f := range []struct{ name, text, sum string }{
		{"web3.js", Script(), "21895d550fa93c10adde14ccaef70b18a8b6a9dcb44c4e4c116cf7e075e09fb2"},
		{"LICENSE", Licence(), "a8724a823bd30148659e25a94f2e2bd65d78bcf93a1eaabb6b9c466571880e8d"},
	} {
		if got := fmt.Sprintf("%x", sha256.Sum256([]byte(f.text))); got != f.sum {
			t.Errorf("%s of web3.js %s has the sum %s, not %s", f.name, Version, got, f.sum)
		}
	}
	if !strings.Contains(Script(), `"version": "`+Version+`"`) {
		t.Errorf("the script does not say that it is version %s", Version)
	}
}
