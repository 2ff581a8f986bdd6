package crypto

import (
	"bytes"
	"crypto/sha256"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// recoverWebAuthn checks what the authenticator and the browser say about the
// signature, and recovers the key (libfc: elliptic_webauthn.cpp). High s is taken.
// decode reads the challenge.
func recoverWebAuthn(
	sig *types.Signature, digest types.Checksum256, decode func(string) ([]byte, error),
) (key types.PublicKey, err error) {
	fail := func(message string) (types.PublicKey, error) {
		return types.PublicKey{}, exception.New(exception.FCAssert, message)
	}
	data, ok := parseClientData(sig.ClientJSON)
	if !ok {
		return fail(
			"reader.Parse<detail::rapidjson::kParseIterativeFlag>(ss, handler): Failed to parse client data JSON")
	}
	if data.typ != "webauthn.get" {
		return fail("handler.found_type == \"webauthn.get\": webauthn signature type not an assertion")
	}
	challenge, err := decode(data.challenge)
	if err != nil {
		return key, err
	}
	if len(challenge) != len(digest) {
		return key, exception.New(exception.FCUnspecified, "sha256: size mismatch")
	}
	if types.Checksum256(challenge) != digest {
		return fail("fc::sha256(challenge_bytes.data(), challenge_bytes.size()) == digest: Wrong webauthn challenge")
	}
	const scheme = "https://"
	host, ok := strings.CutPrefix(data.origin, scheme)
	if !ok {
		return fail(
			"handler.found_origin.compare(0, https_len, required_origin_scheme) == 0: webauthn origin must begin " +
				"with https://")
	}
	if i := strings.LastIndexByte(host, ':'); i >= 0 {
		host = host[:i]
	}
	if len(sig.AuthData) < 37 {
		return fail("c.auth_data.size() >= min_auth_data_size: auth_data not as large as required")
	}
	key = types.PublicKey{Type: types.WebAuthn, RPID: host}
	const present, verified = 1, 2
	if flags := sig.AuthData[32]; flags&4 != 0 {
		key.UserPresence = verified
	} else if flags&1 != 0 {
		key.UserPresence = present
	}
	if rpid := sha256.Sum256([]byte(host)); sig.AuthData[:32] != string(rpid[:]) {
		return fail(
			"memcmp(c.auth_data.data(), fc::sha256::hash(rpid).data(), sizeof(fc::sha256)) == 0: webauthn rpid hash " +
				"doesn't match origin")
	}

	if h := sig.Compact[0]; h < 31 || h >= 35 {
		return types.PublicKey{}, unrecoverable()
	}
	client := sha256.Sum256([]byte(sig.ClientJSON))
	signed := sha256.Sum256(append([]byte(sig.AuthData), client[:]...))
	point, infinity, ok := recoverR1(&sig.Compact, &signed)
	if !ok || infinity {
		return types.PublicKey{}, unrecoverable()
	}
	key.Point = point
	return key, nil
}

// WebAuthnDiffers tells whether Leap and Spring read another challenge in a signature, so
// that one may find a key where the other finds none. Nobody's authenticator makes such.
func WebAuthnDiffers(sig *types.Signature) bool {
	if sig.Type != types.WebAuthn {
		return false
	}
	data, ok := parseClientData(sig.ClientJSON)
	if !ok {
		return false
	}
	leap, first := decodeBase64URL(data.challenge)
	spring, second := decodeSpringBase64URL(data.challenge)
	return (first == nil) != (second == nil) || first == nil && !bytes.Equal(leap, spring)
}

// sextet is the value of a character of base64url.
func sextet(c byte) (v byte, ok bool) {
	switch {
	case 'A' <= c && c <= 'Z':
		return c - 'A', true
	case 'a' <= c && c <= 'z':
		return c - 'a' + 26, true
	case '0' <= c && c <= '9':
		return c - '0' + 52, true
	case c == '-':
		return 62, true
	case c == '_':
		return 63, true
	}
	return 0, false
}

// decodeBase64URL decodes as Leap does: up to the first '=', and what does not fill
// a byte at the end is dropped (libfc: base64.cpp).
func decodeBase64URL(s string) (b []byte, err error) {
	var bits, n uint32
	for i := 0; i < len(s) && s[i] != '='; i++ {
		v, ok := sextet(s[i])
		if !ok {
			return nil, exception.New(exception.FCAssert,
				"isalnum(c) || (c == b64_chars[sizeof(base64_chars)-3]) || (c == b64_chars[sizeof(base64_chars)-2]): "+
					"encountered non-base64 character")
		}
		bits = bits<<6 | uint32(v)
		if n += 6; n >= 8 {
			n -= 8
			b = append(b, byte(bits>>n))
		}
	}
	return b, nil
}

// decodeSpringBase64URL decodes as Spring does: four characters at a time, up to four that
// begin with '='. The first two of each must be there; at a '=' in place of another these four
// end, unread, and the next begin (libfc: base64.hpp).
func decodeSpringBase64URL(s string) (b []byte, err error) {
	size := len(s)
	for ; s != "" && s[0] != '='; s = s[min(4, len(s)):] {
		if len(s) == 1 {
			return nil, exception.Standard("St12out_of_range",
				"basic_string::at: __n (which is %d) >= this->size() (which is %d)", size, size)
		}
		n := 2
		for n < min(4, len(s)) && s[n] != '=' {
			n++
		}
		var bits uint32
		for i := range n {
			v, ok := sextet(s[i])
			if !ok {
				return nil, exception.New(exception.FCAssert, "false: encountered non-base64 character")
			}
			bits |= uint32(v) << (18 - 6*i)
		}
		b = append(b, []byte{byte(bits >> 16), byte(bits >> 8), byte(bits)}[:n-1]...)
	}
	return b, nil
}
