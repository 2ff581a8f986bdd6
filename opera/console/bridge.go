package console

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/dop251/goja"
	"github.com/ethereum/go-ethereum/rpc"
)

// codeUnknown is the code of an error that did not come from the node.
const codeUnknown = -32603

// request is what web3.js sends.
type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// failure is an error as web3.js wants it.
type failure struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    any    `json:"data,omitempty"`
}

type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *failure        `json:"error,omitempty"`
}

// send asks the node for one request or several, and calls back, or returns, what it
// answers.
func (c *Console) send(args ...goja.Value) (goja.Value, error) {
	if len(args) == 0 {
		return nil, errors.New("there is no request")
	}
	text, err := args[0].ToObject(c.engine.vm).MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("read a request: %w", err)
	}
	var all []request
	single := json.Unmarshal(text, &all) != nil
	if single {
		all = make([]request, 1)
		if err := json.Unmarshal(text, &all[0]); err != nil {
			return nil, fmt.Errorf("read a request: %w", err)
		}
	}
	responses := make([]response, len(all))
	for i, r := range all {
		responses[i] = c.ask(r)
	}
	if text, err = json.Marshal(responses); err == nil && single {
		text, err = json.Marshal(responses[0])
	}
	if err != nil {
		return nil, fmt.Errorf("hand over an answer: %w", err)
	}
	answer, err := c.parse(goja.Undefined(), c.engine.vm.ToValue(string(text)))
	if err != nil {
		return nil, err
	}
	if len(args) > 1 {
		if callback, ok := goja.AssertFunction(args[1]); ok {
			_, err := callback(goja.Null(), goja.Null(), answer)
			return goja.Undefined(), err
		}
	}
	return answer, nil
}

// ask asks the node.
func (c *Console) ask(r request) response {
	answer := response{Version: "2.0", ID: r.ID}
	params := make([]any, len(r.Params))
	for i, p := range r.Params {
		params[i] = p
	}
	err := c.o.Client.CallContext(c.now, &answer.Result, r.Method, params...)
	if err == nil {
		if answer.Result == nil {
			answer.Result = json.RawMessage("null")
		}
		return answer
	}
	answer.Result = nil
	answer.Error = &failure{Code: codeUnknown, Message: err.Error()}
	var coded rpc.Error
	if errors.As(err, &coded) {
		answer.Error.Code = coded.ErrorCode()
	}
	var more rpc.DataError
	if errors.As(err, &more) {
		answer.Error.Data = more.ErrorData()
	}
	return answer
}

// sleep waits, unless the evaluation is interrupted.
func (c *Console) sleep(seconds float64) error {
	alarm := time.NewTimer(time.Duration(seconds * float64(time.Second)))
	defer alarm.Stop()
	select {
	case <-alarm.C:
		return nil
	case <-c.now.Done():
		return context.Cause(c.now)
	}
}
