package replica

import (
	"context"
	"fmt"
	"net/http"
)

// PathOlder is the path of a replica's question about what is older than it: requests of JSON-RPC, to which the answer
// is that of JSON-RPC.
const PathOlder = "/rpc/older"

// Older has a node of the fleet answer such questions; ask has one answer. An error says that none has
// answered.
func Older(
	ask func(ctx context.Context, path string, body []byte) (status int, answer []byte, err error),
) func(ctx context.Context, body []byte) ([]byte, error) {
	return func(ctx context.Context, body []byte) ([]byte, error) {
		status, answer, err := ask(ctx, PathOlder, body)
		switch {
		case err != nil:
			return nil, err
		case status != http.StatusOK:
			return nil, fmt.Errorf("a node of the fleet answers with status %d", status)
		}
		return answer, nil
	}
}
