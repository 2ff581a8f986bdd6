// Package abi turns the data of actions, tables and action results into JSON and
// back, by the description that a contract publishes (Leap: abi_serializer.cpp).
// It owns that description ([Def]), its rules, and the checked form that converts
// ([Codec]). It reads no state, no clock: a caller limits the time with a
// [Budget].
package abi

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Def is an ABI as it is published: abi_def. It need not be valid.
type Def struct {
	Version          string // eosio::abi/1.x
	Types            []TypeDef
	Structs          []StructDef
	Actions          []ActionDef
	Tables           []TableDef
	RicardianClauses []ClausePair
	ErrorMessages    []ErrorMessage
	Extensions       types.Extensions
	Variants         []VariantDef      // since 1.1
	ActionResults    []ActionResultDef // since 1.2
}

// TypeDef gives a type another name.
type TypeDef struct{ NewTypeName, Type string }

// FieldDef is a field of a struct. Its type may end with "$": a binary extension.
type FieldDef struct{ Name, Type string }

// StructDef is a struct, with the fields of Base, if any, before its own.
type StructDef struct {
	Name, Base string
	Fields     []FieldDef
}

// ActionDef is the type of an action's data.
type ActionDef struct {
	Name              types.Name
	Type              string
	RicardianContract string
}

// TableDef is the type of a table's rows.
type TableDef struct {
	Name      types.Name
	IndexType string
	KeyNames  []string
	KeyTypes  []string
	Type      string
}

// ClausePair is a Ricardian clause.
type ClausePair struct{ ID, Body string }

// ErrorMessage is the text of an error code.
type ErrorMessage struct {
	Code    uint64
	Message string
}

// VariantDef is a choice of types.
type VariantDef struct {
	Name  string
	Types []string
}

// ActionResultDef is the type of what an action returns.
type ActionResultDef struct {
	Name       types.Name
	ResultType string
}

func appendAll[T any](b []byte, list []T, appendOne func(b []byte, v *T) []byte) []byte {
	b = serial.AppendCount(b, len(list))
	for i := range list {
		b = appendOne(b, &list[i])
	}
	return b
}

// readAll reads a list of elements that take at least size bytes each.
func readAll[T any](r *serial.Reader, size int, read func(r *serial.Reader, v *T)) []T {
	n := r.Count(size)
	if n == 0 {
		return nil
	}
	list := make([]T, n)
	for i := range list {
		read(r, &list[i])
	}
	return list
}

func appendText(b []byte, v *string) []byte { return serial.AppendString(b, *v) }

func readText(r *serial.Reader, v *string) { *v = r.String() }

func appendPair(b []byte, first, second string) []byte {
	return serial.AppendString(serial.AppendString(b, first), second)
}

// Append appends the binary form, as setabi takes it.
func (d *Def) Append(b []byte) []byte {
	return appendAll(d.appendWithoutResults(b), d.ActionResults, func(b []byte, v *ActionResultDef) []byte {
		return serial.AppendString(v.Name.Append(b), v.ResultType)
	})
}

// appendWithoutResults appends the binary form as it was before 1.2.
func (d *Def) appendWithoutResults(b []byte) []byte {
	b = serial.AppendString(b, d.Version)
	b = appendAll(b, d.Types, func(b []byte, v *TypeDef) []byte { return appendPair(b, v.NewTypeName, v.Type) })
	b = appendAll(b, d.Structs, func(b []byte, v *StructDef) []byte {
		return appendAll(appendPair(b, v.Name, v.Base), v.Fields, func(b []byte, f *FieldDef) []byte {
			return appendPair(b, f.Name, f.Type)
		})
	})
	b = appendAll(b, d.Actions, func(b []byte, v *ActionDef) []byte {
		return appendPair(v.Name.Append(b), v.Type, v.RicardianContract)
	})
	b = appendAll(b, d.Tables, func(b []byte, v *TableDef) []byte {
		b = serial.AppendString(v.Name.Append(b), v.IndexType)
		b = appendAll(appendAll(b, v.KeyNames, appendText), v.KeyTypes, appendText)
		return serial.AppendString(b, v.Type)
	})
	b = appendAll(b, d.RicardianClauses, func(b []byte, v *ClausePair) []byte { return appendPair(b, v.ID, v.Body) })
	b = appendAll(b, d.ErrorMessages, func(b []byte, v *ErrorMessage) []byte {
		return serial.AppendString(serial.AppendUint64(b, v.Code), v.Message)
	})
	b = d.Extensions.Append(b)
	return appendAll(b, d.Variants, func(b []byte, v *VariantDef) []byte {
		return appendAll(serial.AppendString(b, v.Name), v.Types, appendText)
	})
}

// Read reads the binary form, in which variants and action results may be
// missing.
func (d *Def) Read(r *serial.Reader) {
	*d = Def{Version: r.String()}
	d.Types = readAll(r, 2, func(r *serial.Reader, v *TypeDef) { v.NewTypeName, v.Type = r.String(), r.String() })
	d.Structs = readAll(r, 3, func(r *serial.Reader, v *StructDef) {
		v.Name, v.Base = r.String(), r.String()
		v.Fields = readAll(r, 2, func(r *serial.Reader, f *FieldDef) { f.Name, f.Type = r.String(), r.String() })
	})
	d.Actions = readAll(r, 10, func(r *serial.Reader, v *ActionDef) {
		v.Name.Read(r)
		v.Type, v.RicardianContract = r.String(), r.String()
	})
	d.Tables = readAll(r, 12, func(r *serial.Reader, v *TableDef) {
		v.Name.Read(r)
		v.IndexType = r.String()
		v.KeyNames, v.KeyTypes = readAll(r, 1, readText), readAll(r, 1, readText)
		v.Type = r.String()
	})
	d.RicardianClauses = readAll(r, 2, func(r *serial.Reader, v *ClausePair) { v.ID, v.Body = r.String(), r.String() })
	d.ErrorMessages = readAll(r, 9, func(r *serial.Reader, v *ErrorMessage) {
		v.Code, v.Message = r.Uint64(), r.String()
	})
	d.Extensions.Read(r)
	if r.Len() > 0 {
		d.Variants = readAll(r, 2, func(r *serial.Reader, v *VariantDef) {
			v.Name, v.Types = r.String(), readAll(r, 1, readText)
		})
	}
	if r.Len() > 0 {
		d.ActionResults = readAll(r, 9, func(r *serial.Reader, v *ActionResultDef) {
			v.Name.Read(r)
			v.ResultType = r.String()
		})
	}
}

// Decode reads the binary form, as an account holds it. Four bytes or less are no
// ABI: it returns nil then (Leap: abi_serializer::to_abi). What follows the ABI is
// ignored.
func Decode(b []byte) (*Def, error) {
	if len(b) <= 4 {
		return nil, nil
	}
	d, r := new(Def), serial.NewReader(b)
	d.Read(r)
	return d, r.Err()
}

// texts prints a list of strings.
func texts(b []byte, list []string) []byte {
	return variant.AppendList(b, list, func(b []byte, v *string) []byte { return variant.AppendString(b, *v) })
}

// members appends an object of strings: names and values in turn.
func members(b []byte, pairs ...string) []byte {
	b = append(b, '{')
	for i := 0; i < len(pairs); i += 2 {
		b = variant.AppendString(variant.AppendKey(b, pairs[i]), pairs[i+1])
	}
	return append(b, '}')
}

// AppendJSON appends the JSON of the ABI, as nodeos prints it.
func (d *Def) AppendJSON(b []byte) []byte {
	b = variant.AppendString(variant.AppendKey(append(b, '{'), "version"), d.Version)
	b = variant.AppendList(variant.AppendKey(b, "types"), d.Types, func(b []byte, v *TypeDef) []byte {
		return members(b, "new_type_name", v.NewTypeName, "type", v.Type)
	})
	b = variant.AppendList(variant.AppendKey(b, "structs"), d.Structs, func(b []byte, v *StructDef) []byte {
		b = members(b, "name", v.Name, "base", v.Base)
		b = variant.AppendList(append(b[:len(b)-1], `,"fields":`...), v.Fields, func(b []byte, f *FieldDef) []byte {
			return members(b, "name", f.Name, "type", f.Type)
		})
		return append(b, '}')
	})
	b = variant.AppendList(variant.AppendKey(b, "actions"), d.Actions, func(b []byte, v *ActionDef) []byte {
		return members(b, "name", v.Name.String(), "type", v.Type, "ricardian_contract", v.RicardianContract)
	})
	b = variant.AppendList(variant.AppendKey(b, "tables"), d.Tables, func(b []byte, v *TableDef) []byte {
		b = members(b, "name", v.Name.String(), "index_type", v.IndexType)
		b = texts(append(b[:len(b)-1], `,"key_names":`...), v.KeyNames)
		b = texts(append(b, `,"key_types":`...), v.KeyTypes)
		return append(variant.AppendString(append(b, `,"type":`...), v.Type), '}')
	})
	b = variant.AppendList(variant.AppendKey(b, "ricardian_clauses"), d.RicardianClauses,
		func(b []byte, v *ClausePair) []byte {
			return members(b, "id", v.ID, "body", v.Body)
		})
	b = variant.AppendList(variant.AppendKey(b, "error_messages"), d.ErrorMessages,
		func(b []byte, v *ErrorMessage) []byte {
			b = variant.AppendUint64(append(b, `{"error_code":`...), v.Code)
			return append(variant.AppendString(append(b, `,"error_msg":`...), v.Message), '}')
		})
	b = variant.AppendList(variant.AppendKey(b, "abi_extensions"), d.Extensions,
		func(b []byte, v *types.Extension) []byte {
			return v.AppendJSON(b)
		})
	b = variant.AppendList(variant.AppendKey(b, "variants"), d.Variants, func(b []byte, v *VariantDef) []byte {
		b = variant.AppendString(append(b, `{"name":`...), v.Name)
		return append(texts(append(b, `,"types":`...), v.Types), '}')
	})
	b = variant.AppendList(variant.AppendKey(b, "action_results"), d.ActionResults,
		func(b []byte, v *ActionResultDef) []byte {
			return members(b, "name", v.Name.String(), "result_type", v.ResultType)
		})
	return append(b, '}')
}
