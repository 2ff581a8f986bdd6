package snapshot

import (
	"math"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The section of contracts' tables has, for each table, a tableRow, and for its
// rows proper and each kind of secondary index a countRow and that many rows.

// tableRow is table_id_object.
type tableRow struct{ state.ContractTable }

func (r *tableRow) Append(b []byte) []byte {
	b = r.Key.Table.Append(r.Key.Scope.Append(r.Key.Code.Append(b)))
	return serial.AppendUint32(r.Payer.Append(b), r.Count)
}

func (r *tableRow) Read(s *serial.Reader) {
	r.Key.Code.Read(s)
	r.Key.Scope.Read(s)
	r.Key.Table.Read(s)
	r.Payer.Read(s)
	r.Count = s.Uint32()
}

func (r *tableRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("code", r.Key.Code)
		d.textField("scope", r.Key.Scope)
		d.textField("table", r.Key.Table)
		d.textField("payer", r.Payer)
		d.unsignedField("count", uint64(r.Count))
	})
	return d.b
}

// countRow is a number of rows.
type countRow uint32

func (r *countRow) Append(b []byte) []byte { return serial.AppendVaruint32(b, uint32(*r)) }

func (r *countRow) Read(s *serial.Reader) { *r = countRow(s.Varuint32()) }

func (r *countRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.appendUnsigned(uint64(*r))
	return d.b
}

// valueRow is key_value_object.
type valueRow struct {
	primary uint64
	payer   types.Name
	value   []byte
}

func (r *valueRow) Append(b []byte) []byte {
	return serial.AppendBytes(r.payer.Append(serial.AppendUint64(b, r.primary)), r.value)
}

func (r *valueRow) Read(s *serial.Reader) {
	r.primary = s.Uint64()
	r.payer.Read(s)
	r.value = s.Bytes()
}

func (r *valueRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.unsignedField("primary_key", r.primary)
		d.textField("payer", r.payer)
		d.base64Field("value", r.value)
	})
	return d.b
}

// indexRow is a row of a secondary index.
type indexRow struct {
	state.IndexRow
	kind state.Kind
}

func (r *indexRow) Append(b []byte) []byte {
	return r.Secondary.Append(r.Payer.Append(serial.AppendUint64(b, r.Primary)), r.kind)
}

func (r *indexRow) Read(s *serial.Reader) {
	r.Primary = s.Uint64()
	r.Payer.Read(s)
	for i := range r.kind.Size() / 8 {
		r.Secondary.Words[i] = s.Uint64()
	}
}

func (r *indexRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.unsignedField("primary_key", r.Primary)
		d.textField("payer", r.Payer)
		w := &r.Secondary.Words
		switch r.kind {
		case state.Index64:
			d.unsignedField("secondary_key", w[0])
		case state.Index128:
			d.textField("secondary_key", types.Uint128{Lo: w[0], Hi: w[1]})
		case state.Index256:
			d.array("secondary_key", 2, func(i int) { d.text(types.Uint128{Lo: w[2*i], Hi: w[2*i+1]}) })
		case state.IndexDouble:
			d.key("secondary_key")
			d.double(math.Float64frombits(w[0]))
		case state.IndexLongDouble:
			d.textField("secondary_key", types.Float128{Lo: w[0], Hi: w[1]})
		}
	})
	return d.b
}
