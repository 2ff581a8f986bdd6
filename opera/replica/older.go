package replica

import (
	"context"
	"fmt"
	"net/http"
)

// pathOlder is the path of a replica's questions about what is older than it: requests of JSON-RPC, to which the answer
// is that of JSON-RPC.
const pathOlder = "/rpc/older"

// Older has a node of the fleet answer such questions; read has one answer. An error says that none has answered.
func Older(
	read func(ctx context.Context, path string, body []byte) (status int, answer []byte, err error),
) func(ctx context.Context, body []byte) ([]byte, error) {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		status, answer, err := read(ctx, pathOlder, body)
		switch {
		case err != nil:
			return nil, err
		case status == http.StatusServiceUnavailable:
			return []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32005,"message":"the nodes of the fleet are busy"}}`), nil
		case status != http.StatusOK:
			return nil, fmt.Errorf("a node of the fleet answers with status %d", status)
		}
		return answer, nil
	}
}
