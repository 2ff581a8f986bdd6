package types

import (
	"bytes"

	"golang.org/x/crypto/ripemd160" //lint:ignore SA1019 the checksum of the protocol
)

// check returns the checksum that ends the text of a key or signature.
func check(data []byte, prefix string) []byte {
	h := ripemd160.New()
	h.Write(data)
	if prefix != "" {
		h.Write([]byte(prefix))
	}
	return h.Sum(nil)[:4]
}

func appendCheck(data []byte, prefix string) []byte { return append(data, check(data, prefix)...) }

// validCheck tells whether data, of four bytes or more, ends with its checksum.
func validCheck(data []byte, prefix string) bool {
	body := data[:len(data)-4]
	return bytes.Equal(check(body, prefix), data[len(body):])
}
