package ship

import (
	"errors"
	"fmt"
	"io"

	"tarn/httpserver"
)

// ration is memory for what a client asks, of that of all: a request may be large, and come
// slowly.
type ration struct {
	of     *httpserver.Shares
	client httpserver.Client
	free   int64 // bytes that a request may have beside
}

// read reads a request, and returns how much of the ration it takes, until giveBack, also
// after an error.
func (r ration) read(in io.Reader) (b []byte, taken int64, err error) {
	b = make([]byte, 0, 512)
	for {
		n, err := in.Read(b[len(b):cap(b)])
		b = b[:len(b)+n]
		if errors.Is(err, io.EOF) {
			return b, taken, nil
		}
		if err != nil {
			return nil, taken, err
		}
		if len(b) < cap(b) {
			continue
		}
		if size := int64(2 * cap(b)); size > r.free {
			if err := r.of.Take(r.client, size-taken); err != nil {
				return nil, taken, fmt.Errorf("its request has %d bytes and more, for which the other clients' "+
					"requests leave no room: %w", len(b), err)
			}
			taken = size
		}
		b = append(make([]byte, 0, 2*cap(b)), b...)
	}
}

func (r ration) giveBack(n int64) { r.of.Give(r.client, n) }
