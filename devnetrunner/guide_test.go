package devnetrunner

import (
	"bytes"
	"testing"
)

func TestAGuideNamesWhatClientsReach(t *testing.T) {
	const text = "API: {http}\n{page}\n\n{tarn} {dir} {second} {p2p} {disk}\n{log}Ctrl-C\n"
	o := Options{Dir: "a", HTTP: "0.0.0.0:1", P2P: ":2", Page: "[::]:3", Tarn: "tarn"}
	want := "API: 127.0.0.1:1\nLive page (disk, memory, processor): http://127.0.0.1:3/\n\ntarn a " +
		"a/second 127.0.0.1:2 none\nThe node's log is a/node.log. Ctrl-C\n"
	if got := o.Fill(text, "{disk}", "none"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	o = Options{Dir: "a", HTTP: "10.0.0.1:1", P2P: "name:2", Tarn: "tarn", Log: &bytes.Buffer{}}
	want = "API: 10.0.0.1:1\n\ntarn a a/second name:2 none\nCtrl-C\n"
	if got := o.Fill(text, "{disk}", "none"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
