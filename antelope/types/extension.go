package types

import (
	"bytes"
	"sort"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// Append appends the list.
func (e Extensions) Append(b []byte) []byte {
	b = serial.AppendCount(b, len(e))
	for i := range e {
		b = serial.AppendBytes(serial.AppendUint16(b, e[i].Type), e[i].Data)
	}
	return b
}

// Read reads the list.
func (e *Extensions) Read(r *serial.Reader) {
	*e = nil
	n := r.Count(3)
	if n == 0 {
		return
	}
	list := make(Extensions, n)
	for i := range list {
		list[i].Type = r.Uint16()
		list[i].Data = bytes.Clone(r.Bytes())
	}
	*e = list
}

// Insert returns the list with an entry after those of the same or lower types.
// The list must be in order of types (Leap: emplace_extension).
func (e Extensions) Insert(typ uint16, data []byte) Extensions {
	i := sort.Search(len(e), func(i int) bool { return typ < e[i].Type })
	e = append(e, Extension{})
	copy(e[i+1:], e[i:])
	e[i] = Extension{Type: typ, Data: data}
	return e
}

// each checks that types ascend, and decodes each entry with the reader that
// decode has for its type. All types that there are may occur once only.
func (e Extensions) each(
	kind, repeated *exception.Kind, what string, decode func(typ uint16) func(*serial.Reader),
) error {
	for i, x := range e {
		if i > 0 && x.Type < e[i-1].Type {
			return exception.New(kind, what+" extensions are not in the correct order (ascending id types required)")
		}
		read := decode(x.Type)
		if read == nil {
			return exception.New(kind, what+" extension with id type ${id} is not supported", "id", x.Type)
		}
		r := serial.NewReader(x.Data) // what follows is ignored, as by fc::raw::unpack
		read(r)
		if err := r.Err(); err != nil {
			return err
		}
		if i > 0 && x.Type == e[i-1].Type {
			return exception.New(repeated, what+" extension with id type ${id} is not allowed to repeat", "id", x.Type)
		}
	}
	return nil
}

// HeaderExtensions is what the extensions of a block header say.
type HeaderExtensions struct {
	Finality         *FinalityExtension // nil for none
	ProtocolFeatures []Checksum256      // activated with the block; nil if none
	ScheduleChange   *ProducerSchedule  // proposed producers; nil if none
}

// ExtractExtensions decodes the header's extensions, by the rules of nodeos (Leap:
// validate_and_extract_header_extensions).
func (h *BlockHeader) ExtractExtensions() (HeaderExtensions, error) {
	var out HeaderExtensions
	kind := exception.InvalidBlockHeaderExtension
	err := h.Extensions.each(kind, kind, "Block header", func(typ uint16) func(*serial.Reader) {
		switch typ {
		case HeaderProtocolFeatures:
			return func(r *serial.Reader) { out.ProtocolFeatures = readProtocolFeatures(r) }
		case HeaderScheduleChange:
			out.ScheduleChange = new(ProducerSchedule)
			return out.ScheduleChange.Read
		case HeaderFinality:
			out.Finality = new(FinalityExtension)
			return out.Finality.Read
		}
		return nil
	})
	return out, err
}

func readProtocolFeatures(r *serial.Reader) []Checksum256 {
	return distinct(r, ReadChecksums(r), exception.IllFormedProtocolFeatureActivation,
		"Protocol feature activation extension must have at least one protocol feature digest",
		"Protocol feature digest ${d} was repeated in the protocol feature activation extension", "d")
}

// distinct fails unless the list, which was read, has elements and each of them once.
func distinct[T comparable](r *serial.Reader, list []T, kind *exception.Kind, none, repeated, key string) []T {
	if r.Err() != nil {
		return nil
	}
	if len(list) == 0 {
		r.Fail(exception.New(kind, none))
	}
	seen := make(map[T]bool, len(list))
	for _, e := range list {
		if seen[e] {
			r.Fail(exception.New(kind, repeated, key, e))
			break
		}
		seen[e] = true
	}
	return list
}

// BlockExtensions is what the extensions of a block say.
type BlockExtensions struct {
	Signatures  []Signature        // after the first; nil if there are none
	Certificate *QuorumCertificate // nil for none
}

// ExtractExtensions decodes the block's extensions (Leap:
// signed_block::validate_and_extract_extensions).
func (b *SignedBlock) ExtractExtensions() (BlockExtensions, error) {
	var out BlockExtensions
	err := b.Extensions.each(exception.InvalidBlockExtension, exception.InvalidBlockHeaderExtension, "Block",
		func(typ uint16) func(*serial.Reader) {
			switch typ {
			case BlockMoreSignatures:
				return func(r *serial.Reader) { out.Signatures = readMoreSignatures(r) }
			case BlockQuorumCert:
				out.Certificate = new(QuorumCertificate)
				return out.Certificate.Read
			}
			return nil
		})
	return out, err
}

func readMoreSignatures(r *serial.Reader) []Signature {
	return distinct(r, ReadSignatures(r), exception.IllFormedAdditionalBlockSignaturesExtension,
		"Additional block signatures extension must contain at least one signature",
		"Signature ${s} was repeated in the additional block signatures extension", "s")
}

// TransactionGenerationContext is the type of the one extension of transactions.
const TransactionGenerationContext = 0

// GenerationContext says which transaction generated a deferred one.
type GenerationContext struct {
	SenderTrxID Checksum256
	SenderID    Uint128
	Sender      Name
}

// Append appends the fields.
func (g GenerationContext) Append(b []byte) []byte {
	return g.Sender.Append(g.SenderID.Append(g.SenderTrxID.Append(b)))
}

// Read reads the fields and refuses an empty sender.
func (g *GenerationContext) Read(r *serial.Reader) {
	g.SenderTrxID.Read(r)
	g.SenderID.Read(r)
	g.Sender.Read(r)
	if r.Err() == nil && g.Sender == 0 {
		r.Fail(exception.New(exception.IllFormedDeferredTransactionGenerationContext,
			"Deferred transaction generation context extension must have a non-empty sender account"))
	}
}

// ExtractExtensions decodes the transaction's extensions: its generation context,
// nil if it has none (Leap: transaction::validate_and_extract_extensions).
func (t *Transaction) ExtractExtensions() (*GenerationContext, error) {
	var out *GenerationContext
	kind := exception.InvalidTransactionExtension
	err := t.Extensions.each(kind, kind, "Transaction", func(typ uint16) func(*serial.Reader) {
		if typ != TransactionGenerationContext {
			return nil
		}
		out = new(GenerationContext)
		return out.Read
	})
	return out, err
}
