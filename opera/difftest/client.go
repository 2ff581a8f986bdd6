package difftest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
)

// Client asks a node over JSON-RPC.
type Client struct {
	url string
}

// URL is where the node answers JSON-RPC over HTTP.
func (c *Client) URL() string { return c.url }

// Call calls a method and decodes its result. A result that is null is an error.
func (c *Client) Call(ctx context.Context, result any, method string, params ...any) error {
	if params == nil {
		params = []any{}
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	defer resp.Body.Close()
	var answer struct {
		Result json.RawMessage
		Error  *struct {
			Code    int
			Message string
		}
	}
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil {
		return fmt.Errorf("call %s: %s: %w", method, resp.Status, err)
	}
	switch {
	case answer.Error != nil:
		err = fmt.Errorf("%s (%d)", answer.Error.Message, answer.Error.Code)
	case string(answer.Result) == "null":
		err = errors.New("there is none")
	default:
		err = json.Unmarshal(answer.Result, result)
	}
	if err != nil {
		return fmt.Errorf("call %s: %w", method, err)
	}
	return nil
}
