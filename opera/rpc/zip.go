package rpc

import (
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// zippers compress answers at an address. They are used again: one takes much more memory than what
// it compresses.
type zippers struct{ idle sync.Pool } // of *gzip.Writer

func (z *zippers) take(to io.Writer) *gzip.Writer {
	w, ok := z.idle.Get().(*gzip.Writer)
	if !ok {
		// The quickest level makes hexadecimal hardly longer than the usual one, with a small part of
		// its work; whoever asks waits for that. No level that has a name is refused.
		w, _ = gzip.NewWriterLevel(to, gzip.BestSpeed)
		return w
	}
	w.Reset(to)
	return w
}

func (z *zippers) give(w *gzip.Writer) { z.idle.Put(w) }

// compressAnswers compresses answers for who takes them so.
func (z *zippers) compressAnswers(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
			next.ServeHTTP(w, r)
			return
		}
		to := &zipWriter{ResponseWriter: w, zippers: z}
		next.ServeHTTP(to, r)
		to.close()
	})
}

// zipWriter compresses what is written, if anything is.
type zipWriter struct {
	http.ResponseWriter
	zippers *zippers
	to      *gzip.Writer // nil until something is written
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
	z.to = z.zippers.take(z.ResponseWriter)
}

func (z *zipWriter) close() {
	if z.to != nil {
		// Who does not read to the end has gone.
		_ = z.to.Close()
		z.zippers.give(z.to)
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
