package types

import (
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/variant"
)

// AppendJSON of every type appends the JSON that nodeos prints for it. Where a
// member is optional it is left out, as by fc::to_variant; forms that show the
// contents of actions are the business of package abi.

// jsonObject opens an object; members follow with their keys, and close ends it.
type jsonObject []byte

func openObject(b []byte) jsonObject { return append(b, '{') }

func (o jsonObject) key(k string) []byte { return variant.AppendKey(o, k) }

func (o jsonObject) close() []byte { return append(o, '}') }

func (o jsonObject) uint(k string, v uint64) jsonObject { return variant.AppendUint64(o.key(k), v) }

func (o jsonObject) hex(k string, v []byte) jsonObject { return variant.AppendHex(o.key(k), v) }

// json adds a member with a value that prints itself.
func (o jsonObject) json(k string, v interface{ AppendJSON([]byte) []byte }) jsonObject {
	return v.AppendJSON(o.key(k))
}

// appendPointed appends the element of a list that prints itself.
func appendPointed[T interface{ AppendJSON([]byte) []byte }](b []byte, v *T) []byte {
	return (*v).AppendJSON(b)
}

func list[T interface{ AppendJSON([]byte) []byte }](o jsonObject, k string, v []T) jsonObject {
	return variant.AppendList(o.key(k), v, appendPointed[T])
}

// JSONList is a list whose elements print themselves.
type JSONList[T interface{ AppendJSON([]byte) []byte }] []T

// AppendJSON appends an array.
func (l JSONList[T]) AppendJSON(b []byte) []byte { return variant.AppendList(b, l, appendPointed[T]) }

// AppendJSON appends the name in quotes.
func (n Name) AppendJSON(b []byte) []byte { return append(n.AppendText(append(b, '"')), '"') }

// AppendJSON appends c as a string of hex.
func (c Checksum160) AppendJSON(b []byte) []byte { return variant.AppendHex(b, c[:]) }

// AppendJSON appends c as a string of hex.
func (c Checksum256) AppendJSON(b []byte) []byte { return variant.AppendHex(b, c[:]) }

// AppendJSON appends c as a string of hex.
func (c Checksum512) AppendJSON(b []byte) []byte { return variant.AppendHex(b, c[:]) }

// AppendJSON appends the number in quotes, however small.
func (u Uint128) AppendJSON(b []byte) []byte { return variant.AppendText(b, u.AppendText) }

// AppendJSON appends the number in quotes, however small.
func (v Int128) AppendJSON(b []byte) []byte { return variant.AppendText(b, v.AppendText) }

// AppendJSON appends the bits in quotes, as hex.
func (f Float128) AppendJSON(b []byte) []byte { return variant.AppendText(b, f.AppendText) }

// AppendJSON appends the time in quotes.
func (t TimePoint) AppendJSON(b []byte) []byte { return variant.AppendText(b, t.AppendText) }

// AppendJSON appends the time in quotes.
func (t TimePointSec) AppendJSON(b []byte) []byte { return variant.AppendText(b, t.AppendText) }

// AppendJSON appends the slot's time in quotes.
func (t BlockTimestamp) AppendJSON(b []byte) []byte { return variant.AppendText(b, t.AppendText) }

// AppendJSON appends the symbol in quotes.
func (s Symbol) AppendJSON(b []byte) []byte {
	var room [16]byte
	return variant.AppendString(b, string(s.AppendText(room[:0])))
}

// AppendJSON appends the code in quotes.
func (c SymbolCode) AppendJSON(b []byte) []byte {
	var room [8]byte
	return variant.AppendString(b, string(c.AppendText(room[:0])))
}

// AppendJSON appends the asset in quotes.
func (a Asset) AppendJSON(b []byte) []byte {
	var room [32]byte
	return variant.AppendString(b, string(a.AppendText(room[:0])))
}

// AppendJSON appends an object.
func (a ExtendedAsset) AppendJSON(b []byte) []byte {
	return openObject(b).json("quantity", a.Quantity).json("contract", a.Contract).close()
}

// AppendJSON appends the key's text in quotes.
func (k PublicKey) AppendJSON(b []byte) []byte { return variant.AppendText(b, k.AppendText) }

// AppendJSON appends the signature's text in quotes.
func (s Signature) AppendJSON(b []byte) []byte { return variant.AppendText(b, s.AppendText) }

// AppendJSON appends an object.
func (p PermissionLevel) AppendJSON(b []byte) []byte {
	return openObject(b).json("actor", p.Actor).json("permission", p.Permission).close()
}

// AppendJSON appends an object.
func (w KeyWeight) AppendJSON(b []byte) []byte {
	return openObject(b).json("key", w.Key).uint("weight", uint64(w.Weight)).close()
}

// AppendJSON appends an object.
func (w PermissionLevelWeight) AppendJSON(b []byte) []byte {
	return openObject(b).json("permission", w.Permission).uint("weight", uint64(w.Weight)).close()
}

// AppendJSON appends an object.
func (w WaitWeight) AppendJSON(b []byte) []byte {
	return openObject(b).uint("wait_sec", uint64(w.WaitSec)).uint("weight", uint64(w.Weight)).close()
}

// AppendJSON appends an object.
func (a Authority) AppendJSON(b []byte) []byte {
	o := openObject(b).uint("threshold", uint64(a.Threshold))
	o = list(o, "keys", a.Keys)
	o = list(o, "accounts", a.Accounts)
	return list(o, "waits", a.Waits).close()
}

// AppendJSON appends an array: the type, and the data in hex.
func (e Extension) AppendJSON(b []byte) []byte {
	b = variant.AppendUint64(append(b, '['), uint64(e.Type))
	return append(variant.AppendHex(append(b, ','), e.Data), ']')
}

// AppendJSON appends an object with the data in hex.
func (a Action) AppendJSON(b []byte) []byte {
	o := openObject(b).json("account", a.Account).json("name", a.Name)
	return list(o, "authorization", a.Authorization).hex("data", a.Data).close()
}

func (h TransactionHeader) jsonMembers(o jsonObject) jsonObject {
	o = o.json("expiration", h.Expiration).uint("ref_block_num", uint64(h.RefBlockNum))
	o = o.uint("ref_block_prefix", uint64(h.RefBlockPrefix)).uint("max_net_usage_words", uint64(h.MaxNetUsageWords))
	return o.uint("max_cpu_usage_ms", uint64(h.MaxCPUUsageMS)).uint("delay_sec", uint64(h.DelaySec))
}

// AppendMembers appends the members of the header without braces, after what an
// object has so far.
func (h TransactionHeader) AppendMembers(b []byte) []byte { return h.jsonMembers(b) }

// AppendJSON appends an object.
func (t Transaction) AppendJSON(b []byte) []byte {
	o := list(t.jsonMembers(openObject(b)), "context_free_actions", t.ContextFreeActions)
	o = list(o, "actions", t.Actions)
	return list(o, "transaction_extensions", t.Extensions).close()
}

// String returns the name that nodeos has for it.
func (c Compression) String() string {
	switch c {
	case CompressionNone:
		return "none"
	case CompressionZlib:
		return "zlib"
	}
	return strconv.Itoa(int(c))
}

// AppendJSON appends an object with everything packed.
func (p PackedTransaction) AppendJSON(b []byte) []byte {
	o := list(openObject(b), "signatures", p.Signatures)
	o = variant.AppendString(o.key("compression"), p.Compression.String())
	return o.hex("packed_context_free_data", p.PackedContextFreeData).hex("packed_trx", p.PackedTrx).close()
}

// String returns the name that nodeos has for it.
func (s TransactionStatus) String() string {
	names := [...]string{"executed", "soft_fail", "hard_fail", "delayed", "expired"}
	if int(s) < len(names) {
		return names[s]
	}
	return strconv.Itoa(int(s))
}

func (h TransactionReceiptHeader) jsonMembers(o jsonObject) jsonObject {
	o = variant.AppendString(o.key("status"), h.Status.String())
	return o.uint("cpu_usage_us", uint64(h.CPUUsageUS)).uint("net_usage_words", uint64(h.NetUsageWords))
}

// AppendMembers appends the members of the header without braces, after what an
// object has so far.
func (h TransactionReceiptHeader) AppendMembers(b []byte) []byte { return h.jsonMembers(b) }

// AppendJSON appends an object.
func (h TransactionReceiptHeader) AppendJSON(b []byte) []byte {
	return h.jsonMembers(openObject(b)).close()
}

// AppendJSON appends an object in which the transaction is an array: 0 and an id,
// or 1 and a packed transaction.
func (t TransactionReceipt) AppendJSON(b []byte) []byte {
	b = t.jsonMembers(openObject(b)).key("trx")
	if t.Packed == nil {
		b = t.ID.AppendJSON(append(b, "[0,"...))
	} else {
		b = t.Packed.AppendJSON(append(b, "[1,"...))
	}
	return append(b, "]}"...)
}

// AppendJSON appends an array: the account and its number.
func (s AuthSequence) AppendJSON(b []byte) []byte {
	b = append(s.Account.AppendJSON(append(b, '[')), ',')
	return append(variant.AppendUint64(b, s.Sequence), ']')
}

// AppendJSON appends an object.
func (a ActionReceipt) AppendJSON(b []byte) []byte {
	o := openObject(b).json("receiver", a.Receiver).json("act_digest", a.ActDigest)
	o = o.uint("global_sequence", a.GlobalSequence).uint("recv_sequence", a.RecvSequence)
	o = list(o, "auth_sequence", a.AuthSequence)
	return o.uint("code_sequence", uint64(a.CodeSequence)).uint("abi_sequence", uint64(a.ABISequence)).close()
}

// AppendJSON appends an object.
func (a AccountDelta) AppendJSON(b []byte) []byte {
	return append(variant.AppendInt64(openObject(b).json("account", a.Account).key("delta"), a.Delta), '}')
}

// AppendJSON appends an object.
func (g GenerationContext) AppendJSON(b []byte) []byte {
	o := openObject(b).json("sender_trx_id", g.SenderTrxID).json("sender_id", g.SenderID)
	return o.json("sender", g.Sender).close()
}

// ParseHex decodes a string of hex digits, of which there must be an even number
// (libfc: from_variant to a vector of char).
func ParseHex(s string) ([]byte, error) {
	switch {
	case len(s) > 2*serial.MaxBytes:
		return nil, exception.New(exception.FCAssert, "str.size() <= 2*MAX_SIZE_OF_BYTE_ARRAYS: ")
	case len(s)%2 != 0:
		return nil, exception.New(exception.FCAssert,
			"str.size() % 2 == 0: the length of hex string should be even number")
	case s == "":
		return nil, nil
	}
	out := make([]byte, len(s)/2)
	return out, parseHex(out, s)
}
