package snapshot

import (
	"encoding/base64"
	"encoding/hex"
	"math"
	"strconv"

	"tarn/antelope/types"
)

// document appends JSON as nodeos prints it: no spaces, fields in the order of the
// structs, integers of more than 32 bits as strings (libfc: json.cpp). The strings
// of snapshots need no escapes. It has a method for each kind of value that rows are made of.
type document struct {
	b    []byte
	rest bool // something stands before the next element
}

func (d *document) comma() {
	if d.rest {
		d.b = append(d.b, ',')
	}
	d.rest = true
}

// key starts a field.
func (d *document) key(name string) {
	d.comma()
	d.b = append(append(append(d.b, '"'), name...), '"', ':')
	d.rest = false
}

func (d *document) open(c byte) {
	d.comma()
	d.b = append(d.b, c)
	d.rest = false
}

func (d *document) close(c byte) {
	d.b = append(d.b, c)
	d.rest = true
}

// object appends a field that is an object, or with an empty name an element.
func (d *document) object(name string, fields func()) {
	if name != "" {
		d.key(name)
	}
	d.open('{')
	fields()
	d.close('}')
}

// array appends a field that is an array, or with an empty name an element.
func (d *document) array(name string, n int, element func(i int)) {
	if name != "" {
		d.key(name)
	}
	d.open('[')
	for i := range n {
		element(i)
	}
	d.close(']')
}

func (d *document) appendUnsigned(v uint64) {
	d.comma()
	if v > math.MaxUint32 {
		d.b = append(strconv.AppendUint(append(d.b, '"'), v, 10), '"')
	} else {
		d.b = strconv.AppendUint(d.b, v, 10)
	}
}

func (d *document) appendSigned(v int64) {
	d.comma()
	if v > math.MaxUint32 || v < -math.MaxUint32 {
		d.b = append(strconv.AppendInt(append(d.b, '"'), v, 10), '"')
	} else {
		d.b = strconv.AppendInt(d.b, v, 10)
	}
}

// text is what appends itself as text.
type text interface{ AppendText(b []byte) []byte }

func (d *document) text(v text) {
	d.comma()
	d.b = append(v.AppendText(append(d.b, '"')), '"')
}

func (d *document) string(s string) {
	d.comma()
	d.b = append(append(append(d.b, '"'), s...), '"')
}

func (d *document) digest(c *types.Checksum256) { d.hex(c[:]) }

func (d *document) hex(v []byte) {
	d.comma()
	d.b = append(hex.AppendEncode(append(d.b, '"'), v), '"')
}

func (d *document) base64(v []byte) {
	d.comma()
	d.b = append(base64.StdEncoding.AppendEncode(append(d.b, '"'), v), '"')
}

// double prints a number with 17 digits after the point, as a string.
func (d *document) double(v float64) {
	d.comma()
	d.b = append(d.b, '"')
	switch {
	case math.IsInf(v, 0) || math.IsNaN(v):
		if math.Signbit(v) {
			d.b = append(d.b, '-')
		}
		if math.IsNaN(v) {
			d.b = append(d.b, "nan"...)
		} else {
			d.b = append(d.b, "inf"...)
		}
	default:
		d.b = strconv.AppendFloat(d.b, v, 'f', 17, 64)
	}
	d.b = append(d.b, '"')
}

// Fields.

func (d *document) unsignedField(name string, v uint64)           { d.key(name); d.appendUnsigned(v) }
func (d *document) signedField(name string, v int64)              { d.key(name); d.appendSigned(v) }
func (d *document) textField(name string, v text)                 { d.key(name); d.text(v) }
func (d *document) base64Field(name string, v []byte)             { d.key(name); d.base64(v) }
func (d *document) digestField(name string, v *types.Checksum256) { d.key(name); d.digest(v) }

func (d *document) digests(name string, list []types.Checksum256) {
	d.array(name, len(list), func(i int) { d.digest(&list[i]) })
}

func (d *document) keyWeights(list []types.KeyWeight) {
	d.array("keys", len(list), func(i int) {
		d.object("", func() {
			d.textField("key", list[i].Key)
			d.unsignedField("weight", uint64(list[i].Weight))
		})
	})
}

// signing appends a variant of which there is one kind.
func (d *document) signing(name string, a *types.BlockSigningAuthority) {
	d.array(name, 1, func(int) {
		d.appendUnsigned(0)
		d.object("", func() {
			d.unsignedField("threshold", uint64(a.Threshold))
			d.keyWeights(a.Keys)
		})
	})
}

func (d *document) schedule(name string, s *types.ProducerSchedule) {
	d.object(name, func() {
		d.unsignedField("version", uint64(s.Version))
		d.array("producers", len(s.Producers), func(i int) {
			d.object("", func() {
				d.textField("producer_name", s.Producers[i].Producer)
				d.signing("authority", &s.Producers[i].Authority)
			})
		})
	})
}

func (d *document) legacySchedule(name string, s *types.LegacySchedule) {
	d.object(name, func() {
		d.unsignedField("version", uint64(s.Version))
		d.array("producers", len(s.Producers), func(i int) {
			d.object("", func() {
				d.textField("producer_name", s.Producers[i].Producer)
				d.textField("block_signing_key", s.Producers[i].Key)
			})
		})
	})
}

func (d *document) authority(name string, a *types.Authority) {
	d.object(name, func() {
		d.unsignedField("threshold", uint64(a.Threshold))
		d.keyWeights(a.Keys)
		d.array("accounts", len(a.Accounts), func(i int) {
			d.object("", func() {
				d.object("permission", func() {
					d.textField("actor", a.Accounts[i].Permission.Actor)
					d.textField("permission", a.Accounts[i].Permission.Permission)
				})
				d.unsignedField("weight", uint64(a.Accounts[i].Weight))
			})
		})
		d.array("waits", len(a.Waits), func(i int) {
			d.object("", func() {
				d.unsignedField("wait_sec", uint64(a.Waits[i].WaitSec))
				d.unsignedField("weight", uint64(a.Waits[i].Weight))
			})
		})
	})
}

func (d *document) header(name string, h *types.SignedBlockHeader) {
	d.object(name, func() {
		d.headerFields(&h.BlockHeader)
		d.textField("producer_signature", h.ProducerSignature)
	})
}

// headerFields appends the members of a header that is not signed.
func (d *document) headerFields(h *types.BlockHeader) {
	d.textField("timestamp", h.Timestamp)
	d.textField("producer", h.Producer)
	d.unsignedField("confirmed", uint64(h.Confirmed))
	d.digestField("previous", &h.Previous)
	d.digestField("transaction_mroot", &h.TransactionMRoot)
	d.digestField("action_mroot", &h.ActionMRoot)
	d.unsignedField("schedule_version", uint64(h.ScheduleVersion))
	if h.NewProducers != nil {
		d.legacySchedule("new_producers", h.NewProducers)
	}
	d.array("header_extensions", len(h.Extensions), func(i int) {
		d.array("", 1, func(int) {
			d.appendUnsigned(uint64(h.Extensions[i].Type))
			d.hex(h.Extensions[i].Data)
		})
	})
}
