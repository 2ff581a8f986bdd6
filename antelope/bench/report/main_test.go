package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
)

func TestFlagsChooseAndScale(t *testing.T) {
	o, c, err := parse([]string{"-short", "-only", "push,p2p", "-state-size", "7", "-rounds", "2"}, io.Discard)
	if err != nil || o.only != "push,p2p" || c.StateBytes != 7<<20 || c.Rounds != 2 || c.Full != 4000 {
		t.Errorf("%+v %+v %v", o, c, err)
	}
	if _, _, err := parse([]string{"more"}, io.Discard); err == nil {
		t.Error("an argument that is no flag is no error")
	}
	var help bytes.Buffer
	if _, _, err := parse([]string{"-help"}, &help); err == nil || !strings.Contains(help.String(), "snapshot") {
		t.Errorf("%v: %s", err, help.String())
	}
}
