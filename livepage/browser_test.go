package livepage

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// browser is a Chromium without a window, spoken to in the protocol of its developer tools.
type browser struct {
	t       *testing.T
	c       *websocket.Conn
	id      int
	session string
	wrong   []string // what the page, or the browser about it, complained of
}

// startBrowser starts the program that TARN_CHROMIUM names, until the test ends.
func startBrowser(t *testing.T) *browser {
	t.Helper()
	program := os.Getenv("TARN_CHROMIUM")
	if program == "" {
		t.Skip("TARN_CHROMIUM names no Chromium to look at the page with")
	}
	dir := filepath.Join(t.TempDir(), "profile")
	cmd := exec.Command(program, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
		"--remote-debugging-port=0", "--user-data-dir="+dir, "about:blank")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		// Its children end a moment later, and have files in the folder until then.
		for end := time.Now().Add(time.Minute); os.RemoveAll(dir) != nil && time.Now().Before(end); {
			time.Sleep(50 * time.Millisecond)
		}
	})
	var where []string
	for end := time.Now().Add(2 * time.Minute); len(where) < 2; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the browser does not say where it listens")
		}
		text, err := os.ReadFile(filepath.Join(dir, "DevToolsActivePort"))
		if err == nil {
			where = strings.Fields(string(text))
		}
	}
	c, _, err := websocket.DefaultDialer.Dial("ws://127.0.0.1:"+where[0]+where[1], nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	b := &browser{t: t, c: c}
	var target struct{ TargetID, SessionID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &target)
	b.session = target.SessionID
	for _, domain := range []string{"Page", "Runtime", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// call calls a method of the browser, and keeps what it complains of meanwhile.
func (b *browser) call(method string, params map[string]any, result any) {
	b.t.Helper()
	b.id++
	message := map[string]any{"id": b.id, "method": method}
	if params != nil {
		message["params"] = params
	}
	if b.session != "" {
		message["sessionId"] = b.session
	}
	if err := b.c.WriteJSON(message); err != nil {
		b.t.Fatal(err)
	}
	for {
		var m struct {
			ID             int
			Method         string
			Params, Result json.RawMessage
			Error          *struct{ Message string }
		}
		if err := b.c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			b.t.Fatal(err)
		}
		if err := b.c.ReadJSON(&m); err != nil {
			b.t.Fatal(err)
		}
		switch {
		case m.Method == "Log.entryAdded" || m.Method == "Runtime.exceptionThrown":
			b.wrong = append(b.wrong, string(m.Params))
		case m.ID == b.id && m.Error != nil:
			b.t.Fatalf("%s: %s", method, m.Error.Message)
		case m.ID == b.id:
			if result != nil {
				if err := json.Unmarshal(m.Result, result); err != nil {
					b.t.Fatal(err)
				}
			}
			return
		}
	}
}

// run returns what an expression of JavaScript gives in the page.
func (b *browser) run(expression string, into any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": "JSON.stringify(" + expression + ")",
		"returnByValue": true}, &r)
	var text string
	if err := json.Unmarshal(r.Result.Value, &text); err != nil || json.Unmarshal([]byte(text), into) != nil {
		b.t.Fatalf("%s: %s %s", expression, r.Result.Value, r.ExceptionDetails)
	}
}

// look opens a page as somebody with such a screen and such a taste sees it.
func (b *browser) look(url string, width, height int, scheme string) {
	b.t.Helper()
	b.call("Emulation.setDeviceMetricsOverride",
		map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.call("Emulation.setEmulatedMedia",
		map[string]any{"features": []map[string]string{{"name": "prefers-color-scheme", "value": scheme}}}, nil)
	b.call("Page.navigate", map[string]any{"url": url}, nil)
}

// picture keeps a picture of the whole page in the folder that TARN_PICTURES names, if it
// names one.
func (b *browser) picture(name string) {
	b.t.Helper()
	var shot struct{ Data string }
	b.call("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true}, &shot)
	png, err := base64.StdEncoding.DecodeString(shot.Data)
	if err != nil || len(png) < 1000 {
		b.t.Fatalf("%s: %d bytes, %v", name, len(png), err)
	}
	if dir := os.Getenv("TARN_PICTURES"); dir != "" {
		if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
			b.t.Fatal(err)
		}
	}
}

// curve is what the page holds of one series.
type curve struct {
	Title, Name, Shown string
	Values             []*float64
}

const curvesOf = `layout.panels.flatMap((p, i) => p.series.map((name, j) => ({title: p.title, name,
	shown: document.querySelectorAll('.panel')[i].querySelectorAll('b')[j].textContent,
	values: seconds.v[p.column + j].slice(-30)})))`

// await waits until an expression is true in the page.
func (b *browser) await(expression string) {
	b.t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
		ok := false
		if b.run("!!("+expression+")", &ok); ok {
			return
		}
		if time.Now().After(end) {
			b.t.Fatalf("never true: %s; %q", expression, b.wrong)
		}
	}
}

// moving is a process all of whose numbers move.
func moving() Options {
	x := 0.0
	wave := func(k float64) func() float64 {
		return func() float64 { return (1 + math.Sin(x/7*k)) * 3e5 * k }
	}
	total := func(k float64) func() float64 { return func() float64 { return x * (x + 1) * 1000 * k } }
	return Options{
		Title: "a process", Version: "v1", Read: func() { x++ },
		Panels: []Panel{
			{Group: "Disk", Title: "Written, by cause", Help: "Kilobytes are normal.", Unit: BytesSecond, Stacked: true,
				Series: []Series{
					{Name: "checkpoints", Value: wave(1)}, {Name: "log", Value: wave(0.5)},
					{Name: "never", Value: func() float64 { return math.NaN() }},
					{Name: "history", Rate: true, Value: total(1)}}},
			{Group: "Disk", Title: "Read", Unit: BytesSecond, Series: []Series{{Name: "read", Rate: true, Value: total(2)}}},
			{Group: "Memory", Title: "Memory", Unit: Bytes, Stacked: true,
				Series: []Series{{Name: "anonymous", Value: wave(900)}, {Name: "files", Value: wave(500)}}},
			{Group: "API", Title: "Latency", Unit: Seconds, Series: []Series{{Name: "p99", Scale: 1e-9, Value: wave(3)}}},
		},
		Figures: []Figure{
			{Group: "Disk", Title: "Written a year", Unit: BytesYear, Value: func() float64 { return 3e12 }},
			{Group: "Chain", Title: "Head", Unit: Count, Value: func() float64 { return x + 1e6 }},
			{Group: "Chain", Title: "<b>Producer</b>", Unit: Text, Words: func() string { return "<img src=x onerror=alert(1)>" }},
		},
	}
}

// The page is looked at by a real browser. TARN_LIVEPAGE names the page of a node that
// works; without it, it is that of a made-up process.
func TestABrowserShowsEachCurveMoving(t *testing.T) {
	b := startBrowser(t)
	url := os.Getenv("TARN_LIVEPAGE")
	if url == "" {
		d, err := Open(t.Context(), "127.0.0.1:0", moving())
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close() //nolint:errcheck // the test is over
		url = d.URL()
	}
	for _, c := range []struct {
		name, scheme  string
		width, height int
	}{{"light", "light", 1400, 1000}, {"dark", "dark", 1400, 1000}, {"phone", "dark", 390, 844}} {
		b.look(url, c.width, c.height, c.scheme)
		b.await(`typeof seconds == 'object' && document.querySelector('#state').className == 'live' && seconds.t.length >= 6`)
		var fits struct{ Wide, Panels, Plots int }
		b.run(
			`({wide: document.documentElement.scrollWidth, panels: document.querySelectorAll('.panel').length, `+
				`plots: document.querySelectorAll('canvas').length})`, &fits)
		if fits.Wide > c.width || fits.Panels == 0 || fits.Plots != fits.Panels {
			t.Errorf("%s: %+v on a screen of %d", c.name, fits, c.width)
		}
		b.picture(c.name)
	}
	still := b.still()
	for _, name := range still {
		if os.Getenv("TARN_LIVEPAGE") != "" {
			t.Logf("does not move: %s", name) // it depends on what the node does
		} else if name != "Written, by cause: never" {
			t.Errorf("does not move: %s", name)
		}
	}
	for _, span := range []string{"3600", "86400", "300"} {
		b.run(fmt.Sprintf(`document.querySelector('[data-span="%s"]').click()`, span)+` || 1`, new(int))
	}
	var title string
	if b.run(`document.querySelectorAll('dt')[document.querySelectorAll('dt').length-1].innerHTML`,
		&title); os.Getenv("TARN_LIVEPAGE") == "" && title != "&lt;b&gt;Producer&lt;/b&gt;" {
		t.Errorf("a title became %q", title)
	}
	if len(b.wrong) > 0 {
		t.Errorf("the browser complains: %s", strings.Join(b.wrong, "\n"))
	}
}

// still are the series of which the page shows one value and no other.
func (b *browser) still() (names []string) {
	b.t.Helper()
	time.Sleep(3 * time.Second)
	var list []curve
	b.run(curvesOf, &list)
	for _, c := range list {
		seen := map[float64]bool{}
		for _, v := range c.Values {
			if v != nil {
				seen[*v] = true
			}
		}
		if len(seen) < 2 {
			names = append(names, fmt.Sprintf("%s: %s", c.Title, c.Name))
		} else if c.Shown == "" || c.Shown == "–" {
			b.t.Errorf("%s: %s shows %q", c.Title, c.Name, c.Shown)
		}
	}
	return names
}
