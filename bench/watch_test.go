package bench

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tarn/bench/record"
	"tarn/bench/suite"
)

// sleeper is a process to be watched.
func sleeper(t *testing.T, length string) *exec.Cmd {
	t.Helper()
	c := exec.Command("sleep", length)
	if err := c.Start(); err != nil {
		t.Skip("there is no program sleep here:", err)
	}
	return c
}

func TestAWatchEndsWithItsProcess(t *testing.T) {
	c := sleeper(t, "600")
	ended := make(chan error, 1)
	// The watch has begun when it asks.
	node := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		_ = c.Process.Kill()
		ended <- c.Wait() // else it is there, ended
	}))
	defer node.Close()
	w, err := Watch(t.Context(), Watched{PID: c.Process.Pid, For: time.Minute, URL: node.URL})
	if err != nil || w.Ended != record.EndGone || len(w.Samples) < 1 {
		t.Fatalf("%+v, %v", w, err)
	}
}

func TestAnInterruptedWatchSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	w, err := Watch(ctx, Watched{PID: os.Getpid(), For: time.Minute})
	if err != nil || w.Ended != record.EndInterrupted || len(w.Samples) < 2 {
		t.Fatalf("%+v, %v", w, err)
	}
}

func TestAWatchWithoutAProcessFails(t *testing.T) {
	if w, err := Watch(t.Context(), Watched{PID: 1 << 30, For: time.Second}); err == nil || w != nil {
		t.Fatal(w, err)
	}
}

// bench runs the command line and returns its words and exit code.
func bench(t *testing.T, ctx context.Context, args ...string) (out, log string, code int) {
	t.Helper()
	c := Command()
	var o, l strings.Builder
	c.SetOut(&o)
	c.SetErr(&l)
	c.SetArgs(args)
	c.SilenceUsage, c.SilenceErrors = true, true
	err := c.ExecuteContext(ctx)
	if err != nil {
		log, code = err.Error(), 2 // as the program does
		if f, ok := err.(interface{ ExitCode() int }); ok {
			code = f.ExitCode()
		}
	}
	return o.String(), l.String() + log, code
}

func TestAWatchIsKeptAndShownAgain(t *testing.T) {
	dir := t.TempDir()
	file, page := filepath.Join(dir, "w.json"), filepath.Join(dir, "w.html")
	out, log, code := bench(t, t.Context(), "watch", "--pid", fmt.Sprint(os.Getpid()), "--for", "1s", "--json", file,
		"--html", page)
	if code != 0 || !strings.Contains(out, "written in a year") {
		t.Fatalf("%d: %s %s", code, out, log)
	}
	again, _, code := bench(t, t.Context(), "report", file)
	if code != 0 || again != out {
		t.Errorf("%d: shown again it is\n%s\nand was\n%s", code, again, out)
	}
	text, err := os.ReadFile(page)
	if err != nil || !strings.Contains(string(text), "written in a year") {
		t.Errorf("the page: %v", err)
	}
}

func TestWrongCommandLinesAreRefused(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken.json")
	if err := os.WriteFile(broken, []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, why string }{
		{"watch", "--pid"},
		{"watch --pid 1 --for 1ms", "--for"},
		{"watch --pid 1 --tbw -1", "--tbw"},
		{"watch --pid 1 --tbw NaN", "--tbw"},
		{"watch --pid 1 --url nonsense", "--url"},
		{"watch --pid 1 --url ftp://x", "--url"},
		{"watch --pid 1 --json " + dir, "is a folder"},
		{"watch --pid 1 --json " + dir + "/none/x", "not there"},
		{"nonsense", `"nonsense"`},
		{"--html " + dir, "is a folder"},
		{"--json x --html x", "same file"},
		{"--rounds 0", "0 rounds"},
		{"--accounts 1", "1 accounts"},
		{"run", "no suite"},
		{"run disk", "no subject"},
		{"run nonsense --on tarn", `"nonsense"`},
		{"run disk disk --on tarn", "twice"},
		{"run disk --on tarn,tarn", "twice"},
		{"run disk --on tarn:nonsense", "no mode"},
		{"run disk --on tarn:", "no mode after the colon"},
		{"run disk --on geth", `"geth"`},
		{"run disk --on nodeos", "its path is missing"},
		{"run disk --on nodeos=/nonexistent/nodeos", "find the program"},
		{"run disk --on tarn --rate -1", "rate"},
		{"run disk peer --on tarn --rate 0", "a rate of 0"},
		{"run disk --on tarn --rate NaN", "rate"},
		{"run disk --on tarn --for 0s", "for 0 s"},
		{"run disk --on tarn --connections 0", "connections"},
		{"run disk --on tarn --checkpoint-every 0s", "between checkpoints"},
		{"run disk --on tarn --tbw -1", "rated"},
		{"run rpc --on tarn --ask-for 0s", "0 s"},
		{"run rpc --on tarn --ask-rate 0", "0 requests per second"},
		{"run peer --on tarn --peers 0", "0 peers"},
		{"run subscribers --on tarn --subscribers 0", "0 subscribers"},
		{"run import --on tarn --chain opera --validators 101", "101 validators"},
		{"run import --on tarn --validators 2", "for chains of Opera"},
		{"run serve-blocks --on tarn --chain opera", "serve-blocks cannot be measured"},
		{"run serve-blocks --on tarn --peers 2 --syncing 3", "3 peers that fetch"},
		{"run window --on tarn --window 0s", "a window of 0 s"},
		{"run push --on tarn --dir " + dir + " --blocks " + dir, "push cannot be measured on this chain"},
		{"run --from " + dir + "/missing", "missing"},
		{"run --from " + broken, "broken.json"},
		{"compare x", "accepts 2"},
		{"compare " + broken + " " + broken, "broken.json"},
		{"report " + broken, "broken.json"},
	} {
		if _, log, code := bench(t, t.Context(), strings.Fields(c.args)...); code != 2 ||
			!strings.Contains(log, c.why) {
			t.Errorf("%s: %d, %q, want 2 and %q", c.args, code, log, c.why)
		}
	}
}

func TestADiskWithoutRoomIsSaidAtOnce(t *testing.T) {
	c, err := configure(Command(), tourOptions(), []string{"tarn:heap"}, t.TempDir(), 1<<62)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := suite.Run(t.Context(), *c); err == nil || !strings.Contains(err.Error(), "--dir") ||
		!strings.Contains(err.Error(), "are wanted") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(c.Dir); !os.IsNotExist(err) {
		t.Errorf("it leaves %s: %v", c.Dir, err)
	}
}

func TestSuitesAreListed(t *testing.T) {
	out, _, code := bench(t, t.Context(), "list")
	for _, name := range []string{"import", "start", "push", "stop", "disk", "snapshot", "rpc", "sync", "window", "p2p",
		"peer", "subscribers", "serve-blocks"} {
		if code != 0 || !strings.Contains("\n"+out, "\n"+name+"\n") {
			t.Errorf("%d: no %s in\n%s", code, name, out)
		}
	}
}

func TestTwoRunsAreCompared(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, times ...float64) string {
		r := &record.Run{Kind: record.KindRun, Schema: record.Schema, Subjects: []record.Subject{{Name: "tarn:heap"}},
			Suites: []record.Suite{{Name: "import", Metrics: []record.Metric{{Name: "time", Unit: "s"}}}}}
		for i, v := range times {
			r.Lives = append(r.Lives,
				record.Life{Suite: "import", Round: i + 1, Subject: "tarn:heap", Values: map[string]float64{"time": v}})
		}
		path := filepath.Join(dir, name)
		if err := record.Save(path, r); err != nil {
			t.Fatal(err)
		}
		return path
	}
	a, b := file("a", 1, 1.1, 0.9, 1.05), file("b", 2, 2.1, 1.9, 2.05)
	for _, c := range []struct {
		a, b, want string
	}{{a, b, "+97.6 %"}, {a, a, "| ~"}, {a, file("few", 2, 2.1), "too few"}} {
		out, log, code := bench(t, t.Context(), "compare", c.a, c.b)
		if code != 0 || !strings.Contains(out, c.want) {
			t.Errorf("%d, no %q in\n%s%s", code, c.want, out, log)
		}
	}
}
