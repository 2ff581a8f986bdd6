package subjectflag

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestSubjectsAreRead(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "node:os") // a colon may be in a path
	if err := os.WriteFile(other, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(dir, "opera")
	if err := os.WriteFile(plain, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	text := "tarn,tarn:pebble,nodeos=" + other + ":mapped_private,tarn=" + plain + ":heap"
	all, err := Parse(text, plain)
	if err != nil {
		t.Fatal(err)
	}
	want := []Subject{
		{"tarn", Tarn, plain, "mapped_private"}, {"tarn:pebble", Tarn, plain, "pebble"},
		{"nodeos=" + other + ":mapped_private", Nodeos, other, "mapped_private"},
		{"tarn=" + plain + ":heap", Tarn, plain, "heap"},
	}
	for i, w := range want {
		if i >= len(all) || all[i] != w {
			t.Fatalf("%q is %+v, want %+v", text, all, want)
		}
	}
	all, err = Parse("tarn:leveldb+seek,tarn:leveldb", plain)
	if err != nil {
		t.Fatal(err)
	}
	for i, seeks := range []bool{true, false} {
		if kind, seeking := all[i].Engine(); kind != "leveldb" || seeking != seeks {
			t.Errorf("%s is %s, %v", all[i].Name, kind, seeking)
		}
	}
	all, err = Parse("opera="+plain, plain)
	if err != nil || all[0] != (Subject{"opera=" + plain, Opera, plain, "pbl-1"}) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestWhatIsNoSubjectIsRefused(t *testing.T) {
	dir := t.TempDir()
	data := filepath.Join(dir, "data")
	if err := os.WriteFile(data, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for text, why := range map[string]string{
		"":                      `no program is called ""`,
		"geth":                  `no program is called "geth"`,
		"tarn:":                 "no mode after the colon",
		"tarn:ldb-1":            "no mode",
		"nodeos:mapped":         "its path is missing",
		"nodeos=":               "its path is empty",
		"nodeos=:mapped":        "its path is empty",
		"nodeos=" + data:        "find the program",
		"nodeos=" + dir + "/no": "find the program",
		"nodeos=/bin/sh:pebble": "no mode",
		"tarn:heap,tarn:heap":   "named twice",
		"tarn:heap,,tarn":       `subject ""`,
	} {
		if all, err := Parse(text, "/bin/sh"); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v, want %q", text, all, err, why)
		}
	}
}

func TestOneProtocolIsMeasuredAtATime(t *testing.T) {
	tarn, nodeos, opera := Subject{Program: Tarn}, Subject{Program: Nodeos}, Subject{Program: Opera}
	for _, c := range []struct {
		all         []Subject
		asked, want string
	}{{nil, "", Antelope}, {[]Subject{tarn}, "", Antelope}, {[]Subject{tarn, nodeos}, "", Antelope},
		{[]Subject{opera, tarn}, "", OperaNet}, {[]Subject{nodeos, tarn, opera}, "", ""},
		{[]Subject{tarn}, OperaNet, OperaNet}, {[]Subject{tarn, nodeos}, OperaNet, ""},
		{[]Subject{tarn}, "bitcoin", ""}} {
		if got, err := Protocol(c.all, c.asked); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%v: %q, %v, want %q", c.all, got, err, c.want)
		}
	}
}
