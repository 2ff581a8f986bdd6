package rpc

import (
	"bytes"
	"cmp"
	"math"
	"slices"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/authority"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// inflater holds the transactions of a call to what they may inflate to, and objects in them to what they may
// become by contracts' ABIs, and to how long that may take.
type inflater struct {
	used int64
	took time.Duration // by transactions before
}

// admit refuses a transaction that inflates to too much.
func (i *inflater) admit(p *types.PackedTransaction) error {
	if p.Compression == types.CompressionNone {
		return nil
	}
	usual := inflateEach + inflateRatio*int64(len(p.PackedTrx)+len(p.PackedContextFreeData))
	limit := usual + inflateMore - i.used
	if size := p.InflatedSize(limit + 1); !i.grow(size, usual) {
		return exception.New(exception.TxDecompressionError, "Exceeded maximum decompressed transaction size")
	}
	return nil
}

// grow counts what a transaction has become beyond what is usual; false if that is too much.
func (i *inflater) grow(size, usual int64) bool {
	more := max(0, size-usual)
	fits := more <= inflateMore-i.used
	i.used = min(i.used+more, inflateMore)
	return fits
}

// input returns what reads a transaction of the call in JSON. The caller calls end when it has.
func (a *API) input(v *state.View, i *inflater) (c *abi.Contents, end func()) {
	begin, size := time.Now(), int64(0)
	c = a.contents(v)
	c.Admit = i.admit
	c.Wrong = func(n types.Name) error {
		if account, err := v.Accounts.Get(n); err != nil || account == nil {
			return err
		}
		e, err := a.abiOf(v, n)
		if err == nil && e.def != nil {
			err = e.err
		}
		return err
	}
	c.Encoded = func(bytes int) error {
		before := size
		size += int64(bytes)
		if !i.grow(size, max(before, inflateEach)) {
			return exception.New(exception.PackedTransactionType, "the data of the actions are too long")
		}
		if i.took+time.Since(begin) > encodeTime {
			return exception.New(exception.ABISerializationDeadline, "serialization time limit ${t}us exceeded",
				"t", encodeTime.Microseconds())
		}
		return nil
	}
	return c, func() { i.took += time.Since(begin) }
}

// readPacked reads a packed transaction, whose actions may be in the form of their
// contracts' ABIs.
func (a *API) readPacked(v variant.Value, i *inflater) (*types.PackedTransaction, error) {
	view, err := a.Chain.View()
	if err != nil {
		return nil, err
	}
	defer view.Close()
	c, end := a.input(view, i)
	defer end()
	p, err := c.PackedTransaction(v)
	if err != nil {
		return nil, unread(err, exception.PackedTransactionType, "Invalid packed transaction")
	}
	return p, nil
}

// unread is what a failure to read a transaction in JSON becomes: an exception
// of the chain goes on with notes, another is the cause of one of this kind (Leap:
// abi_serializer::from_variant in EOS_RETHROW_EXCEPTIONS).
func unread(err error, kind *exception.Kind, message string) error {
	if e := exception.Of(err); e != nil {
		e = e.With("Failed to deserialize variant")
		if exception.Is(e, exception.ChainException) {
			return e.With(message)
		}
		err = e
	}
	return exception.Wrap(kind, err, message)
}

// send gives a transaction to the writer, and waits for what becomes of it.
func (q transactions) send(
	p *types.PackedTransaction, o execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	q.wait()
	return q.api.Transactions.Transaction(q.ctx, p, o)
}

// result appends what clients get for a transaction: its id, and the trace, which
// trace appends.
func (q transactions) result(b []byte, id types.Checksum256,
	trace func(*abi.Contents, []byte) []byte) ([]byte, error) {
	if err := q.turn(); err != nil {
		return b, err
	}
	view, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer view.Close()
	o := object(append(b, '{')).json("transaction_id", id)
	return append(trace(q.api.contents(view), variant.AppendKey(o, "processed")), '}'), nil
}

// execute sends a transaction and answers with its trace.
func (q transactions) execute(b []byte, v variant.Value, o execute.TransactionOptions) ([]byte, error) {
	p, err := q.api.readPacked(v, new(inflater))
	if err != nil {
		return b, err
	}
	t, err := q.send(p, o)
	if err != nil {
		return b, err
	}
	return q.result(b, t.ID, func(c *abi.Contents, b []byte) []byte { return c.AppendTransactionTrace(b, t) })
}

func (q transactions) sendTransaction(b []byte) ([]byte, error) {
	if err := q.end(); err != nil {
		return b, err
	}
	return q.execute(b, q.value, execute.TransactionOptions{API: true, Kind: execute.Input})
}

func (q transactions) sendTransaction2(b []byte) ([]byte, error) {
	failure, retry := q.boolean("return_failure_trace", true), q.boolean("retry_trx", false)
	var blocks *uint16
	if n := q.optionalUint32("retry_trx_num_blocks"); n != nil {
		narrow := uint16(*n)
		blocks = &narrow
	}
	trx, _ := q.find("transaction")
	if err := q.end(); err != nil {
		return b, err
	}
	if !retry {
		return q.execute(b, trx, execute.TransactionOptions{API: true, Kind: execute.Input, FailureTrace: failure})
	}
	return q.sendAndRetry(b, trx, failure, blocks)
}

// sendAndRetry sends a transaction and answers once it is where it should be.
func (q transactions) sendAndRetry(b []byte, v variant.Value, failure bool, blocks *uint16) ([]byte, error) {
	p, err := q.api.readPacked(v, new(inflater))
	if err != nil {
		return b, err
	}
	r := q.api.Retry
	if r == nil {
		return b, exception.New(exception.UnsupportedFeature,
			"Transaction retry not enabled on node. transaction-retry-max-storage-size-gb is 0")
	}
	trx, _, err := p.Unpack()
	if err != nil {
		return b, err
	}
	if last := r.MaxExpiration(); trx.Expiration > last {
		return b, exception.New(exception.TxExpTooFar, "retry transaction expiration ${e} larger than allowed ${m}",
			"e", trx.Expiration, "m", last)
	}
	tracked, err := r.Track(p, blocks)
	if err != nil {
		return b, err
	}
	t, err := q.send(p, execute.TransactionOptions{API: true, Kind: execute.Input, FailureTrace: failure})
	if err != nil || t.Except != nil {
		tracked.Drop()
	}
	if err != nil {
		return b, err
	}
	if t.Except != nil {
		return q.result(b, t.ID, func(c *abi.Contents, b []byte) []byte { return c.AppendTransactionTrace(b, t) })
	}
	json, err := tracked.Wait(q.ctx)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{')).json("transaction_id", t.ID)
	return append(append(variant.AppendKey(o, "processed"), json...), '}'), nil
}

// Trace returns the JSON of a trace with the contents of its actions, by the ABIs at
// the head.
func (a *API) Trace(t *types.TransactionTrace) ([]byte, error) {
	view, err := a.Chain.View()
	if err != nil {
		return nil, err
	}
	defer view.Close()
	return a.contents(view).AppendTransactionTrace(nil, t), nil
}

func (q transactions) computeTransaction(b []byte) ([]byte, error) {
	trx, _ := q.find("transaction")
	if err := q.end(); err != nil {
		return b, err
	}
	return q.execute(b, trx, execute.TransactionOptions{API: true, Kind: execute.DryRun, FailureTrace: true})
}

func (q transactions) sendReadOnlyTransaction(b []byte) ([]byte, error) {
	trx, _ := q.find("transaction")
	if err := q.end(); err != nil {
		return b, err
	}
	if !q.api.ReadOnly {
		return b, exception.New(exception.UnsupportedFeature,
			"read-only transactions execution not enabled on API node. Set read-only-threads > 0")
	}
	return q.execute(b, trx, execute.TransactionOptions{API: true, Kind: execute.ReadOnly})
}

func (q transactions) pushTransaction(b []byte) ([]byte, error) {
	if err := q.end(); err != nil {
		return b, err
	}
	return q.push(b, q.value, new(inflater))
}

// push sends a transaction and answers with the traces of its actions as a tree.
func (q transactions) push(b []byte, v variant.Value, i *inflater) ([]byte, error) {
	if err := q.turn(); err != nil { // the one before has waited
		return b, err
	}
	p, err := q.api.readPacked(v, i)
	if err != nil {
		return b, err
	}
	t, err := q.send(p, execute.TransactionOptions{API: true, Kind: execute.Input})
	if err != nil {
		return b, err
	}
	return q.result(b, t.ID, func(c *abi.Contents, b []byte) []byte { return appendTree(c, b, t) })
}

func (q transactions) pushTransactions(b []byte) ([]byte, error) {
	list, err := q.value.Elements()
	for _, v := range list {
		if err == nil {
			_, _, err = v.Members()
		}
	}
	if err != nil {
		return b, invalid(err)
	}
	if len(list) == 0 {
		return b, outOfRange()
	}
	b = append(b, '[')
	all := new(inflater)
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		mark := len(b)
		if b, err = q.push(b, v, all); err == nil {
			continue
		}
		if q.ctx.Err() != nil {
			return b, err
		}
		o := object(append(b[:mark], '{')).json("transaction_id", types.Checksum256{})
		b = append(object(append(variant.AppendKey(o, "processed"), '{')).text("error", err.Error()), `}}`...)
	}
	return append(b, ']'), nil
}

// outOfRange is what nodeos' standard library says to an empty list of transactions.
func outOfRange() error {
	const what = "vector::_M_range_check: __n (which is 0) >= this->size() (which is 0)"
	kind := &exception.Kind{Code: exception.FCStd.Code, Name: "St12out_of_range", What: what,
		Base: exception.FCUnspecified}
	return exception.New(kind, "rethrow ${what}: ", "what", what)
}

// appendTree appends a trace in which the traces of actions are within those of the
// actions that caused them (Leap: push_transaction).
func appendTree(c *abi.Contents, b []byte, t *types.TransactionTrace) []byte {
	tree := traceTree{c: c}
	for i := range t.ActionTraces {
		a := &t.ActionTraces[i]
		if a.Receipt == nil && a.Except == nil {
			continue
		}
		n := traceNode{parent: a.ClosestUnnotifiedAncestorOrdinal, sequence: math.MaxUint64, trace: a}
		if a.Receipt != nil {
			n.sequence = a.Receipt.GlobalSequence
		}
		tree.nodes = append(tree.nodes, n)
	}
	slices.SortStableFunc(tree.nodes, traceNode.compare)
	tree.nodes = slices.CompactFunc(tree.nodes, func(x, y traceNode) bool { return x.compare(y) == 0 })
	bare := *t
	bare.ActionTraces = nil
	start := len(b)
	b = c.AppendTransactionTrace(b, &bare)
	head, tail, _ := bytes.Cut(b[start:], []byte(`"action_traces":[]`))
	tail = bytes.Clone(tail)
	b = tree.append(append(b[:start+len(head)], `"action_traces":`...), 0)
	return append(b, tail...)
}

// traceNode is the trace of an action in the tree of traces.
type traceNode struct {
	parent   uint32
	sequence uint64
	trace    *types.ActionTrace
}

func (n traceNode) compare(o traceNode) int {
	return cmp.Or(cmp.Compare(n.parent, o.parent), cmp.Compare(n.sequence, o.sequence))
}

// traceTree is the traces of actions by what caused them.
type traceTree struct {
	c     *abi.Contents
	nodes []traceNode
}

// append appends the list of what an action caused. The ordinals of what is caused
// are above those of the cause, so that it ends.
func (t *traceTree) append(b []byte, parent uint32) []byte {
	i, _ := slices.BinarySearchFunc(t.nodes, parent, func(n traceNode, p uint32) int {
		return cmp.Compare(n.parent, p)
	})
	b = append(b, '[')
	for first := true; i < len(t.nodes) && t.nodes[i].parent == parent; i++ {
		a := t.nodes[i].trace
		if !first {
			b = append(b, ',')
		}
		first = false
		start := len(b)
		b = t.c.AppendActionTrace(b, a)
		if a.Receipt == nil {
			b = append(b[:start], withReceipt(b[start:], a)...)
		}
		b = append(b[:len(b)-1], `,"inline_traces":`...)
		if a.Ordinal > parent {
			b = t.append(b, a.Ordinal)
		} else {
			b = append(b, "[]"...)
		}
		b = append(b, '}')
	}
	return append(b, ']')
}

// withReceipt returns the JSON of a trace with a receipt in the place of none.
func withReceipt(json []byte, a *types.ActionTrace) []byte {
	o := object(append([]byte(`"receipt":`), '{')).uint("abi_sequence", 0).
		json("act_digest", types.Hash(a.Action.Append(nil)))
	o = append(variant.AppendKey(o, "auth_sequence"), "[]"...)
	o = o.uint("code_sequence", 0).uint("global_sequence", 0).name("receiver", a.Receiver).uint("recv_sequence", 0)
	return bytes.Replace(json, []byte(`"receipt":null`), append(o, '}'), 1)
}

func (q blocks) pushBlock(b []byte) ([]byte, error) {
	block, err := blockOf(q.value)
	if err != nil {
		return b, invalid(err)
	}
	q.wait()
	// Like nodeos: whoever pushes a block learns nothing of what became of it.
	if err := q.api.Transactions.Block(q.ctx, block, block.ID()); err != nil {
		q.api.Log.Info("a block that was pushed is refused", "error", err)
	}
	return append(b, "{}"...), nil
}

func (q transactions) getRequiredKeys(b []byte) ([]byte, error) {
	trx, _ := q.find("transaction")
	var keys []types.PublicKey
	q.elements("available_keys", func(v variant.Value) error {
		k, err := keyOf(v)
		keys = append(keys, k)
		return err
	})
	if err := q.end(); err != nil {
		return b, err
	}
	slices.SortFunc(keys, types.PublicKey.Compare)
	keys = slices.Compact(keys)
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	c, _ := q.api.input(v, new(inflater))
	t, err := c.Transaction(trx)
	if err != nil {
		return b, unread(err, exception.TransactionType, "Invalid transaction")
	}
	needed, err := authority.RequiredKeys(v, t, keys, int64(t.DelaySec)*1_000_000)
	if err != nil {
		return b, err
	}
	return append(list(object(append(b, '{')), "required_keys", needed), '}'), nil
}

func (q transactions) getTransactionID(b []byte) ([]byte, error) {
	t, err := transactionOf(q.value)
	if err == nil && t.ID() == new(types.Transaction).ID() {
		err = exception.New(exception.InvalidHTTPRequest, "Invalid transaction object")
	}
	if err != nil {
		return b, ofTransaction(err)
	}
	return t.ID().AppendJSON(b), nil
}

// ofTransaction is what a failure to read the body of get_transaction_id becomes.
func ofTransaction(err error) error {
	if exception.Is(err, exception.ChainException) {
		return err
	}
	return exception.Wrap(exception.InvalidHTTPRequest, err, "Invalid transaction")
}

// plainTransaction reads the body of get_transaction_id (Leap: parse_params of
// get_transaction_id_params).
func plainTransaction(body string, l variant.Limits) (variant.Value, error) {
	refuse := func(text string) error { return exception.New(exception.InvalidHTTPRequest, text) }
	if body == "" {
		return variant.Value{}, refuse("A Request body is required")
	}
	v, err := variant.ParseWithin(body, l)
	if err != nil {
		return v, ofTransaction(err)
	}
	if v.Kind() != variant.Object {
		return v, refuse("Transaction object is missing or invalid")
	}
	actions, _ := v.Find("actions")
	list, err := actions.Elements()
	if err != nil || actions.Kind() != variant.Array {
		return v, refuse("Transaction actions are missing or invalid")
	}
	for _, a := range list {
		if a.Kind() != variant.Object {
			return v, refuse("Transaction contains invalid or empty action")
		}
		data, ok := a.Find("data")
		if _, hex := a.Find("hex_data"); ok && !hex && data.Kind() != variant.String {
			return v, refuse("Request supports only un-exploded 'data' (hex form)")
		}
	}
	return v, nil
}

func (q transactions) getTransactionStatus(b []byte) ([]byte, error) {
	v, _ := q.find("id")
	id, err := checksumOf(v)
	if err != nil {
		return b, err
	}
	s, c := q.api.Finality.Status(id)
	state := s.State
	if state == "" {
		state = "UNKNOWN"
	}
	o := object(append(b, '{')).text("state", state)
	if s.State != "" {
		if !s.BlockID.IsZero() {
			o = o.uint("block_number", uint64(types.BlockNum(s.BlockID))).json("block_id", s.BlockID).
				json("block_timestamp", s.BlockTime)
		}
		o = o.json("expiration", s.Expiration)
	}
	o = o.uint("head_number", uint64(types.BlockNum(c.HeadID))).json("head_id", c.HeadID).
		json("head_timestamp", c.HeadTime)
	o = o.uint("irreversible_number", uint64(types.BlockNum(c.IrreversibleID))).
		json("irreversible_id", c.IrreversibleID)
	o = o.json("irreversible_timestamp", c.IrreversibleTime).json("earliest_tracked_block_id", c.EarliestID)
	return append(o.uint("earliest_tracked_block_number", uint64(types.BlockNum(c.EarliestID))), '}'), nil
}

// statusBody reads the body of get_transaction_status, whose faults have one text
// (Leap: parse_params of get_transaction_status_params).
func statusBody(body string, l variant.Limits) (variant.Value, error) {
	if body == "" {
		return variant.Value{}, exception.New(exception.InvalidHTTPRequest, "A Request body is required")
	}
	v, err := variant.ParseWithin(body, l)
	if err == nil {
		member, _ := v.Find("id")
		var id types.Checksum256
		if id, err = checksumOf(member); err == nil && !id.IsZero() {
			return v, nil
		}
	}
	return v, exception.New(exception.InvalidHTTPRequest, "Invalid transaction id")
}

func (q accounts) getAccountsByAuthorizers(b []byte) ([]byte, error) {
	var levels []types.PermissionLevel
	q.elements("accounts", func(v variant.Value) error {
		l, err := levelOf(v)
		levels = append(levels, l)
		return err
	})
	var keys []types.PublicKey
	q.elements("keys", func(v variant.Value) error {
		k, err := keyOf(v)
		keys = append(keys, k)
		return err
	})
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	found, err := q.api.Authorizers.Accounts(v, levels, keys, func(matches int) error {
		return q.whole(matches * authorizedBytes)
	})
	if err != nil {
		return b, err
	}
	b = variant.AppendList(append(b, `{"accounts":`...), found, func(b []byte, a *Authorized) []byte {
		o := object(append(b, '{')).name("account_name", a.Account).name("permission_name", a.Permission)
		if a.ByAccount != nil {
			o = o.json("authorizing_account", *a.ByAccount)
		}
		if a.ByKey != nil {
			o = o.json("authorizing_key", *a.ByKey)
		}
		return append(o.uint("weight", uint64(a.Weight)).uint("threshold", uint64(a.Threshold)), '}')
	})
	return append(b, '}'), nil
}

// levelOf reads an account, or an account with a permission.
func levelOf(v variant.Value) (l types.PermissionLevel, err error) {
	if v.Kind() == variant.String {
		l.Actor, err = nameOf(v)
		return l, err
	}
	if v.Kind() != variant.Object {
		return l, nil
	}
	names, _, err := v.Members()
	if err != nil {
		return l, err
	}
	actor, ok := v.Find("actor")
	if !ok {
		return l, exception.New(exception.InvalidHTTPRequest, "Missing Actor field")
	}
	if l.Actor, err = nameOf(actor); err != nil {
		return l, err
	}
	permission, ok := v.Find("permission")
	switch {
	case ok && len(names) == 2:
		l.Permission, err = nameOf(permission)
	case len(names) != 1:
		err = exception.New(exception.InvalidHTTPRequest, "Unrecognized fields in account")
	}
	return l, err
}
