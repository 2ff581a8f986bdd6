package types

import (
	"encoding/base64"
	"strings"

	"tarn/antelope/exception"
)

const (
	blsPublicPrefix    = "PUB_BLS_"
	blsSignaturePrefix = "SIG_BLS_"
)

// EncodeBLSText is the text of BLS keys and signatures behind their prefix: base64url of the bytes
// and four of their checksum, unpadded (Spring: bls_common.hpp).
func EncodeBLSText(data []byte) string {
	return base64.RawURLEncoding.EncodeToString(append(append(make([]byte, 0, len(data)+4), data...),
		check(data, "")...))
}

// DecodeBLSText reads what EncodeBLSText writes, with or without padding, and fills data. It is
// false for text of another length or with another checksum.
func DecodeBLSText(data []byte, text string) bool {
	b, err := base64.RawURLEncoding.Strict().DecodeString(strings.TrimRight(text, "="))
	if err != nil || len(b) != len(data)+4 || !validCheck(b, "") {
		return false
	}
	copy(data, b)
	return true
}

// String is the key's text.
func (k BLSPublicKey) String() string { return blsPublicPrefix + EncodeBLSText(k[:]) }

// ParseBLSPublicKey reads the text of a key. Whether it is a point, the crypto package tells.
func ParseBLSPublicKey(text string) (k BLSPublicKey, err error) {
	rest, ok := strings.CutPrefix(text, blsPublicPrefix)
	if !ok || !DecodeBLSText(k[:], rest) {
		return k, exception.New(exception.FCAssert, "BLS Public Key has invalid format : ${str}", "str", text)
	}
	return k, nil
}

// String is the signature's text.
func (s BLSSignature) String() string { return blsSignaturePrefix + EncodeBLSText(s[:]) }

// ParseBLSSignature reads the text of a signature. Whether it is a point, the crypto package tells.
func ParseBLSSignature(text string) (s BLSSignature, err error) {
	rest, ok := strings.CutPrefix(text, blsSignaturePrefix)
	if !ok || !DecodeBLSText(s[:], rest) {
		return s, exception.New(exception.FCAssert, "BLS Signature has invalid format : ${str}", "str", text)
	}
	return s, nil
}
