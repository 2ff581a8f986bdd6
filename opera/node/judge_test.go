package node

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"tarn/opera/difftest"
)

// tarn runs a command of ours over a folder, and returns what it prints.
func tarn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	var out, said bytes.Buffer
	c := Command("test")
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetOut(&out)
	c.SetErr(&said)
	c.SetArgs(append([]string{"--datadir", dir, "--datadir.minfreedisk", "0"}, args...))
	if err := (*cobra.Command).ExecuteContext(c, t.Context()); err != nil {
		t.Fatalf("%v: %v\n%s", args, err, said.String())
	}
	return out.String()
}

// content is what is in a compressed file.
func content(t *testing.T, path string) []byte {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What either node exports, the other one imports, with the same records, root and events.
// The chains are some that a go-opera made, the second one's last epoch without validators.
func TestGoOperaImportsWhatIsExportedAndTheOtherWay(t *testing.T) {
	for _, events := range []string{events, abandoned} {
		t.Run(filepath.Base(events), func(t *testing.T) { exchange(t, events) })
	}
}

func exchange(t *testing.T, events string) {
	ctx := context.Context(t.Context())
	peer, err := difftest.Judge(ctx)
	if errors.Is(err, difftest.ErrNoPeer) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	tarn(t, at("ours"), "--fakenet", "0/1", "import", "events", events)
	tarn(t, at("ours"), "export", "events", at("ours.gz"))
	ours := tarn(t, at("ours"), "export", "genesis", at("ours.g"))

	// From the fakenet's beginning, by our events.
	theirs := difftest.Config{Dir: at("theirs"), Validators: 1}
	must(peer.ImportEvents(ctx, theirs, at("ours.gz")))
	must(peer.ExportEvents(ctx, theirs, at("theirs.gz"), 1))
	must(peer.ExportGenesis(ctx, theirs, at("theirs.g"), "mpt"))
	if !bytes.Equal(content(t, at("ours.gz")), content(t, at("theirs.gz"))) {
		t.Error("the exported events differ")
	}
	// From our genesis, which it checks, by the events after it, to the same genesis again.
	second := difftest.Config{Dir: at("second"), Genesis: at("ours.g")}
	begins := []string{"theirs"}
	err = peer.ImportEvents(ctx, second, at("ours.gz"))
	if events == abandoned {
		// go-opera lives without validators, and does not begin so.
		if err == nil || !strings.Contains(err.Error(), "genesis validators shouldn't be empty") {
			t.Errorf("a genesis without validators: %v", err)
		}
	} else {
		must(err)
		must(peer.ExportGenesis(ctx, second, at("second.g"), "mpt"))
		begins = append(begins, "second")
	}
	// From its folder, now that it has ended.
	tarn(t, at("taken"), "import", "datadir", filepath.Join(theirs.Dir, "data"))
	tarn(t, at("taken"), "check")
	if got := tarn(t, at("taken"), "export", "genesis", dryRun); got != ours {
		t.Errorf("from go-opera's folder\n%swant\n%s", got, ours)
	}
	// From either genesis, by ours.
	for _, from := range begins {
		place := at("ours from " + from)
		tarn(t, place, "--genesis.allowExperimental", "import", "genesis", at(from+".g"))
		tarn(t, place, "import", "events", at("theirs.gz"))
		tarn(t, place, "check")
		if got := tarn(t, place, "export", "genesis", dryRun); got != ours {
			t.Errorf("from the genesis of %s\n%swant\n%s", from, got, ours)
		}
	}
}
