package types

import (
	"bytes"
	"cmp"
	"fmt"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// Append appends the index of the variant and the key.
func (k PublicKey) Append(b []byte) []byte { return k.appendData(append(b, byte(k.Type))) }

// appendData appends the key without the index of its variant.
func (k PublicKey) appendData(b []byte) []byte {
	b = append(b, k.Point[:]...)
	if k.Type == WebAuthn {
		b = serial.AppendString(append(b, k.UserPresence), k.RPID)
	}
	return b
}

// Read reads the index of the variant and the key. Points are not checked. A
// WebAuthn key without a relying party is refused (libfc: elliptic_webauthn.cpp).
func (k *PublicKey) Read(r *serial.Reader) {
	*k = PublicKey{Type: readKeyType(r)}
	k.readData(r)
}

func (k *PublicKey) readData(r *serial.Reader) {
	r.Copy(k.Point[:])
	if k.Type != WebAuthn {
		return
	}
	k.UserPresence = r.Uint8()
	k.RPID = r.String()
	if k.RPID == "" && r.Err() == nil {
		r.Fail(exception.New(exception.FCAssert, "rpid.length(): webauthn pubkey must have non empty rpid"))
	}
}

// Size returns the length of the encoding.
func (k PublicKey) Size() int {
	if k.Type == WebAuthn {
		return 35 + sizeCount(len(k.RPID)) + len(k.RPID)
	}
	return 34
}

// storedSize returns the size of the key as nodeos keeps it in a permission, which is
// what RAM is billed for: a WebAuthn key is a string of bytes there, with its length
// as a varuint32 between the index of the variant and the bytes (Leap: authority.hpp,
// shared_public_key).
func (k PublicKey) storedSize() int {
	size := k.Size()
	if k.Type == WebAuthn {
		size += sizeCount(size - 1)
	}
	return size
}

// sizeCount returns the length of n as a varuint32.
func sizeCount(n int) int {
	size := 1
	for n >>= 7; n != 0; n >>= 7 {
		size++
	}
	return size
}

func readKeyType(r *serial.Reader) KeyType {
	v := r.Varuint32()
	if v > uint32(WebAuthn) {
		r.Fail(exception.New(exception.FCAssert, "Provided index out of range for variant."))
		return 0
	}
	return KeyType(v)
}

// Compare orders keys as nodeos' sets do: by type, then point, then user presence,
// then relying party.
func (k PublicKey) Compare(o PublicKey) int {
	return cmp.Or(
		cmp.Compare(k.Type, o.Type),
		bytes.Compare(k.Point[:], o.Point[:]),
		cmp.Compare(k.UserPresence, o.UserPresence),
		cmp.Compare(k.RPID, o.RPID),
	)
}

// Append appends the index of the variant and the signature.
func (s Signature) Append(b []byte) []byte { return s.appendData(append(b, byte(s.Type))) }

// appendData appends the signature without the index of its variant.
func (s Signature) appendData(b []byte) []byte {
	b = append(b, s.Compact[:]...)
	if s.Type == WebAuthn {
		b = serial.AppendString(serial.AppendString(b, s.AuthData), s.ClientJSON)
	}
	return b
}

// Read reads the index of the variant and the signature.
func (s *Signature) Read(r *serial.Reader) {
	*s = Signature{Type: readKeyType(r)}
	s.readData(r)
}

func (s *Signature) readData(r *serial.Reader) {
	r.Copy(s.Compact[:])
	if s.Type == WebAuthn {
		// A vector of uint8_t has the limit of arrays, not that of bytes.
		n := r.Count(1)
		s.AuthData = string(r.Raw(n))
		s.ClientJSON = r.String()
	}
}

// Size returns the length of the encoding.
func (s Signature) Size() int {
	size := 66
	if s.Type == WebAuthn {
		size += sizeCount(len(s.AuthData)) + len(s.AuthData) + sizeCount(len(s.ClientJSON)) + len(s.ClientJSON)
	}
	return size
}

// VariableSize returns how much of a WebAuthn signature is not of fixed size, 0
// for the other types.
func (s Signature) VariableSize() int {
	if s.Type != WebAuthn {
		return 0
	}
	return len(s.AuthData) + len(s.ClientJSON)
}

// Compare orders signatures as nodeos' sets do.
func (s Signature) Compare(o Signature) int {
	return cmp.Or(
		cmp.Compare(s.Type, o.Type),
		bytes.Compare(s.Compact[:], o.Compact[:]),
		cmp.Compare(s.AuthData, o.AuthData),
		cmp.Compare(s.ClientJSON, o.ClientJSON),
	)
}

// keyPrefixes are the names of the types in texts, by type.
var keyPrefixes = [...]string{K1: "K1", R1: "R1", WebAuthn: "WA"}

// legacyKeyPrefix marks the text of a K1 key of the first form, which is the one
// that nodeos still prints.
const legacyKeyPrefix = "EOS"

// AppendText appends the key as nodeos prints it: EOS... for K1, PUB_R1_... or
// PUB_WA_... for the others.
func (k PublicKey) AppendText(b []byte) []byte {
	data := k.appendData(make([]byte, 0, 64))
	if k.Type == K1 {
		return appendBase58(append(b, legacyKeyPrefix...), appendCheck(data, ""))
	}
	prefix := keyPrefixes[k.Type]
	b = append(append(append(b, "PUB_"...), prefix...), '_')
	return appendBase58(b, appendCheck(data, prefix))
}

// String returns the key as nodeos prints it.
func (k PublicKey) String() string { return string(k.AppendText(nil)) }

// AppendText appends SIG_K1_... and so on.
func (s Signature) AppendText(b []byte) []byte {
	prefix := keyPrefixes[s.Type]
	b = append(append(append(b, "SIG_"...), prefix...), '_')
	return appendBase58(b, appendCheck(s.appendData(make([]byte, 0, 128)), prefix))
}

// String returns SIG_K1_... and so on.
func (s Signature) String() string { return string(s.AppendText(nil)) }

// ParsePublicKey reads EOS..., PUB_K1_..., PUB_R1_... or PUB_WA_... (libfc:
// public_key.cpp).
func ParsePublicKey(s string) (PublicKey, error) {
	var k PublicKey
	if len(s) > len(legacyKeyPrefix) && strings.HasPrefix(s, legacyKeyPrefix) && !strings.Contains(s, "_") {
		data, err := parseBase58(s[len(legacyKeyPrefix):])
		if err != nil {
			return k, err
		}
		if len(data) != len(k.Point)+4 || !validCheck(data, "") {
			return k, exception.New(exception.FCAssert, "")
		}
		copy(k.Point[:], data)
		return k, nil
	}
	typ, data, err := parseTyped(s, "PUB", "Public Key")
	if err != nil {
		return k, err
	}
	k.Type = typ
	return k, decodeChecked(data, keyPrefixes[typ], k.readData)
}

// ParseSignature reads SIG_K1_..., SIG_R1_... or SIG_WA_... (libfc: signature.cpp).
func ParseSignature(s string) (Signature, error) {
	var sig Signature
	typ, data, err := parseTyped(s, "SIG", "Signature")
	if err != nil {
		return sig, err
	}
	sig.Type = typ
	return sig, decodeChecked(data, keyPrefixes[typ], sig.readData)
}

// parseTyped splits BASE_TYPE_data and decodes the data.
func parseTyped(s, base, what string) (KeyType, []byte, error) {
	fail := func(format string, values ...any) (KeyType, []byte, error) {
		return 0, nil, exception.New(exception.FCAssert, format, values...)
	}
	prefix, rest, ok := strings.Cut(s, "_")
	switch {
	case !ok && base == "PUB":
		return fail("pivot != std::string::npos: No delimiter in string, cannot determine data type: ${str}", "str", s)
	case !ok:
		return fail("pivot != std::string::npos: No delimiter in string, cannot determine type: ${str}", "str", s)
	case prefix != base && base == "PUB":
		return fail("prefix == prefix_str: Public Key has invalid prefix: ${str}", "str", s, "prefix_str", prefix)
	case prefix != base:
		return fail("prefix == prefix_str: Signature Key has invalid prefix: ${str}", "str", s, "prefix_str", prefix)
	case rest == "":
		return fail("!data_str.empty(): "+what+" has no data: ${str}", "str", s)
	}
	name, text, ok := strings.Cut(rest, "_")
	if !ok {
		return fail("pivot != std::string::npos: No delimiter in data, cannot determine suite type: ${str}",
			"str", rest)
	}
	if text == "" {
		return fail("!data_str.empty(): Data only has suite type prefix: ${str}", "str", rest)
	}
	for typ, p := range keyPrefixes {
		if p == name {
			data, err := parseBase58(text)
			return KeyType(typ), data, err
		}
	}
	return fail("false: No matching suite type for ${prefix}_${data}", "prefix", name, "data", text)
}

// decodeChecked decodes data, which ends with its checksum.
func decodeChecked(data []byte, prefix string, read func(*serial.Reader)) error {
	r := serial.NewReader(data)
	read(r)
	r.Raw(4)
	if err := r.Err(); err != nil {
		return fmt.Errorf("key or signature: %w", err)
	}
	if r.Len() != 0 {
		return exception.New(exception.FCAssert, "!unpacker.remaining(): decoded base58 length too long")
	}
	if !validCheck(data, prefix) {
		return exception.New(exception.FCAssert, "checksum == wrapped.check: ")
	}
	return nil
}
