package rpc

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Blocks and transactions from JSON, as nodeos prints them packed. What is missing
// is zero.

// sub returns the members of a value that must be an object.
func sub(v variant.Value) *params {
	p := &params{value: v}
	if v.Kind() != variant.Object {
		_, _, err := v.Members()
		p.fail(err)
	}
	return p
}

func (p *params) checksum(key string) (c types.Checksum256) {
	if v, ok := p.find(key); ok {
		var err error
		c, err = checksumOf(v)
		p.fail(err)
	}
	return c
}

func (p *params) hex(key string) []byte {
	s := p.text(key, "")
	data, err := types.ParseHex(s)
	p.fail(err)
	return data
}

func signatureOf(v variant.Value) (types.Signature, error) {
	s, err := v.AsText()
	if err != nil {
		return types.Signature{}, err
	}
	return types.ParseSignature(s)
}

// extensions reads a list of pairs of a number and data in hex.
func (p *params) extensions(key string) (list types.Extensions) {
	p.elements(key, func(v variant.Value) error {
		pair, err := v.Elements()
		if err != nil {
			return err
		}
		var e types.Extension
		if len(pair) > 0 {
			n, err := pair[0].AsUint64()
			if err != nil {
				return err
			}
			e.Type = uint16(n)
		}
		if len(pair) > 1 {
			s, err := pair[1].AsText()
			if err != nil {
				return err
			}
			if e.Data, err = types.ParseHex(s); err != nil {
				return err
			}
		}
		list = append(list, e)
		return nil
	})
	return list
}

// blockOf reads a signed block.
func blockOf(v variant.Value) (*types.SignedBlock, error) {
	p := sub(v)
	b := new(types.SignedBlock)
	t, err := types.ParseBlockTimestamp(p.text("timestamp", "2000-01-01T00:00:00"))
	p.fail(err)
	b.Timestamp, b.Producer, b.Confirmed = t, p.name("producer"), uint16(p.uint32("confirmed", 1))
	b.Previous, b.TransactionMRoot, b.ActionMRoot = p.checksum("previous"), p.checksum("transaction_mroot"),
		p.checksum("action_mroot")
	b.ScheduleVersion = p.uint32("schedule_version", 0)
	if s, ok := p.optional("new_producers"); ok {
		schedule, err := legacyOf(s)
		p.fail(err)
		b.NewProducers = schedule
	}
	b.BlockHeader.Extensions = p.extensions("header_extensions")
	if s, ok := p.find("producer_signature"); ok {
		b.ProducerSignature, err = signatureOf(s)
		p.fail(err)
	}
	p.elements("transactions", func(v variant.Value) error {
		r, err := receiptOf(v)
		b.Transactions = append(b.Transactions, r)
		return err
	})
	b.Extensions = p.extensions("block_extensions")
	return b, p.err
}

func legacyOf(v variant.Value) (*types.LegacySchedule, error) {
	p := sub(v)
	s := &types.LegacySchedule{Version: p.uint32("version", 0)}
	p.elements("producers", func(v variant.Value) error {
		p := sub(v)
		k := types.LegacyProducerKey{Producer: p.name("producer_name")}
		if key, ok := p.find("block_signing_key"); ok {
			var err error
			k.Key, err = keyOf(key)
			p.fail(err)
		}
		s.Producers = append(s.Producers, k)
		return p.err
	})
	return s, p.err
}

// statuses are the names of outcomes, by their numbers.
var statuses = [...]string{"executed", "soft_fail", "hard_fail", "delayed", "expired"}

func (p *params) outcome(key string) types.TransactionStatus {
	v, ok := p.find(key)
	if !ok {
		return types.StatusHardFail // nodeos' default
	}
	s, err := v.AsText()
	p.fail(err)
	for i, name := range statuses {
		if name == s {
			return types.TransactionStatus(i)
		}
	}
	n, err := v.AsUint64()
	p.fail(err)
	if p.err == nil && n >= uint64(len(statuses)) {
		p.fail(exception.New(exception.FCBadCast, "invalid transaction status ${status}", "status", s))
	}
	return types.TransactionStatus(n)
}

func receiptOf(v variant.Value) (r types.TransactionReceipt, err error) {
	p := sub(v)
	r.Status = p.outcome("status")
	r.CPUUsageUS, r.NetUsageWords = p.uint32("cpu_usage_us", 0), p.uint32("net_usage_words", 0)
	trx, _ := p.find("trx")
	pair, err := trx.Elements()
	p.fail(err)
	if p.err != nil || len(pair) < 2 {
		p.fail(exception.New(exception.FCAssert, "a receipt without a transaction"))
		return r, p.err
	}
	which, err := pair[0].AsUint64()
	p.fail(err)
	if which == 0 {
		r.ID, err = checksumOf(pair[1])
	} else {
		r.Packed, err = packedOf(pair[1])
	}
	p.fail(err)
	return r, p.err
}

func packedOf(v variant.Value) (*types.PackedTransaction, error) {
	p := sub(v)
	t := new(types.PackedTransaction)
	p.elements("signatures", func(v variant.Value) error {
		s, err := signatureOf(v)
		t.Signatures = append(t.Signatures, s)
		return err
	})
	switch c := p.text("compression", "none"); c {
	case "none", "0", "false":
	case "zlib", "1", "true":
		t.Compression = types.CompressionZlib
	default:
		p.fail(exception.New(exception.FCBadCast, "invalid compression ${compression}", "compression", c))
	}
	t.PackedContextFreeData, t.PackedTrx = p.hex("packed_context_free_data"), p.hex("packed_trx")
	return t, p.err
}

// transactionOf reads a transaction whose actions have their data in hex.
func transactionOf(v variant.Value) (*types.Transaction, error) {
	p := sub(v)
	t := new(types.Transaction)
	if s, ok := p.find("expiration"); ok {
		text, err := s.AsText()
		p.fail(err)
		t.Expiration, err = types.ParseTimePointSec(text)
		p.fail(err)
	}
	t.RefBlockNum, t.RefBlockPrefix = uint16(p.uint32("ref_block_num", 0)), p.uint32("ref_block_prefix", 0)
	t.MaxNetUsageWords, t.MaxCPUUsageMS = p.uint32("max_net_usage_words", 0), uint8(p.uint32("max_cpu_usage_ms", 0))
	t.DelaySec = p.uint32("delay_sec", 0)
	t.ContextFreeActions, t.Actions = p.actions("context_free_actions"), p.actions("actions")
	t.Extensions = p.extensions("transaction_extensions")
	return t, p.err
}

func (p *params) actions(key string) (list []types.Action) {
	p.elements(key, func(v variant.Value) error {
		p := sub(v)
		a := types.Action{Account: p.name("account"), Name: p.name("name")}
		p.elements("authorization", func(v variant.Value) error {
			p := sub(v)
			a.Authorization = append(a.Authorization,
				types.PermissionLevel{Actor: p.name("actor"), Permission: p.name("permission")})
			return p.err
		})
		data := "data"
		if _, ok := p.find("data"); ok {
			if _, ok := p.find("hex_data"); ok {
				data = "hex_data"
			}
		}
		a.Data = p.hex(data)
		list = append(list, a)
		return p.err
	})
	return list
}
