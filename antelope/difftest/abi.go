package difftest

import (
	"encoding/json"

	"tarn/antelope/types"
)

// abiText is an ABI as the JSON of the package's contracts has it.
type abiText struct {
	Version string    `json:"version"`
	Types   []abiType `json:"types"`
	Structs []abiStruct
	Actions []struct {
		Name, Type string
		Ricardian  string `json:"ricardian_contract"`
	}
	Tables []struct {
		Name, Type string
		Index      string   `json:"index_type"`
		KeyNames   []string `json:"key_names"`
		KeyTypes   []string `json:"key_types"`
	}
	Clauses  []struct{ ID, Body string } `json:"ricardian_clauses"`
	Variants []struct {
		Name  string
		Types []string
	}
	Results []struct {
		Name   string
		Result string `json:"result_type"`
	} `json:"action_results"`
}

type abiType struct {
	New string `json:"new_type_name"`
	Old string `json:"type"`
}

type abiStruct struct {
	Name, Base string
	Fields     []struct{ Name, Type string }
}

// packABI packs an ABI as setabi carries it.
func packABI(doc []byte) ([]byte, error) {
	var a abiText
	if err := json.Unmarshal(doc, &a); err != nil {
		return nil, err
	}
	b := text(a.Version).Append(nil)
	b = vu(len(a.Types)).Append(b)
	for _, t := range a.Types {
		b = text(t.Old).Append(text(t.New).Append(b))
	}
	b = vu(len(a.Structs)).Append(b)
	for _, s := range a.Structs {
		b = text(s.Base).Append(text(s.Name).Append(b))
		b = vu(len(s.Fields)).Append(b)
		for _, f := range s.Fields {
			b = text(f.Type).Append(text(f.Name).Append(b))
		}
	}
	b = vu(len(a.Actions)).Append(b)
	for _, x := range a.Actions {
		b = text(x.Ricardian).Append(text(x.Type).Append(types.N(x.Name).Append(b)))
	}
	b = vu(len(a.Tables)).Append(b)
	for _, t := range a.Tables {
		b = text(t.Index).Append(types.N(t.Name).Append(b))
		b = texts(b, t.KeyNames)
		b = texts(b, t.KeyTypes)
		b = text(t.Type).Append(b)
	}
	b = vu(len(a.Clauses)).Append(b)
	for _, c := range a.Clauses {
		b = text(c.Body).Append(text(c.ID).Append(b))
	}
	b = append(b, 0, 0) // error messages, extensions
	b = vu(len(a.Variants)).Append(b)
	for _, v := range a.Variants {
		b = texts(text(v.Name).Append(b), v.Types)
	}
	b = vu(len(a.Results)).Append(b)
	for _, r := range a.Results {
		b = text(r.Result).Append(types.N(r.Name).Append(b))
	}
	return b, nil
}

func texts(b []byte, list []string) []byte {
	b = vu(len(list)).Append(b)
	for _, s := range list {
		b = text(s).Append(b)
	}
	return b
}
