package network

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"tarn/antelope/difftest"
)

// question is a call of the API with its argument.
type question struct {
	path string
	body map[string]any
}

// answer is what a node says: the body of its answer, or the refusal.
func (q question) answer(ctx context.Context, n *difftest.Node) ([]byte, error) {
	var raw json.RawMessage
	err := n.Call(ctx, q.path, q.body, &raw)
	if r := new(difftest.Refusal); errors.As(err, &r) {
		return []byte(r.Error()), nil
	}
	return raw, err
}

// ofBlock is what is asked of a block, which may be reversible.
func ofBlock(num uint32) (list []question) {
	arg := map[string]any{"block_num_or_id": fmt.Sprint(num)}
	for _, call := range []string{"get_block", "get_block_header_state", "get_raw_block"} {
		list = append(list, question{"/v1/chain/" + call, arg})
	}
	header := map[string]any{"block_num_or_id": fmt.Sprint(num), "include_extensions": true}
	return append(list, question{"/v1/chain/get_block_header", arg}, question{"/v1/chain/get_block_header", header},
		question{"/v1/chain/get_block_info", map[string]any{"block_num": num}})
}

// ofState is what is asked of the chain at one head.
func ofState() (list []question) {
	for _, call := range []string{"get_finalizer_info", "get_producer_schedule", "get_consensus_parameters"} {
		list = append(list, question{"/v1/chain/" + call, map[string]any{}})
	}
	for _, account := range []string{"eosio", "producera"} {
		list = append(list, question{"/v1/chain/get_account", map[string]any{"account_name": account}})
	}
	return append(list, question{"/v1/chain/get_activated_protocol_features", map[string]any{"limit": 100}},
		question{"/v1/chain/get_info", map[string]any{}})
}

// nodesOwn are members of get_info that are the node's, not the chain's.
var nodesOwn = []string{"server_version", "server_version_string", "server_full_version_string",
	"earliest_available_block_num"}

// own tells whether a difference is one of the nodes, and not of their programs. Votes are remembered as long
// as a node runs.
func (q question) own(path string, a, b *Member) bool {
	switch q.path {
	case "/v1/chain/get_info":
		return slices.Contains(nodesOwn, path)
	case "/v1/chain/get_producer_schedule": // of the block that each would make now, which may be of a later round
		return path == "active"
	case "/v1/chain/get_finalizer_info":
		return path == "last_tracked_votes" && (a.again || b.again)
	}
	return false
}

// same asks two nodes the same. It returns how they differ, or "".
func same(ctx context.Context, q question, a, b *Member) (string, error) {
	x, err := q.answer(ctx, a.Node)
	if err != nil {
		return "", err
	}
	y, err := q.answer(ctx, b.Node)
	if err != nil {
		return "", err
	}
	if bytes.Equal(x, y) {
		return "", nil
	}
	list, err := differences(x, y)
	if err != nil {
		return fmt.Sprintf("%s %v: %.1500s\nor %.1500s", q.path, q.body, x, y), nil
	}
	list = slices.DeleteFunc(list, func(d difference) bool { return q.own(d.path, a, b) })
	if len(list) == 0 {
		return "", nil
	}
	return fmt.Sprintf("%s %v: %v", q.path, q.body, list), nil
}

// difference is a value that two texts of JSON have differently.
type difference struct{ path, a, b string }

func (d difference) String() string {
	return fmt.Sprintf("%s is %.3000s or %.3000s;", d.path, d.a, d.b)
}

// differences compares two objects, the order of their members too.
func differences(a, b []byte) (list []difference, err error) {
	x, err1 := members(a)
	y, err2 := members(b)
	if err := errors.Join(err1, err2); err != nil {
		return nil, err
	}
	for i := range max(len(x), len(y)) {
		switch {
		case i >= len(x):
			list = append(list, difference{y[i].name, "missing", string(y[i].value)})
		case i >= len(y):
			list = append(list, difference{x[i].name, string(x[i].value), "missing"})
		case x[i].name != y[i].name:
			return append(list, difference{"a member", x[i].name, y[i].name}), nil
		case !bytes.Equal(x[i].value, y[i].value):
			list = append(list, difference{x[i].name, string(x[i].value), string(y[i].value)})
		}
	}
	return list, nil
}

type member struct {
	name  string
	value json.RawMessage
}

// members are an object's, in their order.
func members(text []byte) (list []member, err error) {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("no object but %v: %w", t, err)
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, err
		}
		m := member{name: fmt.Sprint(name)}
		if err := d.Decode(&m.value); err != nil {
			return nil, err
		}
		list = append(list, m)
	}
	return list, nil
}

// Compare asks all members the same of the blocks from one number to another, as far as all have them, and of
// the state, which must stand still meanwhile. It returns all differences, and how many answers were compared.
func (q *Quorum) Compare(ctx context.Context, from, to uint32) (found []string, count int, err error) {
	for _, m := range q.members {
		i, err := m.Info(ctx)
		if err != nil {
			return nil, 0, fmt.Errorf("%s: %w", m.Name, err)
		}
		from = max(from, i.Earliest) // it may have begun with a snapshot
	}
	list := ofState()
	for num := from; num <= to; num++ {
		list = append(list, ofBlock(num)...)
	}
	for _, x := range list {
		for _, m := range q.members[1:] {
			d, err := same(ctx, x, q.members[0], m)
			if err != nil {
				return found, count, fmt.Errorf("%s of %s and %s: %w", x.path, q.members[0].Name, m.Name, err)
			}
			if count++; d != "" {
				found = append(found, q.members[0].Name+", "+m.Name+": "+d)
			}
		}
	}
	return found, count, nil
}
