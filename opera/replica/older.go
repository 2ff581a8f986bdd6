package replica

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"tarn/opera/inter"
)

// olderPath begins the path of a replica's question about what is older than it: a request of JSON-RPC, to which the
// answer is that of JSON-RPC. The number of the replica's last block follows.
const olderPath = "/rpc/older/"

// Older has a node of the fleet answer such questions; read has one answer. An error wraps that of read, or says with
// which status a node has refused.
func Older(
	read func(ctx context.Context, path string, body []byte) (status int, answer []byte, err error),
) func(ctx context.Context, head inter.BlockNumber, body []byte) ([]byte, error) {
	return func(ctx context.Context, head inter.BlockNumber, body []byte) ([]byte, error) {
		status, answer, err := read(ctx, olderPath+strconv.FormatUint(uint64(head), 10), body)
		switch {
		case err != nil:
			return nil, err
		case status != http.StatusOK:
			return nil, fmt.Errorf("a node of the fleet answers with status %d", status)
		}
		return answer, nil
	}
}

// OlderThan reads the path of such a question; false if it is another one's.
func OlderThan(path string) (head inter.BlockNumber, ok bool) {
	text, found := strings.CutPrefix(path, olderPath)
	n, err := strconv.ParseUint(text, 10, 64)
	return inter.BlockNumber(n), found && err == nil
}
