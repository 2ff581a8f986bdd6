package rpc

import (
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

func (q tables) getCurrencyBalance(b []byte) ([]byte, error) {
	code, owner := q.name("code"), q.name("account")
	var symbol *string
	if _, ok := q.optional("symbol"); ok {
		s := q.text("symbol", "")
		symbol = &s
	}
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	e, err := q.api.contractABI(v, code)
	if err == nil {
		_, err = e.table(nameAccounts)
	}
	if err != nil {
		return b, err
	}
	b = append(b, '[')
	first := len(b)
	table := state.TableKey{Code: code, Scope: owner, Table: nameAccounts}
	err = v.WalkRows(state.RowKey{TableKey: table}, false, func(_ uint64, _ types.Name, value []byte) (bool, error) {
		if len(value) < 16 {
			return false, exception.New(exception.AssetType, "Invalid data on table")
		}
		var balance types.Asset
		if err := types.DecodePrefix(value, &balance); err != nil {
			return false, err
		}
		match, before := symbol == nil || strings.EqualFold(balance.Symbol.Code().String(), *symbol), len(b)
		if match {
			if len(b) > first {
				b = append(b, ',')
			}
			b = balance.AppendJSON(b)
		}
		if err := q.whole(len(b) - before); err != nil {
			return false, err
		}
		return symbol == nil || !match, nil
	})
	return append(b, ']'), err
}

func (q tables) getCurrencyStats(b []byte) ([]byte, error) {
	code, symbol := q.name("code"), q.text("symbol", "")
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	e, err := q.api.contractABI(v, code)
	if err == nil {
		_, err = e.table(types.N("stat"))
	}
	if err != nil {
		return b, err
	}
	scope, ok := letters(strings.ToUpper(symbol))
	if !ok {
		return b, exception.New(exception.SymbolType, "invalid character in symbol name")
	}
	o := object(append(b, '{'))
	table := state.TableKey{Code: code, Scope: types.Name(scope), Table: types.N("stat")}
	err = v.WalkRows(state.RowKey{TableKey: table}, false, func(_ uint64, _ types.Name, value []byte) (bool, error) {
		if len(value) < 40 {
			return false, exception.New(exception.AssetType, "Invalid data on table")
		}
		r := serial.NewReader(value)
		var supply, most types.Asset
		var issuer types.Name
		supply.Read(r)
		most.Read(r)
		issuer.Read(r)
		if err := r.Err(); err != nil {
			return false, err
		}
		before := len(o)
		o = append(variant.AppendKey(o, supply.Symbol.Code().String()), '{')
		o = append(o.json("supply", supply).json("max_supply", most).name("issuer", issuer), '}')
		return true, q.whole(len(o) - before)
	})
	return append(o, '}'), err
}
