package abi

import (
	"fmt"

	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Parse reads the JSON of an ABI. Members that it lacks are empty, as in nodeos.
func Parse(s string) (*Def, error) {
	v, err := variant.Parse(s)
	if err != nil {
		return nil, fmt.Errorf("parse ABI: %w", err)
	}
	return FromValue(v)
}

// FromValue takes an ABI from parsed JSON.
func FromValue(v variant.Value) (*Def, error) {
	d, f := new(Def), &fields{v: v}
	f.check()
	f.text("version", &d.Version)
	each(f, "types", &d.Types, func(f *fields, v *TypeDef) {
		f.text("new_type_name", &v.NewTypeName)
		f.text("type", &v.Type)
	})
	each(f, "structs", &d.Structs, func(f *fields, v *StructDef) {
		f.text("name", &v.Name)
		f.text("base", &v.Base)
		each(f, "fields", &v.Fields, func(f *fields, v *FieldDef) {
			f.text("name", &v.Name)
			f.text("type", &v.Type)
		})
	})
	each(f, "actions", &d.Actions, func(f *fields, v *ActionDef) {
		f.name("name", &v.Name)
		f.text("type", &v.Type)
		f.text("ricardian_contract", &v.RicardianContract)
	})
	each(f, "tables", &d.Tables, func(f *fields, v *TableDef) {
		f.name("name", &v.Name)
		f.text("index_type", &v.IndexType)
		f.texts("key_names", &v.KeyNames)
		f.texts("key_types", &v.KeyTypes)
		f.text("type", &v.Type)
	})
	each(f, "ricardian_clauses", &d.RicardianClauses, func(f *fields, v *ClausePair) {
		f.text("id", &v.ID)
		f.text("body", &v.Body)
	})
	each(f, "error_messages", &d.ErrorMessages, func(f *fields, v *ErrorMessage) {
		f.uint64("error_code", &v.Code)
		f.text("error_msg", &v.Message)
	})
	f.extensions("abi_extensions", &d.Extensions)
	each(f, "variants", &d.Variants, func(f *fields, v *VariantDef) {
		f.text("name", &v.Name)
		f.texts("types", &v.Types)
	})
	each(f, "action_results", &d.ActionResults, func(f *fields, v *ActionResultDef) {
		f.name("name", &v.Name)
		f.text("result_type", &v.ResultType)
	})
	return d, f.err
}

// fields takes members of an object; the first error sticks.
type fields struct {
	v   variant.Value
	err error
}

func (f *fields) fail(key string, err error) {
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("%s: %w", key, err)
	}
}

// check fails unless there is an object.
func (f *fields) check() {
	if _, _, err := f.v.Members(); err != nil && f.err == nil {
		f.err = err
	}
}

func (f *fields) text(key string, out *string) {
	if v, ok := f.v.Find(key); ok {
		var err error
		*out, err = v.AsText()
		f.fail(key, err)
	}
}

func (f *fields) uint64(key string, out *uint64) {
	if v, ok := f.v.Find(key); ok {
		var err error
		*out, err = v.AsUint64()
		f.fail(key, err)
	}
}

func (f *fields) name(key string, out *types.Name) {
	if v, ok := f.v.Find(key); ok {
		s, err := v.Text()
		if err == nil {
			*out, err = types.ParseName(s)
		}
		f.fail(key, err)
	}
}

func (f *fields) list(key string) []variant.Value {
	v, ok := f.v.Find(key)
	if !ok || f.err != nil {
		return nil
	}
	list, err := v.Elements()
	f.fail(key, err)
	return list
}

func (f *fields) texts(key string, out *[]string) {
	for _, v := range f.list(key) {
		s, err := v.AsText()
		f.fail(key, err)
		*out = append(*out, s)
	}
}

func (f *fields) extensions(key string, out *types.Extensions) {
	for _, v := range f.list(key) {
		x, err := extensionFromValue(v)
		f.fail(key, err)
		*out = append(*out, x)
	}
}

// extensionFromValue takes an array of a type and hex. What the array lacks is
// empty, as by from_variant of a pair.
func extensionFromValue(v variant.Value) (x types.Extension, err error) {
	list, err := v.Elements()
	if err == nil && len(list) > 0 {
		var n uint64
		n, err = list[0].AsUint64()
		x.Type = uint16(n)
	}
	if err == nil && len(list) > 1 {
		x.Data, err = bytesFromValue(list[1])
	}
	return x, err
}

// each takes a list of objects.
func each[T any](f *fields, key string, out *[]T, take func(f *fields, v *T)) {
	list := f.list(key)
	if len(list) == 0 {
		return
	}
	*out = make([]T, len(list))
	for i := range list {
		sub := &fields{v: list[i]}
		sub.check()
		take(sub, &(*out)[i])
		f.fail(key, sub.err)
	}
}

func bytesFromValue(v variant.Value) ([]byte, error) {
	s, err := v.Text()
	if err != nil {
		return nil, err
	}
	return types.ParseHex(s)
}
