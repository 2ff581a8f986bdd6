package node

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"tarn/opera/difftest"
)

// frames are where in which text an error happened: the texts are of other versions.
var frames = regexp.MustCompile(`\n\tat .*| at (web3\.js|native|modules\.js).*`)

// Both consoles print the same of the same node.
func TestTheConsolePrintsWhatGoOperasDoes(t *testing.T) {
	peer, err := difftest.Judge(t.Context())
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	node, err := peer.Start(t.Context(), difftest.Config{Dir: filepath.Join(t.TempDir(), "peer"), Validators: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := node.Stop(); err != nil {
			t.Error(err)
		}
	}()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "s.js"), []byte(`console.log("script", ftm.blockNumber); 1`),
		0o600); err != nil {
		t.Fatal(err)
	}
	list, err := os.ReadFile(filepath.Join("testdata", "console.txt"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(list)) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		args := []string{"attach", "--datadir", dir, "--jspath", dir, "--exec", line, node.URL()}
		want := theirAnswer(t, peer, dir, "", args...)
		got := ourAnswer(t, dir, "", args...)
		want.out, got.out = frames.ReplaceAllString(want.out, ""), frames.ReplaceAllString(got.out, "")
		// Errors of functions written in Go are of another class there.
		want.out = strings.TrimPrefix(strings.Replace(want.out, "GoError: Error: ", "GoError: ", 1), "GoError: ")
		got.out = strings.TrimPrefix(strings.TrimPrefix(got.out, "GoError: "), "Error: ")
		want.out = strings.TrimPrefix(want.out, "Error: ")
		if got != want {
			t.Errorf("%s\nours     %+v\ngo-opera %+v", line, got, want)
		}
	}
	for _, args := range [][]string{
		{"attach", filepath.Join(dir, "none.ipc")}, {"attach"},
		{"attach", "--preload", "none.js", "--exec", "1", node.URL()},
		{"attach", "--preload", "s.js", "--jspath", dir, "--exec", "1", node.URL()},
		{"attach", "--exec", "1", "rpc:" + node.URL()},
	} {
		args = append([]string{"--datadir", dir}, args...)
		input := "ftm.blockNumber\nvar a = {\nx: 1}\na\nexit\n"
		want, got := theirAnswer(t, peer, dir, input, args...), ourAnswer(t, dir, input, args...)
		if got != want {
			t.Errorf("%q\nours     %+v\ngo-opera %+v", args, got, want)
		}
	}
	args := []string{"attach", "--datadir", dir, node.URL()}
	input := "ftm.blockNumber\nvar a = {\nx: 1}\n\na\npersonal.newAccount()\none\ntwo\nexit\n"
	want, got := theirAnswer(t, peer, dir, input, args...), ourAnswer(t, dir, input, args...)
	want.out, got.out = strings.Replace(frames.ReplaceAllString(want.out, ""), "GoError",
		"Error", 1), frames.ReplaceAllString(got.out, "")
	if got != want {
		t.Errorf("a conversation:\nours     %+v\ngo-opera %+v", got, want)
	}
}
