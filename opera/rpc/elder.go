package rpc

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"tarn/httpserver"
	"tarn/opera/inter"
)

// Elder answers for chains that began later. Any goroutine may call its methods.
type Elder struct {
	handler *Handler
	older   *older // of its own chain
}

// Elder returns what answers the requests that other chains' [Options.Older] sends. Who calls it closes it.
func (s *Service) Elder() (*Elder, error) {
	apis := []string{"eth", "ftm", "debug", "trace"}
	h, err := s.Handler(&HTTPOptions{APIs: apis}, nil)
	return &Elder{h, s.older(apis)}, err
}

// Close ends what is being answered.
func (e *Elder) Close() { e.handler.Close() }

// ErrLacks says that this chain is behind the one that asks, or lacks what is asked for, too.
var ErrLacks = errors.New("this chain lacks it too")

// Answer answers a body with one request for strangers, as an address would that serves eth, ftm, debug and trace. head
// is the last block of the chain that asks. The error wraps [ErrLacks] where another chain may have more; any other
// says that the answer has more than 4 MiB, or that the request is none that a chain asks another one.
func (e *Elder) Answer(ctx context.Context, head inter.BlockNumber, body []byte) (answer []byte, err error) {
	r, ok := readAsked(body)
	if !ok || !isAsked(r.Method) {
		return nil, errors.New("this is asked of no other chain")
	}
	if lacks, err := e.lacks(head, &r); err != nil || lacks {
		return nil, errors.Join(ErrLacks, err)
	}
	h, err := http.NewRequestWithContext(httpserver.Asking(ctx, httpserver.Replicas()), http.MethodPost, "/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	h.Header.Set("Content-Type", "application/json")
	to := &kept{header: http.Header{}, most: mostOlder}
	e.handler.http.ServeHTTP(to, h)
	if answer = bytes.TrimSpace(to.body.Bytes()); to.full || len(answer) == 0 {
		return nil, errAnswerSize
	}
	return answer, nil
}

// lacks tells whether the chain is behind another one, or does not have a block that is asked for.
func (e *Elder) lacks(head inter.BlockNumber, r *asked) (bool, error) {
	own, err := e.older.head()
	if err != nil || own < head || e.older.isProof(r.Method) {
		return own < head, err
	}
	of, _, err := e.older.lacks(r)
	return of == aBlock, err
}

// kept is an answer of so many bytes at most that is kept.
type kept struct {
	header http.Header
	body   bytes.Buffer
	most   int
	full   bool
}

// Header implements http.ResponseWriter.
func (k *kept) Header() http.Header { return k.header }

// WriteHeader implements http.ResponseWriter: what is refused says so in its body.
func (k *kept) WriteHeader(int) {}

// Write implements io.Writer.
func (k *kept) Write(b []byte) (int, error) {
	if k.full = k.full || k.body.Len()+len(b) > k.most; k.full {
		return 0, errAnswerSize
	}
	return k.body.Write(b)
}
