package types

import (
	"bytes"
	"math"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// appendBase appends the action without its data.
func (a *Action) appendBase(b []byte) []byte {
	b = a.Name.Append(a.Account.Append(b))
	b = serial.AppendCount(b, len(a.Authorization))
	for _, p := range a.Authorization {
		b = p.Append(b)
	}
	return b
}

// Append appends the action.
func (a Action) Append(b []byte) []byte { return serial.AppendBytes(a.appendBase(b), a.Data) }

// Read reads an action.
func (a *Action) Read(r *serial.Reader) {
	*a = Action{}
	a.Account.Read(r)
	a.Name.Read(r)
	if n := r.Count(16); n > 0 {
		a.Authorization = make([]PermissionLevel, n)
		for i := range a.Authorization {
			a.Authorization[i].Read(r)
		}
	}
	a.Data = bytes.Clone(r.Bytes())
}

// Size returns the length of the encoding.
func (a *Action) Size() int {
	return 16 + sizeCount(len(a.Authorization)) + 16*len(a.Authorization) + sizeCount(len(a.Data)) + len(a.Data)
}

// Digest returns what a receipt has of the action before ACTION_RETURN_VALUE.
func (a *Action) Digest() Checksum256 { return Hash(a.Append(make([]byte, 0, a.Size()))) }

// DigestWithReturn returns what a receipt has of the action and its return value
// once ACTION_RETURN_VALUE is active (Leap: generate_action_digest).
func (a *Action) DigestWithReturn(value []byte) Checksum256 {
	var buf [256]byte // enough for most, on the stack
	base := Hash(a.appendBase(buf[:0]))
	rest := Hash(serial.AppendBytes(serial.AppendBytes(buf[:0], a.Data), value))
	var both [len(base) + len(rest)]byte
	copy(both[copy(both[:], base[:]):], rest[:])
	return Hash(both[:])
}

// minAction is the length of the shortest action.
const minAction = 18

func appendActions(b []byte, list []Action) []byte {
	b = serial.AppendCount(b, len(list))
	for i := range list {
		b = list[i].Append(b)
	}
	return b
}

func readActions(r *serial.Reader) []Action {
	n := r.Count(minAction)
	if n == 0 {
		return nil
	}
	list := make([]Action, n)
	for i := range list {
		list[i].Read(r)
	}
	return list
}

// Append appends the header.
func (h TransactionHeader) Append(b []byte) []byte {
	b = serial.AppendUint32(b, uint32(h.Expiration))
	b = serial.AppendUint16(b, h.RefBlockNum)
	b = serial.AppendUint32(b, h.RefBlockPrefix)
	b = serial.AppendVaruint32(b, h.MaxNetUsageWords)
	return serial.AppendVaruint32(append(b, h.MaxCPUUsageMS), h.DelaySec)
}

// Read reads a header.
func (h *TransactionHeader) Read(r *serial.Reader) {
	h.Expiration.Read(r)
	h.RefBlockNum = r.Uint16()
	h.RefBlockPrefix = r.Uint32()
	h.MaxNetUsageWords = r.Varuint32()
	h.MaxCPUUsageMS = r.Uint8()
	h.DelaySec = r.Varuint32()
}

// Validate refuses a limit of network words whose bytes overflow (Leap:
// transaction_header::validate).
func (h *TransactionHeader) Validate() error {
	if h.MaxNetUsageWords >= math.MaxUint32/8 {
		return exception.New(exception.Transaction,
			"declared max_net_usage_words overflows when expanded to max net usage")
	}
	return nil
}

// SetRefBlock makes the transaction refer to a block (TaPoS).
func (h *TransactionHeader) SetRefBlock(id Checksum256) {
	h.RefBlockNum, h.RefBlockPrefix = RefBlock(id)
}

// VerifyRefBlock tells whether the transaction refers to a block.
func (h *TransactionHeader) VerifyRefBlock(id Checksum256) bool {
	num, prefix := RefBlock(id)
	return h.RefBlockNum == num && h.RefBlockPrefix == prefix
}

// Append appends the transaction.
func (t Transaction) Append(b []byte) []byte {
	b = appendActions(t.TransactionHeader.Append(b), t.ContextFreeActions)
	return t.Extensions.Append(appendActions(b, t.Actions))
}

// Read reads a transaction.
func (t *Transaction) Read(r *serial.Reader) {
	t.TransactionHeader.Read(r)
	t.ContextFreeActions = readActions(r)
	t.Actions = readActions(r)
	t.Extensions.Read(r)
}

// ID returns the transaction's id, the hash of its encoding. A transaction that
// was read from another encoding of the same (longer varuints) has the same id.
func (t *Transaction) ID() Checksum256 {
	var room [UsualRoom]byte
	return Hash(t.Append(room[:0]))
}

// UsualRoom is what most transactions fit into, in bytes: so much of a stack may be used
// before memory is asked for.
const UsualRoom = 512

// SigningDigest returns what is signed: the chain's id, the transaction, and the
// hash of the context-free data, zeros if there is none.
func (t *Transaction) SigningDigest(chainID Checksum256, contextFreeData [][]byte) Checksum256 {
	var room [UsualRoom]byte
	b := t.Append(chainID.Append(room[:0]))
	var data Checksum256
	if len(contextFreeData) > 0 {
		data = Hash(appendByteSlices(nil, contextFreeData))
	}
	return Hash(data.Append(b))
}

// FirstAuthorizer returns the actor of the first authorization of the actions that
// are not context-free, the empty name if there is none.
func (t *Transaction) FirstAuthorizer() Name {
	for i := range t.Actions {
		if auth := t.Actions[i].Authorization; len(auth) > 0 {
			return auth[0].Actor
		}
	}
	return 0
}

// appendByteSlices appends a list of byte strings, such as context-free data.
func appendByteSlices(b []byte, list [][]byte) []byte {
	b = serial.AppendCount(b, len(list))
	for _, v := range list {
		b = serial.AppendBytes(b, v)
	}
	return b
}

// readByteSlices reads a list of byte strings.
func readByteSlices(r *serial.Reader) [][]byte {
	n := r.Count(1)
	if n == 0 {
		return nil
	}
	list := make([][]byte, n)
	for i := range list {
		list[i] = bytes.Clone(r.Bytes())
	}
	return list
}

// AppendSignatures appends a list of signatures.
func AppendSignatures(b []byte, list []Signature) []byte {
	b = serial.AppendCount(b, len(list))
	for i := range list {
		b = list[i].Append(b)
	}
	return b
}

// ReadSignatures reads a list of signatures.
func ReadSignatures(r *serial.Reader) []Signature {
	n := r.Count(66)
	if n == 0 {
		return nil
	}
	list := make([]Signature, n)
	for i := range list {
		list[i].Read(r)
	}
	return list
}
