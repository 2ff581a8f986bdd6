package types

import (
	"math/bits"
	"strconv"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// MaxAssetAmount is the largest magnitude of an asset.
const MaxAssetAmount = 1<<62 - 1

// Asset is an amount of a token, in its smallest unit.
type Asset struct {
	Amount int64
	Symbol Symbol
}

// ExtendedAsset is an asset with the contract that issues it.
type ExtendedAsset struct {
	Quantity Asset
	Contract Name
}

// ParseAsset reads "10.0000 SYS" (Leap: asset::from_string).
func ParseAsset(s string) (Asset, error) {
	amount, code, ok := strings.Cut(strings.Trim(s, space), " ")
	if !ok {
		return Asset{}, exception.New(exception.AssetType, "Asset's amount and symbol should be separated with space")
	}
	code = strings.Trim(code, space)
	whole, fraction, point := strings.Cut(amount, ".")
	if point && fraction == "" {
		return Asset{}, exception.New(exception.AssetType, "Missing decimal fraction after decimal point")
	}
	symbol, err := ParseSymbol(strconv.Itoa(len(fraction)) + "," + code)
	if err != nil {
		return Asset{}, err
	}
	wholeUnits, err := parseInt64(whole)
	if err != nil {
		return Asset{}, err
	}
	var units int64
	if point {
		if units, err = parseInt64(fraction); err != nil {
			return Asset{}, err
		}
		if amount[0] == '-' {
			units = -units
		}
	}
	v, err := checkedMul(wholeUnits, int64(symbol.unit()))
	if err != nil {
		return Asset{}, err
	}
	sum := v + units
	if (units > 0 && sum < v) || (units < 0 && sum > v) {
		return Asset{}, exception.New(exception.FCOverflow, "Integer Overflow")
	}
	a := Asset{sum, symbol}
	return a, a.Validate()
}

// checkedMul multiplies as fc::safe<int64_t> does.
func checkedMul(a, b int64) (int64, error) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	negative := (a < 0) != (b < 0)
	if hi != 0 || lo > 1<<63 || lo == 1<<63 && !negative {
		kind := exception.FCOverflow
		if negative {
			kind = exception.FCUnderflow
		}
		return 0, exception.New(kind, kind.What)
	}
	if negative {
		lo = -lo
	}
	return int64(lo), nil
}

func magnitude(v int64) uint64 {
	if v < 0 {
		return -uint64(v)
	}
	return uint64(v)
}

// Validate returns an asset_type_exception if the amount is out of bounds or the
// symbol is none.
func (a Asset) Validate() error {
	if a.Amount > MaxAssetAmount || a.Amount < -MaxAssetAmount {
		return exception.New(exception.AssetType, "magnitude of asset amount must be less than 2^62")
	}
	if a.Symbol.Validate() != nil {
		return exception.New(exception.AssetType, "invalid symbol")
	}
	return nil
}

// AppendText appends "10.0000 SYS". The symbol must be valid.
func (a Asset) AppendText(b []byte) []byte {
	if a.Amount < 0 {
		b = append(b, '-')
	}
	unit, v := a.Symbol.unit(), magnitude(a.Amount)
	if unit == 0 { // decimals that no valid symbol has
		unit = 1
	}
	b = strconv.AppendUint(b, v/unit, 10)
	if n := int(a.Symbol.Decimals()); n > 0 {
		var digits [20]byte
		fraction := strconv.AppendUint(digits[:0], v%unit, 10)
		b = append(b, '.')
		for range n - len(fraction) {
			b = append(b, '0')
		}
		b = append(b, fraction...)
	}
	return a.Symbol.Code().AppendText(append(b, ' '))
}

// String returns "10.0000 SYS".
func (a Asset) String() string { return string(a.AppendText(nil)) }

// Append appends sixteen bytes.
func (a Asset) Append(b []byte) []byte { return a.Symbol.Append(serial.AppendInt64(b, a.Amount)) }

// Read reads sixteen bytes and refuses what [Asset.Validate] does.
func (a *Asset) Read(r *serial.Reader) {
	a.Amount = r.Int64()
	a.Symbol.Read(r)
	if r.Err() != nil {
		return
	}
	if err := a.Validate(); err != nil {
		r.Fail(err)
	}
}

// Append appends 24 bytes.
func (a ExtendedAsset) Append(b []byte) []byte { return a.Contract.Append(a.Quantity.Append(b)) }

// Read reads 24 bytes and refuses what [Asset.Validate] does.
func (a *ExtendedAsset) Read(r *serial.Reader) {
	a.Quantity.Read(r)
	a.Contract.Read(r)
}
