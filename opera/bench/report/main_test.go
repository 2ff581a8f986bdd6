package main

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"testing"
)

func TestFlagsChooseAndScale(t *testing.T) {
	o, c, err := parse([]string{"-short", "-only", "import", "-engines", "heap,badger", "-tokens", "7", "-rounds", "2"}, io.Discard)
	if err != nil || o.only != "import" || c.Work.Tokens != 7 || c.Rounds != 2 || c.Work.Plain != 300 || !slices.Equal(c.Engines, []string{"heap", "badger"}) {
		t.Errorf("%+v %+v %v", o, c, err)
	}
	if _, _, err := parse([]string{"more"}, io.Discard); err == nil {
		t.Error("an argument that is no flag is no error")
	}
	c.Dir, c.Chains, c.Tarn, c.Engines = "a", "b", "c", []string{"quick"}
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "quick") {
		t.Errorf("an engine that is none: %v", err)
	}
	var help bytes.Buffer
	if _, _, err := parse([]string{"-help"}, &help); err == nil || !strings.Contains(help.String(), "slots") {
		t.Errorf("%v: %s", err, help.String())
	}
}
