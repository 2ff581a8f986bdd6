package p2p

import (
	"encoding/binary"
	"fmt"

	"tarn/antelope/admintypes"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Type is the number of a kind of message.
type Type uint32

// The messages (Leap, Spring: net_message).
const (
	TypeHandshake Type = iota
	TypeChainSize
	TypeGoAway
	TypeTime
	TypeNotice
	TypeRequest
	TypeSyncRequest
	TypeBlock       // a types.SignedBlock
	TypeTransaction // a types.PackedTransaction

	// Those that Spring adds.

	TypeVote // a finality.Vote
	TypeBlockNack
	TypeBlockNotice
	TypeGossip
)

// Message is any of the messages, a block or a transaction included.
type Message interface {
	// Append appends the message as it stands on the wire, without its length and type.
	Append(b []byte) []byte
}

// Handshake says who a node is and where its chain is.
type Handshake admintypes.Handshake

// ChainSize is a message that nobody acts on.
type ChainSize struct {
	LIBNum  uint32
	LIBID   types.Checksum256
	HeadNum uint32
	HeadID  types.Checksum256
}

// GoAway says why a connection ends.
type GoAway struct {
	Reason Reason
	NodeID types.Checksum256 // with Duplicate
}

// Reason is why a peer is sent away. As on the wire any number can come.
type Reason uint32

// The reasons (Leap: go_away_reason).
const (
	NoReason Reason = iota
	Self
	Duplicate
	WrongChain
	WrongVersion
	Forked
	Unlinkable
	BadTransaction
	Validation
	BenignOther
	FatalOther
	Authentication
)

// String returns nodeos' words for it.
func (r Reason) String() string {
	words := [...]string{"no reason", "self connect", "duplicate", "wrong chain", "wrong version",
		"chain is forked", "unlinkable block received", "bad transaction", "invalid block",
		"some other non-fatal condition, possibly unknown block", "some other failure",
		"authentication failure"}
	if int(r) < len(words) {
		return words[r]
	}
	return "some crazy reason"
}

// Time measures the latency of a connection, and how far apart the clocks are, in
// nanoseconds of the Unix epoch (RFC 5905).
type Time struct {
	Origin, Receive, Transmit, Destination int64
}

// Mode is what a list of ids means. As on the wire any number can come.
type Mode uint32

// The modes (Leap: id_list_modes).
const (
	ModeNone Mode = iota
	ModeCatchUp
	ModeLIBCatchUp
	ModeNormal
)

// String returns nodeos' words for it.
func (m Mode) String() string {
	words := [...]string{"none", "catch up", "last irreversible", "normal"}
	if int(m) < len(words) {
		return words[m]
	}
	return "undefined mode"
}

// IDs is what a notice or a request says of transactions or of blocks. Mode says which of the
// other fields count: a block's number, ids, or none.
type IDs struct {
	Mode    Mode
	Pending uint32 // number of the newest block that the sender has, or of its last irreversible one
	IDs     []types.Checksum256
}

// Notice says what a node has.
type Notice struct{ Trx, Blocks IDs }

// Request asks for blocks by id, or for those that follow one.
type Request struct{ Trx, Blocks IDs }

// SyncRequest asks for a range of blocks, both ends included; {0, 0} ends one.
type SyncRequest struct{ Start, End uint32 }

// BlockNack says that the sender had a block already that it was sent. Without an id it says that
// it wants all blocks.
type BlockNack struct{ ID types.Checksum256 }

// BlockNotice says that there is a block, to a peer that had those before it already when they came.
type BlockNotice struct{ Previous, ID types.Checksum256 }

// Append appends the message without its type.
func (m Handshake) Append(b []byte) []byte {
	b = m.NodeID.Append(m.ChainID.Append(serial.AppendUint16(b, m.NetworkVersion)))
	b = m.Token.Append(serial.AppendInt64(m.Key.Append(b), m.Time))
	b = serial.AppendString(m.Sig.Append(b), m.P2PAddress)
	b = m.LIBID.Append(serial.AppendUint32(b, m.LIBNum))
	b = m.HeadID.Append(serial.AppendUint32(b, m.HeadNum))
	b = serial.AppendString(serial.AppendString(b, m.OS), m.Agent)
	return serial.AppendUint16(b, uint16(m.Generation))
}

// Read reads the message. Texts may be longer than a node accepts.
func (m *Handshake) Read(r *serial.Reader) {
	m.NetworkVersion = r.Uint16()
	m.ChainID.Read(r)
	m.NodeID.Read(r)
	m.Key.Read(r)
	m.Time = r.Int64()
	m.Token.Read(r)
	m.Sig.Read(r)
	m.P2PAddress = r.String()
	m.LIBNum = r.Uint32()
	m.LIBID.Read(r)
	m.HeadNum = r.Uint32()
	m.HeadID.Read(r)
	m.OS, m.Agent = r.String(), r.String()
	m.Generation = int16(r.Uint16())
}

// Append appends the message without its type.
func (m ChainSize) Append(b []byte) []byte {
	b = m.LIBID.Append(serial.AppendUint32(b, m.LIBNum))
	return m.HeadID.Append(serial.AppendUint32(b, m.HeadNum))
}

// Read reads the message.
func (m *ChainSize) Read(r *serial.Reader) {
	m.LIBNum = r.Uint32()
	m.LIBID.Read(r)
	m.HeadNum = r.Uint32()
	m.HeadID.Read(r)
}

// Append appends the message without its type.
func (m GoAway) Append(b []byte) []byte {
	return m.NodeID.Append(serial.AppendUint32(b, uint32(m.Reason)))
}

// Read reads the message.
func (m *GoAway) Read(r *serial.Reader) {
	m.Reason = Reason(r.Uint32())
	m.NodeID.Read(r)
}

// Append appends the message without its type.
func (m Time) Append(b []byte) []byte {
	b = serial.AppendInt64(serial.AppendInt64(b, m.Origin), m.Receive)
	return serial.AppendInt64(serial.AppendInt64(b, m.Transmit), m.Destination)
}

// Read reads the message.
func (m *Time) Read(r *serial.Reader) {
	m.Origin, m.Receive = r.Int64(), r.Int64()
	m.Transmit, m.Destination = r.Int64(), r.Int64()
}

// Append appends the list.
func (v IDs) Append(b []byte) []byte {
	b = serial.AppendUint32(serial.AppendUint32(b, uint32(v.Mode)), v.Pending)
	return types.AppendChecksums(b, v.IDs)
}

// Read reads the list.
func (v *IDs) Read(r *serial.Reader) {
	v.Mode, v.Pending = Mode(r.Uint32()), r.Uint32()
	v.IDs = types.ReadChecksums(r)
}

// Append appends the message without its type.
func (m Notice) Append(b []byte) []byte { return m.Blocks.Append(m.Trx.Append(b)) }

// Read reads the message.
func (m *Notice) Read(r *serial.Reader) {
	m.Trx.Read(r)
	m.Blocks.Read(r)
}

// Append appends the message without its type.
func (m Request) Append(b []byte) []byte { return m.Blocks.Append(m.Trx.Append(b)) }

// Read reads the message.
func (m *Request) Read(r *serial.Reader) {
	m.Trx.Read(r)
	m.Blocks.Read(r)
}

// Append appends the message without its type.
func (m SyncRequest) Append(b []byte) []byte {
	return serial.AppendUint32(serial.AppendUint32(b, m.Start), m.End)
}

// Read reads the message.
func (m *SyncRequest) Read(r *serial.Reader) { m.Start, m.End = r.Uint32(), r.Uint32() }

// Append appends the message without its type.
func (m BlockNack) Append(b []byte) []byte { return m.ID.Append(b) }

// Read reads the message.
func (m *BlockNack) Read(r *serial.Reader) { m.ID.Read(r) }

// Append appends the message without its type.
func (m BlockNotice) Append(b []byte) []byte { return m.ID.Append(m.Previous.Append(b)) }

// Read reads the message.
func (m *BlockNotice) Read(r *serial.Reader) {
	m.Previous.Read(r)
	m.ID.Read(r)
}

// typeOf is the number of a message's kind.
func typeOf(m Message) (Type, error) {
	switch m.(type) {
	case Handshake, *Handshake:
		return TypeHandshake, nil
	case ChainSize, *ChainSize:
		return TypeChainSize, nil
	case GoAway, *GoAway:
		return TypeGoAway, nil
	case Time, *Time:
		return TypeTime, nil
	case Notice, *Notice:
		return TypeNotice, nil
	case Request, *Request:
		return TypeRequest, nil
	case SyncRequest, *SyncRequest:
		return TypeSyncRequest, nil
	case types.SignedBlock, *types.SignedBlock:
		return TypeBlock, nil
	case types.PackedTransaction, *types.PackedTransaction:
		return TypeTransaction, nil
	case finality.Vote, *finality.Vote:
		return TypeVote, nil
	case BlockNack, *BlockNack:
		return TypeBlockNack, nil
	case BlockNotice, *BlockNotice:
		return TypeBlockNotice, nil
	case Gossip, *Gossip:
		return TypeGossip, nil
	}
	return 0, fmt.Errorf("%T is not a message", m)
}

// AppendFrame appends a message as it goes over the wire: the length of what
// follows in four bytes, the type, the message.
func AppendFrame(b []byte, m Message) ([]byte, error) {
	t, err := typeOf(m)
	if err != nil {
		return b, err
	}
	start := len(b)
	b = m.Append(serial.AppendVaruint32(append(b, 0, 0, 0, 0), uint32(t)))
	binary.LittleEndian.PutUint32(b[start:], uint32(len(b)-start-4))
	return b, nil
}

// appendRawFrame appends a message of type t whose encoding is at hand.
func appendRawFrame(b []byte, t Type, encoded []byte) []byte {
	b = serial.AppendUint32(b, uint32(len(encoded)+1))
	return append(append(b, byte(t)), encoded...) // every type takes one byte
}

// BlockNumber finds the number of a block in what follows the length of its frame, without
// decoding it; 0 if that is too short.
func BlockNumber(frame []byte) uint32 {
	const previous = 1 + 4 + 8 + 2 // after the type, the time, the producer, what is confirmed
	if len(frame) < previous+4 {
		return 0
	}
	return binary.BigEndian.Uint32(frame[previous:]) + 1
}

// Decode decodes what follows the length of a frame. What is left over is ignored,
// as by nodeos. A block or a transaction comes as a pointer, what it holds is
// copied; other messages come as values.
func Decode(frame []byte) (Message, error) {
	r := serial.NewReader(frame)
	t := Type(r.Varuint32())
	m, err := decode(t, r)
	if err == nil {
		err = r.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("message of type %d: %w", t, err)
	}
	return m, nil
}

func decode(t Type, r *serial.Reader) (Message, error) {
	switch t {
	case TypeHandshake:
		return read[Handshake](r), nil
	case TypeChainSize:
		return read[ChainSize](r), nil
	case TypeGoAway:
		return read[GoAway](r), nil
	case TypeTime:
		return read[Time](r), nil
	case TypeNotice:
		return read[Notice](r), nil
	case TypeRequest:
		return read[Request](r), nil
	case TypeSyncRequest:
		return read[SyncRequest](r), nil
	case TypeBlock:
		b := new(types.SignedBlock)
		b.Read(r)
		return b, nil
	case TypeTransaction:
		p := new(types.PackedTransaction)
		p.Read(r)
		return p, nil
	case TypeVote:
		return read[finality.Vote](r), nil
	case TypeBlockNack:
		return read[BlockNack](r), nil
	case TypeBlockNotice:
		return read[BlockNotice](r), nil
	case TypeGossip:
		return read[Gossip](r), nil
	}
	return nil, serial.ErrValue
}

func read[T any, P interface {
	*T
	Read(r *serial.Reader)
}](r *serial.Reader) (m T) {
	P(&m).Read(r)
	return m
}
