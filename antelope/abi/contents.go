package abi

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Contents converts transactions, blocks and traces with the contents of their
// actions (Leap: abi_to_variant, abi_from_variant). It is used by one goroutine.
type Contents struct {
	// Resolve returns what converts the actions of an account, nil if its ABI is
	// missing or wrong; their data are shown as hex then.
	Resolve func(account types.Name) *Codec

	// Wrong, unless nil, says what is wrong with the ABI of an account that Resolve has nothing for; nil if
	// it has none. Data that come as an object cannot be taken then.
	Wrong func(account types.Name) error

	// ActionBudget, unless nil, starts the budget of one action's data. Data that
	// take more are shown as hex.
	ActionBudget func() Budget

	// Admit, unless nil, is asked about a packed transaction that was read, before it is
	// inflated. Its error is the answer.
	Admit func(*types.PackedTransaction) error

	// Encoded, unless nil, is told how many bytes each action's data have become that came as an
	// object. Its error is the answer.
	Encoded func(bytes int) error

	depth int
	grown int // bytes of JSON that are more than usual for their data
}

// scope returns the scope of data within what is converted.
func (c *Contents) scope() scope {
	s := scope{depth: c.depth + 1, growth: mostGrowth - c.grown}
	if c.ActionBudget != nil {
		s.budget = c.ActionBudget()
	}
	return s
}

func (c *Contents) codec(account types.Name) *Codec {
	if c.Resolve == nil {
		return nil
	}
	return c.Resolve(account)
}

// AppendAction appends an action with its data decoded if that is possible, and
// as hex_data besides.
func (c *Contents) AppendAction(b []byte, a *types.Action) []byte {
	c.depth++
	defer func() { c.depth-- }()
	b = a.Account.AppendJSON(append(b, `{"account":`...))
	b = a.Name.AppendJSON(append(b, `,"name":`...))
	b = variant.AppendList(append(b, `,"authorization":`...), a.Authorization,
		func(b []byte, v *types.PermissionLevel) []byte {
			return v.AppendJSON(b)
		})
	b = append(b, `,"data":`...)
	if out, ok := c.appendData(b, a.Account, (*Codec).ActionType, a.Name, a.Data); ok {
		b = out
	} else {
		b = variant.AppendHex(b, a.Data)
	}
	return append(variant.AppendHex(append(b, `,"hex_data":`...), a.Data), '}')
}

// appendData appends data by the type that the account's ABI has for them.
func (c *Contents) appendData(
	b []byte, account types.Name, typeOf func(*Codec, types.Name) string, name types.Name, data []byte,
) ([]byte, bool) {
	codec := c.codec(account)
	if codec == nil {
		return b, false
	}
	typ := typeOf(codec, name)
	if typ == "" {
		return b, false
	}
	out, _, err := codec.decode(b, typ, data, c.scope(), true)
	c.grown = min(c.grown+max(0, len(out)-len(b)-usualGrowth*len(data)), mostGrowth)
	return out, err == nil
}

func appendOptional[T interface{ AppendJSON([]byte) []byte }](b []byte, key string, v *T) []byte {
	b = variant.AppendKey(b, key)
	if v == nil {
		return append(b, "null"...)
	}
	return (*v).AppendJSON(b)
}

// number is a count of nodeos, for appendOptional.
type number uint64

func (n number) AppendJSON(b []byte) []byte { return variant.AppendUint64(b, uint64(n)) }

func appendUint(b []byte, key string, v uint64) []byte {
	return variant.AppendUint64(variant.AppendKey(b, key), v)
}

// AppendActionTrace appends a trace with the action's data and return value
// decoded if that is possible.
func (c *Contents) AppendActionTrace(b []byte, a *types.ActionTrace) []byte {
	c.depth++
	defer func() { c.depth-- }()
	b = appendUint(append(b, '{'), "action_ordinal", uint64(a.Ordinal))
	b = appendUint(b, "creator_action_ordinal", uint64(a.CreatorOrdinal))
	b = appendUint(b, "closest_unnotified_ancestor_action_ordinal", uint64(a.ClosestUnnotifiedAncestorOrdinal))
	b = appendOptional(b, "receipt", a.Receipt)
	b = a.Receiver.AppendJSON(variant.AppendKey(b, "receiver"))
	b = c.AppendAction(variant.AppendKey(b, "act"), &a.Action)
	b = variant.AppendBool(variant.AppendKey(b, "context_free"), a.ContextFree)
	b = variant.AppendInt64(variant.AppendKey(b, "elapsed"), a.Elapsed)
	b = variant.AppendString(variant.AppendKey(b, "console"), a.Console)
	b = a.TransactionID.AppendJSON(variant.AppendKey(b, "trx_id"))
	b = appendUint(b, "block_num", uint64(a.BlockNum))
	b = a.BlockTime.AppendJSON(variant.AppendKey(b, "block_time"))
	b = appendOptional(b, "producer_block_id", a.ProducerBlockID)
	b = variant.AppendList(variant.AppendKey(b, "account_ram_deltas"), a.AccountRAMDeltas,
		func(b []byte, v *types.AccountDelta) []byte {
			return v.AppendJSON(b)
		})
	b = appendFailure(b, a.Except, a.ErrorCode)
	b = variant.AppendHex(variant.AppendKey(b, "return_value_hex_data"), a.ReturnValue)
	out, ok := c.appendData(append(b, `,"return_value_data":`...), a.Action.Account, (*Codec).ActionResultType,
		a.Action.Name, a.ReturnValue)
	if ok {
		b = out
	}
	return append(b, '}')
}

// AppendTransactionTrace appends a trace with its actions' traces.
func (c *Contents) AppendTransactionTrace(b []byte, t *types.TransactionTrace) []byte {
	c.depth += 2 // the list of actions has its own
	defer func() { c.depth -= 2 }()
	b = t.ID.AppendJSON(append(b, `{"id":`...))
	b = appendUint(b, "block_num", uint64(t.BlockNum))
	b = t.BlockTime.AppendJSON(variant.AppendKey(b, "block_time"))
	b = appendOptional(b, "producer_block_id", t.ProducerBlockID)
	b = appendOptional(b, "receipt", t.Receipt)
	b = variant.AppendInt64(variant.AppendKey(b, "elapsed"), t.Elapsed)
	b = appendUint(b, "net_usage", t.NetUsage)
	b = variant.AppendBool(variant.AppendKey(b, "scheduled"), t.Scheduled)
	b = variant.AppendList(variant.AppendKey(b, "action_traces"), t.ActionTraces, c.AppendActionTrace)
	b = appendOptional(b, "account_ram_delta", t.AccountRAMDelta)
	if t.FailedDeferred != nil {
		b = c.AppendTransactionTrace(variant.AppendKey(b, "failed_dtrx_trace"), t.FailedDeferred)
	}
	return append(appendFailure(b, t.Except, t.ErrorCode), '}')
}

// AppendTransaction appends a transaction with its actions and what its extensions
// say; it fails if they are against the rules.
func (c *Contents) AppendTransaction(b []byte, t *types.Transaction) ([]byte, error) {
	c.depth += 2
	defer func() { c.depth -= 2 }()
	context, err := t.ExtractExtensions()
	if err != nil {
		return b, err
	}
	b = t.TransactionHeader.AppendMembers(append(b, '{'))
	b = variant.AppendList(variant.AppendKey(b, "context_free_actions"), t.ContextFreeActions, c.AppendAction)
	b = variant.AppendList(variant.AppendKey(b, "actions"), t.Actions, c.AppendAction)
	if context != nil {
		b = context.AppendJSON(variant.AppendKey(b, "deferred_transaction_generation"))
	}
	return append(b, '}'), nil
}

// AppendPackedTransaction appends a packed transaction with its contents; it fails
// if it does not unpack.
func (c *Contents) AppendPackedTransaction(b []byte, p *types.PackedTransaction) ([]byte, error) {
	c.depth++
	defer func() { c.depth-- }()
	t, data, err := p.Unpack()
	if err != nil {
		return b, err
	}
	b = t.ID().AppendJSON(append(b, `{"id":`...))
	b = variant.AppendList(variant.AppendKey(b, "signatures"), p.Signatures, func(b []byte, v *types.Signature) []byte {
		return v.AppendJSON(b)
	})
	b = variant.AppendString(variant.AppendKey(b, "compression"), p.Compression.String())
	b = variant.AppendHex(variant.AppendKey(b, "packed_context_free_data"), p.PackedContextFreeData)
	b = variant.AppendList(variant.AppendKey(b, "context_free_data"), data, func(b []byte, v *[]byte) []byte {
		return variant.AppendHex(b, *v)
	})
	b = variant.AppendHex(variant.AppendKey(b, "packed_trx"), p.PackedTrx)
	b, err = c.AppendTransaction(variant.AppendKey(b, "transaction"), t)
	return append(b, '}'), err
}

// AppendReceipt appends a transaction receipt of a block: with the transaction's
// contents, or its id where the block has no more.
func (c *Contents) AppendReceipt(b []byte, t *types.TransactionReceipt) ([]byte, error) {
	c.depth += 2 // the variant has its own
	defer func() { c.depth -= 2 }()
	b = variant.AppendKey(t.TransactionReceiptHeader.AppendMembers(append(b, '{')), "trx")
	if t.Packed == nil {
		return append(t.ID.AppendJSON(b), '}'), nil
	}
	b, err := c.AppendPackedTransaction(b, t.Packed)
	return append(b, '}'), err
}

// AppendBlock appends a block with its transactions' contents and what its
// extensions say; it fails if they are against the rules, or a transaction does
// not unpack.
func (c *Contents) AppendBlock(b []byte, s *types.SignedBlock) ([]byte, error) {
	c.depth += 2 // the list of transactions has its own
	defer func() { c.depth -= 2 }()
	header, err := s.BlockHeader.ExtractExtensions()
	if err != nil {
		return b, err
	}
	more, err := s.ExtractExtensions()
	if err != nil {
		return b, err
	}
	b = appendOptional(s.BlockHeader.AppendRoots(append(b, '{')), "new_producers", s.NewProducers)
	if header.ProtocolFeatures != nil {
		b = variant.AppendList(variant.AppendKey(b, "new_protocol_features"), header.ProtocolFeatures,
			func(b []byte, v *types.Checksum256) []byte {
				return append(v.AppendJSON(append(b, `{"feature_digest":`...)), '}')
			})
	}
	if header.ScheduleChange != nil {
		b = header.ScheduleChange.AppendJSON(variant.AppendKey(b, "new_producer_schedule"))
	}
	if header.Finality != nil {
		b = header.Finality.AppendJSON(variant.AppendKey(b, "finality_extension"))
	}
	b = s.ProducerSignature.AppendJSON(variant.AppendKey(b, "producer_signature"))
	b = append(variant.AppendKey(b, "transactions"), '[')
	for i := range s.Transactions {
		if i > 0 {
			b = append(b, ',')
		}
		if b, err = c.AppendReceipt(b, &s.Transactions[i]); err != nil {
			return b, err
		}
	}
	b = append(b, ']')
	if more.Signatures != nil {
		b = variant.AppendList(append(variant.AppendKey(b, "additional_signatures"), `{"signatures":`...),
			more.Signatures, func(b []byte, v *types.Signature) []byte {
				return v.AppendJSON(b)
			})
		b = append(b, '}')
	}
	if more.Certificate != nil {
		b = append(more.Certificate.AppendJSON(append(variant.AppendKey(b, "qc_extension"), `{"qc":`...)), '}')
	}
	return append(b, '}'), nil
}

// appendFailure appends the members "except" and "error_code" of a trace.
func appendFailure(b []byte, except *exception.Error, code *uint64) []byte {
	b = variant.AppendKey(b, "except")
	if except == nil {
		b = append(b, "null"...)
	} else {
		b = types.AppendException(b, except)
	}
	return appendOptional(b, "error_code", (*number)(code))
}
