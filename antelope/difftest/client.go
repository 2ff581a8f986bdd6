package difftest

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tarn/antelope/types"
)

// Client calls a node's HTTP API. It may be used by several goroutines.
type Client struct {
	base string
	http http.Client
}

// NewClient returns a client of the node at address, host:port.
func NewClient(address string) *Client {
	return &Client{base: "http://" + address, http: http.Client{
		Transport: &http.Transport{MaxIdleConnsPerHost: 64},
	}}
}

// HTTP is the node's address, host:port.
func (c *Client) HTTP() string { return strings.TrimPrefix(c.base, "http://") }

// Refusal is an error that the node answered with.
type Refusal struct {
	HTTP    int
	Code    int64  // of the exception
	Name    string // of the exception
	Message string // of its first detail
}

// Error says which exception it was.
func (r *Refusal) Error() string {
	return fmt.Sprintf("%d %s: %s", r.Code, r.Name, r.Message)
}

// Call posts request, as JSON, to path and decodes the answer into answer, which
// may be nil. It returns a *Refusal if that is what came.
func (c *Client) Call(ctx context.Context, path string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if res.StatusCode/100 != 2 {
		return refusal(res.StatusCode, data)
	}
	if answer == nil {
		return nil
	}
	if raw, ok := answer.(*json.RawMessage); ok {
		*raw = data
		return nil
	}
	if err := json.Unmarshal(data, answer); err != nil {
		return fmt.Errorf("%s: %w in %.200s", path, err, data)
	}
	return nil
}

func refusal(status int, data []byte) *Refusal {
	var answer struct {
		Error struct {
			Code    int64  `json:"code"`
			Name    string `json:"name"`
			What    string `json:"what"`
			Details []struct {
				Message string `json:"message"`
			} `json:"details"`
		} `json:"error"`
	}
	r := &Refusal{HTTP: status}
	if err := json.Unmarshal(data, &answer); err != nil {
		r.Message = string(data)
		return r
	}
	r.Code, r.Name, r.Message = answer.Error.Code, answer.Error.Name, answer.Error.What
	if d := answer.Error.Details; len(d) > 0 {
		r.Message = d[0].Message
	}
	return r
}

// Info is what get_info says.
type Info struct {
	ChainID      string `json:"chain_id"`
	HeadNum      uint32 `json:"head_block_num"`
	HeadID       string `json:"head_block_id"`
	HeadTime     string `json:"head_block_time"`
	Irreversible uint32 `json:"last_irreversible_block_num"`
	LIBID        string `json:"last_irreversible_block_id"`
	Earliest     uint32 `json:"earliest_available_block_num"`
}

// Info asks for the head of the chain.
func (c *Client) Info(ctx context.Context) (i Info, err error) {
	return i, c.Call(ctx, "/v1/chain/get_info", struct{}{}, &i)
}

// Pause stops production after the block that is being made.
func (c *Client) Pause(ctx context.Context) error {
	return c.Call(ctx, "/v1/producer/pause", struct{}{}, nil)
}

// Resume goes on producing.
func (c *Client) Resume(ctx context.Context) error {
	return c.Call(ctx, "/v1/producer/resume", struct{}{}, nil)
}

// IntegrityHash asks for the hash of the state, and the head that it is of.
func (c *Client) IntegrityHash(ctx context.Context) (head, hash string, err error) {
	var a struct {
		Head string `json:"head_block_id"`
		Hash string `json:"integrity_hash"`
	}
	err = c.Call(ctx, "/v1/producer/get_integrity_hash", struct{}{}, &a)
	return a.Head, a.Hash, err
}

// Snapshot makes one of the present head and returns its path. The answer comes
// when that block is irreversible.
func (c *Client) Snapshot(ctx context.Context) (head, path string, err error) {
	var a struct {
		Head string `json:"head_block_id"`
		Path string `json:"snapshot_name"`
	}
	err = c.Call(ctx, "/v1/producer/create_snapshot", struct{}{}, &a)
	return a.Head, a.Path, err
}

// Feature is a protocol feature that the node knows.
type Feature struct {
	Digest        string   `json:"feature_digest"`
	Dependencies  []string `json:"dependencies"`
	Specification []struct {
		Name, Value string
	} `json:"specification"`
}

// Name is the feature's codename.
func (f Feature) Name() string {
	for _, s := range f.Specification {
		if s.Name == "builtin_feature_codename" {
			return s.Value
		}
	}
	return ""
}

// Features lists the protocol features that the node knows.
func (c *Client) Features(ctx context.Context) (f []Feature, err error) {
	return f, c.Call(ctx, "/v1/producer/get_supported_protocol_features", struct{}{}, &f)
}

// ScheduleActivation makes the next block activate a feature that needs no
// preactivation, or that is preactivated.
func (c *Client) ScheduleActivation(ctx context.Context, digests ...string) error {
	return c.Call(ctx, "/v1/producer/schedule_protocol_feature_activations",
		map[string]any{"protocol_features_to_activate": digests}, nil)
}

// Push sends a transaction and returns the JSON of its trace. Failures while it
// runs are a *Refusal.
func (c *Client) Push(ctx context.Context, p *types.PackedTransaction) (json.RawMessage, error) {
	signatures := make([]string, len(p.Signatures))
	for i, s := range p.Signatures {
		signatures[i] = s.String()
	}
	compression := "none"
	if p.Compression == types.CompressionZlib {
		compression = "zlib"
	}
	var answer json.RawMessage
	err := c.Call(ctx, "/v1/chain/send_transaction2", map[string]any{
		"return_failure_trace": false,
		"retry_trx":            false,
		"transaction": map[string]any{
			"signatures":               signatures,
			"compression":              compression,
			"packed_context_free_data": hex.EncodeToString(p.PackedContextFreeData),
			"packed_trx":               hex.EncodeToString(p.PackedTrx),
		},
	}, &answer)
	return answer, err
}

// AwaitHead waits until the head, or with irreversible the last irreversible block,
// is at least num.
func (c *Client) AwaitHead(ctx context.Context, num uint32, irreversible bool) error {
	for {
		i, err := c.Info(ctx)
		if err != nil {
			return err
		}
		if !irreversible && i.HeadNum >= num || i.Irreversible >= num {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for block %d, at %d (irreversible %d): %w",
				num, i.HeadNum, i.Irreversible, ctx.Err())
		case <-time.After(40 * time.Millisecond):
		}
	}
}
