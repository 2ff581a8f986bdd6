package crypto

import (
	"crypto/sha256"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// recoverWebAuthn checks what the authenticator and the browser say about the
// signature, and recovers the key (libfc: elliptic_webauthn.cpp). High s is taken.
func recoverWebAuthn(sig *types.Signature, digest types.Checksum256) (key types.PublicKey, err error) {
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
	challenge, ok := decodeBase64URL(data.challenge)
	if !ok {
		return fail(
			"isalnum(c) || (c == b64_chars[sizeof(base64_chars)-3]) || (c == b64_chars[sizeof(base64_chars)-2]): " +
				"encountered non-base64 character")
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

// decodeBase64URL decodes as libfc does: up to the first '=', and what does not fill
// a byte at the end is dropped.
func decodeBase64URL(s string) (b []byte, ok bool) {
	var bits, n uint32
	for i := 0; i < len(s) && s[i] != '='; i++ {
		var v byte
		switch c := s[i]; {
		case 'A' <= c && c <= 'Z':
			v = c - 'A'
		case 'a' <= c && c <= 'z':
			v = c - 'a' + 26
		case '0' <= c && c <= '9':
			v = c - '0' + 52
		case c == '-':
			v = 62
		case c == '_':
			v = 63
		default:
			return nil, false
		}
		bits = bits<<6 | uint32(v)
		if n += 6; n >= 8 {
			n -= 8
			b = append(b, byte(bits>>n))
		}
	}
	return b, true
}
