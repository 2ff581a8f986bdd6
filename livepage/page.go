package livepage

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	"tarn/httpserver"
	"tarn/internal/uplot"
)

//go:embed page
var pageFiles embed.FS

// policy lets the page load what is served beside it and nothing else: no script inside the
// page, no other machine, no frame around it.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// asset is a file of the page.
type asset struct {
	kind, text string
}

// assetOf finds a file by the path of a request.
func assetOf(path string) (a asset, ok bool) {
	switch path {
	case "/":
		path = "/index.html"
	case "/uplot.js":
		return asset{"text/javascript; charset=utf-8", uplot.Script()}, true
	case "/uplot.css":
		return asset{"text/css; charset=utf-8", uplot.Style()}, true
	}
	kinds := map[string]string{
		"/index.html": "text/html; charset=utf-8", "/app.js": "text/javascript; charset=utf-8",
		"/style.css": "text/css; charset=utf-8", "/icon.svg": "image/svg+xml",
	}
	kind, ok := kinds[path]
	if !ok {
		return asset{}, false
	}
	text, err := fs.ReadFile(pageFiles, "page"+path)
	return asset{kind, string(text)}, err == nil
}

// ServeHTTP implements http.Handler.
func (d *Dashboard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", policy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-cache")
	if _, over := httpserver.Overload(r.Context()); over {
		h.Set("Connection", "close")
		refuse(w, http.StatusServiceUnavailable, "there are too many connections")
		return
	}
	if !d.allows(r.Host) {
		refuse(w, http.StatusForbidden, "this is not the host that the request names; open the page by its address")
		return
	}
	if r.Method != http.MethodGet {
		h.Set("Allow", http.MethodGet)
		refuse(w, http.StatusMethodNotAllowed, "this page can only be read: use GET")
		return
	}
	switch r.URL.Path {
	case "/events":
		d.view(w, r)
		return
	case "/data":
		d.data(w)
		return
	}
	a, ok := assetOf(r.URL.Path)
	if !ok {
		refuse(w, http.StatusNotFound, "there is no such page")
		return
	}
	h.Set("Content-Type", a.kind)
	h.Set("ETag", fmt.Sprintf(`"%x"`, sha256.Sum256([]byte(a.text))))
	d.deadline(w)
	http.ServeContent(w, r, "", time.Time{}, strings.NewReader(a.text))
}

func refuse(w http.ResponseWriter, status int, text string) { http.Error(w, text, status) }

// allows tells whether a Host header is ours. A page of somebody else's, whose name was
// made to point here, says that name; an address cannot be made to point elsewhere.
func (d *Dashboard) allows(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	if _, err := netip.ParseAddr(host); err == nil {
		return true
	}
	return host != "" && d.hosts[strings.ToLower(host)]
}

// patience is how long a client may take for an answer, or for one event.
const patience = 20 * time.Second

func (d *Dashboard) deadline(w http.ResponseWriter) {
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience)); err != nil {
		d.o.Log.Debug("bound the time of an answer", "error", err)
	}
}

// data answers with everything that there is by now.
func (d *Dashboard) data(w http.ResponseWriter) {
	all, err := d.samples.everything()
	if err != nil {
		refuse(w, http.StatusInternalServerError, err.Error())
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(all)))
	d.deadline(w)
	if _, err := bytes.NewReader(all).WriteTo(w); err != nil {
		d.o.Log.Debug("send the numbers", "error", err)
	}
}

// view sends events until the viewer goes, or the dashboard ends.
func (d *Dashboard) view(w http.ResponseWriter, r *http.Request) {
	client := httpserver.ClientOf(r.Context())
	if err := d.viewers.Take(client, 1); err != nil {
		w.Header().Set("Retry-After", "10")
		refuse(w, http.StatusServiceUnavailable, fmt.Sprintf("too many pages are open already: %v", err))
		return
	}
	defer d.viewers.Give(client, 1)
	w.Header().Set("Content-Type", "text/event-stream")
	seen := r.URL.Query().Get("since")
	if again := r.Header.Get("Last-Event-ID"); again != "" {
		seen = again
	}
	number, session, ok := parseID(seen)
	send := func(text []byte) bool {
		d.deadline(w)
		_, err := w.Write(text)
		if err == nil {
			err = http.NewResponseController(w).Flush()
		}
		return err == nil
	}
	if !send(nil) { // it has its place, whenever the next sample comes
		return
	}
	for {
		newest, changed := d.samples.wait()
		if !ok || session != d.samples.session() {
			send([]byte("event: reset\ndata: {}\n\n")) // the page begins anew
			return
		}
		for ; ok && number < newest; number++ {
			var text []byte
			if text, ok = d.samples.event(number + 1); ok && !send(text) {
				return
			}
		}
		if !ok || number > newest {
			ok = false
			continue
		}
		select {
		case <-changed:
		case <-r.Context().Done():
			return
		case <-d.ended:
			return
		}
	}
}

// parseID takes an event's id apart.
func parseID(text string) (number, session int64, ok bool) {
	before, after, found := strings.Cut(text, "-")
	session, err := strconv.ParseInt(before, 10, 64)
	number, err2 := strconv.ParseInt(after, 10, 64)
	return number, session, found && err == nil && err2 == nil && number >= 0
}
