package p2p

import (
	"bytes"
	"cmp"
	"strings"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Gossip tells where block producers can be reached, in the order of their names (Spring:
// gossip_bp_peers_message). The first one of a connection has one record without a place: it proves
// that a producer's node speaks, and asks for all that the other one knows.
type Gossip struct{ Records []Record }

// Record is a producer's word for where it can be reached, with the signature of the key that it
// has registered for that on the chain.
type Record struct {
	Version  uint32 // 1; later ones may have more after what place has
	Producer types.Name
	Info     []byte // an encoded [Place]; empty in a first message
	Sig      types.Signature
}

// Place is where a producer can be reached.
type Place struct {
	Server     string               // host:port to connect to
	Outbound   string               // IP address that it connects from, for others' firewalls
	Expiration types.BlockTimestamp // the record is void when a head block has this time
}

// Append appends the message without its type.
func (m Gossip) Append(b []byte) []byte {
	b = serial.AppendCount(b, len(m.Records))
	for i := range m.Records {
		b = m.Records[i].Append(b)
	}
	return b
}

// Read reads the message.
func (m *Gossip) Read(r *serial.Reader) {
	const least = 1 + 8 + 1 + 1 + len(types.Signature{}.Compact) // bytes of a record
	n := r.Count(least)
	for range n {
		var x Record
		if x.read(r); r.Err() != nil {
			return
		}
		m.Records = append(m.Records, x)
	}
}

// isFirst tells whether it is the first message of a connection.
func (m *Gossip) isFirst() bool { return len(m.Records) == 1 && len(m.Records[0].Info) == 0 }

// Append appends the record.
func (x *Record) Append(b []byte) []byte { return x.Sig.Append(x.appendSigned(b)) }

// appendSigned appends what is signed of it.
func (x *Record) appendSigned(b []byte) []byte {
	b = serial.AppendUint64(serial.AppendVaruint32(b, x.Version), uint64(x.Producer))
	return serial.AppendBytes(b, x.Info)
}

func (x *Record) read(r *serial.Reader) {
	x.Version, x.Producer = r.Varuint32(), types.Name(r.Uint64())
	if info := r.Bytes(); len(info) > 0 {
		x.Info = bytes.Clone(info)
	}
	x.Sig.Read(r)
}

// Digest is what the record's signature is for, on the chain with that id.
func (x *Record) Digest(chain types.Checksum256) types.Checksum256 {
	return types.Hash(x.appendSigned(chain.Append(nil)))
}

// Append appends the place.
func (p Place) Append(b []byte) []byte {
	b = serial.AppendString(serial.AppendString(b, p.Server), p.Outbound)
	return serial.AppendUint32(b, uint32(p.Expiration))
}

// listed is a record with its place, once that was read.
type listed struct {
	Record
	Place
}

// compare orders by producer, server and outbound address, which no two of a directory share.
func (e *listed) compare(o *listed) int {
	return cmp.Or(cmp.Compare(e.Producer, o.Producer), strings.Compare(e.Server, o.Server),
		strings.Compare(e.Outbound, o.Outbound))
}

// same tells whether two records are the same in all that travels.
func (e *listed) same(o *listed) bool {
	return e.Version == o.Version && e.Producer == o.Producer && e.Sig == o.Sig && bytes.Equal(e.Info, o.Info)
}

// list reads the places of a message; that of a first one stays empty. It is false for what no honest node sends
// (Spring: validate_gossip_bp_peers_message): no record, one without a name or a place to connect to, another
// order than that of names, one server twice, too many of a producer.
func (m *Gossip) list() ([]listed, bool) {
	if m.isFirst() {
		return []listed{{Record: m.Records[0]}}, true
	}
	list := make([]listed, 0, len(m.Records))
	more := 0 // records of the producer after its first
	for i := range m.Records {
		e := listed{Record: m.Records[i]}
		r := serial.NewReader(e.Info)
		e.Server, e.Outbound, e.Expiration = r.String(), r.String(), types.BlockTimestamp(r.Uint32())
		if e.Producer == 0 || r.Err() != nil || !isServer(e.Server) {
			return nil, false
		}
		if i > 0 {
			switch before := &list[i-1]; cmp.Compare(before.Producer, e.Producer) {
			case 0:
				if more++; more > perProducer || before.Server == e.Server {
					return nil, false
				}
			case -1:
				more = 0
			default:
				return nil, false
			}
		}
		list = append(list, e)
	}
	return list, len(list) > 0
}

// isServer tells whether others take a text for host:port (Spring: split_host_port_type). What follows is left
// out, as by Spring, unless it says a kind of traffic.
func isServer(s string) bool {
	if len(s) > maxAddress {
		return false
	}
	s = strings.Trim(s, " \t\n\v\f\r")
	host, rest := "", s
	if strings.HasPrefix(s, "[") {
		end := strings.IndexByte(s, ']')
		if end < 0 || !strings.HasPrefix(s[end+1:], ":") {
			return false
		}
		host, rest = s[1:end], s[end+2:]
	} else {
		if colons := strings.Count(s, ":"); colons < 1 || colons > 3 {
			return false
		}
		end := 1 + strings.IndexByte(s[1:], ':') // a colon at the beginning is taken for the host's
		if end == 0 {
			return false
		}
		host, rest = s[:end], s[end+1:]
	}
	port, kind, more := strings.Cut(rest, ":")
	if !more {
		port = port[:len(port)-len(strings.TrimLeft(port, "0123456789"))]
	}
	return host != "" && port != "" && !strings.HasPrefix(kind, "trx") && !strings.HasPrefix(kind, "blk")
}
