package difftest

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Ask posts a body as it is and returns the answer as it is, a refusal too.
func (c *Client) Ask(ctx context.Context, path, body string) (status int, answer []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return 0, nil, fmt.Errorf("%s: %w", path, err)
	}
	return res.StatusCode, answer, nil
}
