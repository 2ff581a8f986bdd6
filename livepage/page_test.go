package livepage

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tarn/procusage"
)

// open opens a dashboard whose samples the test takes.
func open(t testing.TB, o Options) *Dashboard {
	t.Helper()
	d, err := listen(context.Background(), "127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func ask(t *testing.T, method, url, host string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, string(body)
}

func TestThePageLoadsNothingFromElsewhereAndRunsNothingInside(t *testing.T) {
	d := open(t, newWorld().o)
	total := 0
	for _, path := range []string{"", "app.js", "style.css", "uplot.js", "uplot.css", "icon.svg"} {
		res, body := ask(t, "GET", d.URL()+path, "")
		if res.StatusCode != 200 || body == "" {
			t.Fatalf("%s: %s", path, res.Status)
		}
		total += len(body)
		if got := res.Header.Get("Content-Security-Policy"); !strings.HasPrefix(got,
			"default-src 'none'; script-src 'self';") || strings.Contains(got, "unsafe") {
			t.Errorf("%s: the policy is %q", path, got)
		}
		if res.Header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: its type may be guessed", path)
		}
		again, err := http.NewRequest("GET", d.URL()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		again.Header.Set("If-None-Match", res.Header.Get("ETag"))
		if res, err := http.DefaultClient.Do(again); err != nil || res.StatusCode != http.StatusNotModified {
			t.Errorf("%s is sent again: %v, %v", path, res, err)
		} else {
			res.Body.Close()
		}
		if path == "" {
			for _, bad := range []string{"<script>", "style=", "onclick", "http://", "https://", "javascript:"} {
				if strings.Contains(body, bad) {
					t.Errorf("the page has %q in it", bad)
				}
			}
		}
	}
	if total > 150_000 {
		t.Errorf("page, scripts and styles have %d bytes", total)
	}
	t.Logf("page, scripts and styles have %d bytes", total)
}

func TestThereIsNothingToDoButToLook(t *testing.T) {
	d := open(t, newWorld().o)
	port := d.address[strings.LastIndexByte(d.address, ':'):]
	for _, c := range []struct {
		method, path, host string
		status             int
	}{
		{"GET", "", "localhost" + port, 200}, {"GET", "", "LOCALHOST", 200}, {"GET", "", "[::1]" + port, 200},
		{"GET", "", "10.1.2.3", 200},
		// A name that was made to point here.
		{"GET", "data", "evil.example" + port, 403}, {"GET", "events", "evil.example", 403},
		{"GET", "", "localhost.evil.example", 403}, {"GET", "", "127.0.0.1.evil.example", 403},
		{"POST", "", "", 405}, {"PUT", "data", "", 405}, {"DELETE", "events", "", 405}, {"OPTIONS", "", "", 405},
		{"HEAD", "", "", 405}, {"TRACE", "", "", 405},
		{"GET", "nothing", "", 404}, {"GET", "page/app.js", "", 404}, {"GET", "../go.mod", "", 404},
		{"GET", "index.html", "", 200}, {"GET", "//app.js", "", 404},
	} {
		if res, _ := ask(t, c.method, d.URL()+c.path, c.host); res.StatusCode != c.status {
			t.Errorf("%s %q of %q: %s, want %d", c.method, c.path, c.host, res.Status, c.status)
		}
	}
}

// viewer is a page that is open.
type viewer struct {
	res *http.Response
	in  *bufio.Reader
}

func view(t testing.TB, d *Dashboard, since string) *viewer {
	t.Helper()
	res, err := http.Get(d.URL() + "events?since=" + since)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return &viewer{res, bufio.NewReader(res.Body)}
}

// next is the first line of the next event.
func (v *viewer) next(t testing.TB) string {
	t.Helper()
	first := ""
	for {
		line, err := v.in.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		if line == "\n" {
			return first
		}
		if first == "" {
			first = strings.TrimSpace(line)
		}
	}
}

func TestAViewerGetsEachSampleOnceFromWhereItStood(t *testing.T) {
	d := open(t, newWorld().o)
	session := d.samples.session()
	id := func(n int64) string { return fmt.Sprintf("%d-%d", session, n) }
	for range 5 {
		d.samples.take(time.Now())
	}
	v := view(t, d, id(2))
	for want := int64(3); want <= 9; want++ {
		if want > 5 {
			d.samples.take(time.Now())
		}
		if got := v.next(t); got != "id: "+id(want) {
			t.Fatalf("%q, want %s", got, id(want))
		}
	}
	for _, since := range []string{"", "x", "-", "1-2", fmt.Sprintf("%d-%d", session, int64(1)<<40),
		fmt.Sprintf("%d--5", session), fmt.Sprintf("%d-9223372036854775807", session)} {
		if got := view(t, d, since).next(t); got != "event: reset" {
			t.Errorf("since %q: %q", since, got)
		}
	}
	for range eventsKept {
		d.samples.take(time.Now())
	}
	if got := view(t, d, id(2)).next(t); got != "event: reset" {
		t.Errorf("one that has missed more than is kept: %q", got)
	}
}

func TestViewersHaveABound(t *testing.T) {
	d := open(t, newWorld().o)
	d.samples.take(time.Now())
	var list []*viewer
	for range maxViewers {
		v := view(t, d, fmt.Sprintf("%d-0", d.samples.session()))
		v.next(t)
		list = append(list, v)
	}
	if v := view(t, d, ""); v.res.StatusCode != http.StatusServiceUnavailable || v.res.Header.Get("Retry-After") == "" {
		t.Errorf("one too many: %s", v.res.Status)
	}
	list[3].res.Body.Close()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		v := view(t, d, "")
		v.res.Body.Close()
		if v.res.StatusCode == 200 {
			break
		}
		if time.Now().After(end) {
			t.Fatal("the place of a viewer that has gone is not free")
		}
	}
}

// Who does not read what is sent must not keep others from it, nor a dashboard from closing.
func TestAViewerThatDoesNotReadHarmsNobody(t *testing.T) {
	w := newWorld()
	d := open(t, w.o)
	c, err := net.Dial("tcp", d.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	fmt.Fprintf(c, "GET /events?since=%d-0 HTTP/1.1\r\nHost: localhost\r\n\r\n", d.samples.session())
	v := view(t, d, fmt.Sprintf("%d-0", d.samples.session()))
	for range 20_000 { // more than what lies between sender and receiver has room for
		d.samples.take(time.Now())
		v.next(t)
	}
	begin := time.Now()
	if err := d.Close(); err != nil || time.Since(begin) > 5*time.Second {
		t.Errorf("closed after %v: %v", time.Since(begin), err)
	}
	if _, err := net.Dial("tcp", d.address); err == nil {
		t.Error("it listens still")
	}
}

// What everything costs to encode is paid rarely, whoever asks.
func TestEverythingIsEncodedRarely(t *testing.T) {
	w := newWorld()
	now := time.UnixMilli(1_790_000_000_000)
	s := newSamples(&w.o, now)
	made := map[*byte]bool{}
	for range 10 * allFor {
		now = now.Add(time.Second)
		s.take(now)
		for range 5 {
			text, err := s.everything()
			if err != nil {
				t.Fatal(err)
			}
			made[&text[0]] = true
		}
	}
	if len(made) != 10 {
		t.Errorf("made %d times in %d samples", len(made), 10*allFor)
	}
}

func TestAddressesAreHostAndPort(t *testing.T) {
	for address, ok := range map[string]bool{"127.0.0.1:8887": true, ":8887": true, "[::1]:1": true, "8887": false,
		"localhost": false, "host:": false, "": false} {
		if err := CheckAddress(address); (err == nil) != ok {
			t.Errorf("%q: %v", address, err)
		}
	}
	if _, err := Open(t.Context(), "127.0.0.1:x", newWorld().o); err == nil {
		t.Error("a port that is none is listened at")
	}
}

// BenchmarkFiveViewers is a second of a dashboard with 60 series and five viewers. Its
// figure core% is the share of a core that this takes at one sample a second.
func BenchmarkFiveViewers(b *testing.B) {
	const viewers = 5
	x := 0.0
	o := Options{Title: "bench", Read: func() { x++ }}
	for i := range 12 {
		p := Panel{Group: "Disk", Title: fmt.Sprint(i), Unit: BytesSecond}
		for j := range 5 {
			p.Series = append(p.Series, Series{Name: fmt.Sprint(j),
				Value: func() float64 { return x * float64(1+i*j) * 1234.567 }, Rate: j == 0})
		}
		o.Panels = append(o.Panels, p)
	}
	if err := o.Validate(); err != nil {
		b.Fatal(err)
	}
	d := open(b, o)
	d.samples.take(time.Now())
	var list []*viewer
	for range viewers {
		list = append(list, view(b, d, fmt.Sprintf("%d-0", d.samples.session())))
	}
	for _, v := range list {
		v.next(b)
	}
	before, err := procusage.Self()
	if err != nil {
		b.Fatal(err)
	}
	b.ResetTimer()
	for b.Loop() {
		d.samples.take(time.Now())
		for _, v := range list { // what they cost is counted too
			v.next(b)
		}
	}
	after, err := procusage.Self()
	if err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(100*(after.CPU()-before.CPU()).Seconds()/float64(b.N), "core%")
}

// BenchmarkEverything is the answer that a page begins with, with full rings.
func BenchmarkEverything(b *testing.B) {
	w := newWorld()
	for i := range 30 {
		p := w.o.Panels[0]
		p.Title = fmt.Sprint(i)
		w.o.Panels = append(w.o.Panels, p)
	}
	now := time.UnixMilli(1_790_000_000_000)
	s := newSamples(&w.o, now)
	for i := range secondsKept {
		now = now.Add(time.Second)
		w.level, w.total = float64(i)*1e5/3, w.total+float64(i)
		s.take(now)
	}
	for b.Loop() {
		s.allAt = 0
		text, err := s.everything()
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(text)))
	}
}

func TestItSamplesOnceASecond(t *testing.T) {
	n := 0
	o := newWorld().o
	o.Read = func() { n++ }
	begin := time.Now()
	d, err := Open(t.Context(), "127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	v := view(t, d, fmt.Sprintf("%d-0", d.samples.session()))
	for range 3 {
		v.next(t)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); n < 3 || float64(n) > took.Seconds()+2 || took < 2*time.Second {
		t.Errorf("%d samples in %v", n, took)
	}
}
