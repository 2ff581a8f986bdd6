package rpc

import (
	"compress/gzip"
	"net/http"
	"strings"
	"sync"
)

// zippers are used again: one takes much more memory than what it compresses.
var zippers = sync.Pool{New: func() any { return gzip.NewWriter(nil) }}

// zipped compresses answers for who takes them so.
func zipped(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		z := &zipWriter{ResponseWriter: w}
		next.ServeHTTP(z, r)
		z.close()
	})
}

// zipWriter compresses what is written, if anything is.
type zipWriter struct {
	http.ResponseWriter
	to *gzip.Writer
}

// Write implements io.Writer.
func (z *zipWriter) Write(b []byte) (int, error) {
	if z.to == nil {
		z.begin(http.StatusOK)
	}
	return z.to.Write(b)
}

// WriteHeader implements http.ResponseWriter.
func (z *zipWriter) WriteHeader(status int) {
	if z.to == nil && status != http.StatusNoContent {
		z.begin(status)
	}
}

func (z *zipWriter) begin(status int) {
	z.Header().Set("Content-Encoding", "gzip")
	z.Header().Del("Content-Length")
	z.ResponseWriter.WriteHeader(status)
	z.to = zippers.Get().(*gzip.Writer)
	z.to.Reset(z.ResponseWriter)
}

func (z *zipWriter) close() {
	if z.to != nil {
		// Who does not read to the end has gone.
		_ = z.to.Close()
		zippers.Put(z.to)
	}
}

// Flush implements http.Flusher.
func (z *zipWriter) Flush() {
	if z.to != nil && z.to.Flush() == nil {
		if f, ok := z.ResponseWriter.(http.Flusher); ok {
			f.Flush()
		}
	}
}
