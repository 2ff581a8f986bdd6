package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/gorilla/websocket"

	"tarn/antelope/abi"
)

// defaultHistory is where nodeos serves its state history unless it is told otherwise.
const defaultHistory = "127.0.0.1:8080"

// history is a connection to a node's state history. It speaks by the ABI that it is
// sent, as indexers do, and knows nothing of how we encode.
type history struct {
	c     *websocket.Conn
	codec *abi.Codec
}

// historyTarget reads how tests name a node's state history: HOST:PORT, or a unix
// socket's path after ws+unix:/// or unix:///, which is relative without another slash.
func historyTarget(text string) (network, address string, err error) {
	_, path, is := strings.Cut(text, "unix://")
	switch {
	case is && len(path) > 1:
		return "unix", path[1:], nil
	case is || !strings.Contains(text, ":"):
		return "", "", fmt.Errorf("%q is neither HOST:PORT nor ws+unix:///PATH", text)
	}
	return "tcp", text, nil
}

// dialHistory connects, and reads the ABI.
func dialHistory(ctx context.Context, target string) (*history, error) {
	network, address, err := historyTarget(target)
	if err != nil {
		return nil, err
	}
	host := address
	if network == "unix" {
		host = "localhost"
	}
	d := websocket.Dialer{NetDialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, address)
	}}
	c, _, err := d.DialContext(ctx, "ws://"+host+"/", nil)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", target, err)
	}
	h := &history{c: c}
	if err := h.begin(); err != nil {
		return nil, errors.Join(fmt.Errorf("the ABI of %s: %w", target, err), c.Close())
	}
	return h, nil
}

func (h *history) begin() error {
	kind, b, err := h.c.ReadMessage()
	if err != nil {
		return err
	}
	if kind != websocket.TextMessage {
		return errors.New("it is no text")
	}
	// The names of its tables are no names of accounts' tables, and longer.
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(b, &parts); err != nil {
		return err
	}
	delete(parts, "tables")
	if b, err = json.Marshal(parts); err != nil {
		return err
	}
	def, err := abi.Parse(string(b))
	if err == nil {
		h.codec, err = abi.New(def, nil)
	}
	return err
}

// send sends a request, which is JSON of [name, fields].
func (h *history) send(request string) error {
	b, err := h.codec.EncodeJSON(nil, "request", request, nil)
	if err != nil {
		return fmt.Errorf("encode %s: %w", request, err)
	}
	return h.c.WriteMessage(websocket.BinaryMessage, b)
}

// receive waits for a result, which must be of a type, and returns its JSON. What is in
// fields is filled too.
func (h *history) receive(name string, fields any) ([]byte, error) {
	_, b, err := h.c.ReadMessage()
	if err != nil {
		return nil, err
	}
	text, err := h.codec.Decode(nil, "result", b, nil)
	if err != nil {
		return nil, fmt.Errorf("decode a result of %d bytes: %w", len(b), err)
	}
	var result []json.RawMessage
	if err := json.Unmarshal(text, &result); err != nil || len(result) != 2 {
		return nil, fmt.Errorf("a result is %.200s: %w", text, err)
	}
	if got := strings.Trim(string(result[0]), `"`); got != name {
		return nil, fmt.Errorf("a result is %s, not %s", got, name)
	}
	if err := json.Unmarshal(result[1], fields); err != nil {
		return nil, fmt.Errorf("%s: %w: %.200s", name, err, result[1])
	}
	return result[1], nil
}

// position is a block, as results name it.
type position struct {
	Num uint32 `json:"block_num"`
	ID  string `json:"block_id"`
}

// check tells whether it is there at all.
func (p *position) check() error {
	if p == nil || p.ID == "" {
		return errors.New("a result does not say where the head is")
	}
	return nil
}
