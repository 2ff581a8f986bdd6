package types

import (
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

const nameAlphabet = ".12345abcdefghijklmnopqrstuvwxyz"

// nameSymbol returns the five bits of a character; what is not in the alphabet
// counts as a dot.
func nameSymbol(c byte) uint64 {
	switch {
	case 'a' <= c && c <= 'z':
		return uint64(c-'a') + 6
	case '1' <= c && c <= '5':
		return uint64(c-'1') + 1
	}
	return 0
}

// N returns the name that s spells, leniently: characters outside the alphabet
// become dots, and what follows the thirteenth is ignored (Leap: string_to_name).
// It is for names that are written in the source; see [ParseName] for input.
func N(s string) Name {
	var v uint64
	for i := 0; i < len(s) && i < 12; i++ {
		v |= nameSymbol(s[i]) << (64 - 5*(i+1))
	}
	if len(s) > 12 {
		v |= nameSymbol(s[12]) & 0x0f
	}
	return Name(v)
}

// ParseName returns the name that s spells, or a name_type_exception if s has no
// such form (Leap: name::set).
func ParseName(s string) (Name, error) {
	if len(s) > 13 {
		return 0, exception.New(exception.NameType, "Name is longer than 13 characters (${name}) ", "name", s)
	}
	n := N(s)
	if text := n.String(); text != s {
		return 0, exception.New(exception.NameType,
			"Name not properly normalized (name: ${name}, normalized: ${normalized}) ", "name", s, "normalized", text)
	}
	return n, nil
}

// AppendText appends the name as it is spelled, without trailing dots.
func (n Name) AppendText(b []byte) []byte {
	var text [13]byte
	v := uint64(n)
	text[12] = nameAlphabet[v&0x0f]
	v >>= 4
	for i := 11; i >= 0; i-- {
		text[i] = nameAlphabet[v&0x1f]
		v >>= 5
	}
	end := 13
	for end > 0 && text[end-1] == '.' {
		end--
	}
	return append(b, text[:end]...)
}

// String returns the name as it is spelled.
func (n Name) String() string {
	var text [13]byte
	return string(n.AppendText(text[:0]))
}

// Prefix returns the name up to its last dot, all of it if it has none: eosio of
// eosio.any (Leap: name::prefix).
func (n Name) Prefix() Name {
	s := n.String()
	if i := strings.LastIndexByte(s, '.'); i >= 0 {
		return N(s[:i])
	}
	return n
}

// Append appends eight bytes.
func (n Name) Append(b []byte) []byte { return serial.AppendUint64(b, uint64(n)) }

// Read reads eight bytes.
func (n *Name) Read(r *serial.Reader) { *n = Name(r.Uint64()) }
