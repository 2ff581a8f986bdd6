package crypto

import (
	"crypto/elliptic"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"math/big"
	"strings"
	"testing"

	"tarn/antelope/types"
)

// assertion signs like an authenticator.
func assertion(t *testing.T, k PrivateKey, authData, clientJSON string) types.Signature {
	t.Helper()
	client := sha256.Sum256([]byte(clientJSON))
	sig, err := k.Sign(types.Hash(append([]byte(authData), client[:]...)))
	if err != nil {
		t.Fatal(err)
	}
	sig.Type, sig.AuthData, sig.ClientJSON = types.WebAuthn, authData, clientJSON
	return sig
}

func authData(rpid string, flags byte) string {
	h := sha256.Sum256([]byte(rpid))
	return string(h[:]) + string([]byte{flags, 0, 0, 0, 0})
}

func TestWebAuthnIsJudgedAsByNodeos(t *testing.T) {
	k, err := GeneratePrivateKey(types.R1, chacha(5))
	if err != nil {
		t.Fatal(err)
	}
	digest := types.Hash([]byte("sup"))
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	client := func(origin string) string {
		return `{"origin":"` + origin + `","type":"webauthn.get","challenge":"` + challenge + `"}`
	}
	const site = "fctesting.invalid"
	good := client("https://" + site)
	for _, c := range []struct {
		name, auth, json string
		presence         uint8
		rpid             string // of the key; "-" for none
	}{
		{"good", authData(site, 0), good, 0, site},
		{"present", authData(site, 1), good, 1, site},
		{"verified", authData(site, 4), good, 2, site},
		{"both", authData(site, 5), good, 2, site},
		{"other flags", authData(site, 0xfa), good, 0, site},
		{"more data", authData(site, 0) + "extension", good, 0, site},
		{"another site", authData("mallory.invalid", 0), client("https://mallory.invalid"), 0, "mallory.invalid"},
		{"port", authData(site, 0), client("https://" + site + ":123456"), 0, site},
		{"empty port", authData(site, 0), client("https://" + site + ":"), 0, site},
		{"two ports", authData(site+":1", 0), client("https://" + site + ":1:2"), 0, site + ":1"},
		{"no host", authData("", 0), client("https://"), 0, ""},
		{"port alone", authData("", 0), client("https://:8"), 0, ""},
		{"padding", authData(site, 0), strings.Replace(good, challenge, challenge+"=!", 1), 0, site},
		{"last bits of the challenge",
			authData(site, 0),
			strings.Replace(good, challenge, challenge[:42]+
				string("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[lowBits(challenge[42])^1]),
				1), 0, site},
		{"after a zero byte", authData(site, 0), good + "\x00}}", 0, site},
		{"http", authData(site, 0), client("http://" + site), 0, "-"},
		{"no scheme", authData(site, 0), client(site), 0, "-"},
		{"empty origin", authData(site, 0), client(""), 0, "-"},
		{"no origin", authData(site, 0), `{"type":"webauthn.get","challenge":"` + challenge + `"}`, 0, "-"},
		{"wrong hash", authData("mallory.invalid", 0), good, 0, "-"},
		{"short data", authData(site, 0)[:36], good, 0, "-"},
		{"no data", "", good, 0, "-"},
		{"wrong type", authData(site, 0), strings.Replace(good, "get", "create", 1), 0, "-"},
		{"no type", authData(site, 0), strings.Replace(good, "type", "Type", 1), 0, "-"},
		{"another challenge", authData(site, 0), strings.Replace(good, challenge, "A"+challenge[1:], 1), 0, "-"},
		{"short challenge", authData(site, 0), strings.Replace(good, challenge, challenge[:40], 1), 0, "-"},
		{"long challenge", authData(site, 0), strings.Replace(good, challenge, challenge+"AA", 1), 0, "-"},
		{"no challenge", authData(site, 0), `{"type":"webauthn.get","origin":"https://` + site + `"}`, 0, "-"},
		{"other alphabet", authData(site, 0), strings.Replace(good, challenge, "+/"+challenge[2:], 1), 0, "-"},
		{"no JSON", authData(site, 0), good[1:], 0, "-"},
		{"empty JSON", authData(site, 0), "", 0, "-"},
	} {
		sig := assertion(t, k, c.auth, c.json)
		got, err := Recover(sig, digest, true)
		if c.rpid == "-" {
			if err == nil || got != (types.PublicKey{}) {
				t.Errorf("%s: %v, %v", c.name, got, err)
			}
			continue
		}
		want := types.PublicKey{Type: types.WebAuthn, Point: k.public, UserPresence: c.presence, RPID: c.rpid}
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", c.name, got, err, want)
		}
	}
	// Headers of uncompressed keys are refused, high s is not.
	sig := assertion(t, k, authData(site, 0), good)
	header := sig.Compact[0]
	for h := 0; h < 256; h++ {
		sig.Compact[0] = byte(h)
		if _, err := Recover(sig, digest, true); err == nil && (h < 31 || h > 34) {
			t.Errorf("header %d was taken", h)
		}
	}
	s := new(big.Int).SetBytes(sig.Compact[33:])
	new(big.Int).Sub(elliptic.P256().Params().N, s).FillBytes(sig.Compact[33:])
	sig.Compact[0] = 31 + ((header - 31) ^ 1)
	if got, err := Recover(sig, digest, true); err != nil || got.Point != k.public {
		t.Errorf("high s: %v, %v", got, err)
	}
}

// Spring's decoder of challenges goes on after a '=', and does not take one character alone.
func TestSpringReadsOtherChallengesThanLeap(t *testing.T) {
	k, err := GeneratePrivateKey(types.R1, chacha(5))
	if err != nil {
		t.Fatal(err)
	}
	digest := types.Hash([]byte("sup"))
	challenge := base64.RawURLEncoding.EncodeToString(digest[:])
	var apart strings.Builder
	for i := range digest {
		apart.WriteString(base64.RawURLEncoding.EncodeToString(digest[i:i+1]) + "=!")
	}
	for _, c := range []struct {
		name, challenge string
		leap, spring    bool
	}{
		{"as it should be", challenge, true, true},
		{"padded", challenge + "=", true, true},
		{"padded as by nobody", challenge + "=====!", true, true},
		{"a byte in each four", apart.String(), false, true},
		{"the last four one by one", challenge[:40] + challenge[40:42] + "==", false, false},
		{"one character after it", challenge + "=!", true, false},
		{"bad ones after it", challenge + "=!!", true, false},
		{"more after it", challenge + "=AAAA", true, false},
		{"of another alphabet", "+" + challenge[1:], false, false},
		{"short", challenge[:41], false, false},
		{"none", "", false, false},
		{"a second '='", "A=" + challenge, false, false},
	} {
		sig := assertion(t, k, authData("x.y", 0),
			`{"origin":"https://x.y","type":"webauthn.get","challenge":"`+c.challenge+`"}`)
		_, leap := Recover(sig, digest, true)
		_, spring := RecoverSpring(sig, digest, true)
		if (leap == nil) != c.leap || (spring == nil) != c.spring {
			t.Errorf("%s: Leap %v, Spring %v", c.name, leap, spring)
		}
		if WebAuthnDiffers(&sig) == (c.leap == c.spring) && c.leap {
			t.Errorf("%s: whether they differ is wrong", c.name)
		}
		list := []Signed{{Signature: &sig, Digest: digest}, {Signature: &sig, Digest: digest, Spring: true}}
		NewSigners(0).Recover(list)
		if (list[0].Err == nil) != c.leap || (list[1].Err == nil) != c.spring {
			t.Errorf("%s together: Leap %v, Spring %v", c.name, list[0].Err, list[1].Err)
		}
	}
	sig := assertion(t, k, "", `{"challenge":"`+apart.String()+`"}`)
	if sig.Type = types.R1; WebAuthnDiffers(&sig) {
		t.Error("another type of signature depends on the challenge")
	}
	if sig.Type = types.WebAuthn; !WebAuthnDiffers(&sig) {
		t.Error("a challenge that only Spring reads does not differ")
	}
	if sig.ClientJSON = "{"; WebAuthnDiffers(&sig) {
		t.Error("what neither reads differs")
	}
}

func lowBits(c byte) int {
	return strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_", c)
}

func TestClientDataIsParsedAsByRapidJSON(t *testing.T) {
	const all = `"type":"t","challenge":"c","origin":"o"`
	big := strings.Repeat("9", 308)
	for _, c := range []struct {
		json string
		want string // type, challenge, origin; "-" for an error
	}{
		{`{}`, ",,"},
		{` { } `, ",,"},
		{"\r\n\t{" + all + "}\n", "t,c,o"},
		{`{` + all + `,"type":"u"}`, "u,c,o"},
		{`{"x":{"type":"u"},` + all + `}`, "t,c,o"},
		{`{"x":[[],{},[{"y":[1]}],"s",null,true,false],` + all + `}`, "t,c,o"},
		{`{"t\u0079pe":"t\u0041\n\/\"\\\b\f\r\t"}`, "tA\n/\"\\\b\f\r\t,,"},
		{`{"type\u0000x":"t\u0000x"}`, "t\x00x,,"},
		{`{"type":"\u00e9\u20ac\ud83d\ude00"}`, "é€😀,,"},
		{`{"type":"\udc00"}`, "\xed\xb0\x80,,"},
		{"{\"type\":\"\x80\xff\x7f\"}", "\x80\xff\x7f,,"},
		{"{}\x00{", ",,"},
		{`{"x":-0,"y":0.5,"z":1e9,"w":1E+308,"v":1e-999999999999}`, ",,"},
		{`{"x":1.7976931348623157e308}`, ",,"},
		{`{"x":` + big + `}`, ",,"},
		{`{"x":0.0e309}`, ",,"},
		{`{"x":` + big + `99e-700}`, ",,"},
		{`{"x":` + big + `99}`, "-"},
		{`{"x":1e309}`, "-"}, {`{"x":0e400}`, "-"}, {`{"x":17.9e308}`, "-"},
		{``, "-"}, {`[]`, "-"}, {`"x"`, "-"}, {`1`, "-"}, {`null`, "-"}, {"\x00{}", "-"},
		{`{"type":1}`, "-"}, {`{"origin":null}`, "-"}, {`{"challenge":["c"]}`, "-"}, {`{"type":{}}`, "-"},
		{`{} {}`, "-"}, {`{}x`, "-"}, {`{`, "-"}, {`{"x"}`, "-"}, {`{"x":}`, "-"}, {`{"x":1,}`, "-"}, {`{,"x":1}`, "-"},
		{`{"x":[1,]}`, "-"}, {`{"x":[,1]}`, "-"}, {`{"x":[1}}`, "-"}, {`{"x":{"y":1]}`, "-"}, {`{x:1}`, "-"},
		{`{'x':1}`, "-"},
		{`{"x":01}`, "-"}, {`{"x":-}`, "-"}, {`{"x":+1}`, "-"}, {`{"x":.5}`, "-"}, {`{"x":1.}`, "-"}, {`{"x":1e}`, "-"},
		{`{"x":1e+-1}`, "-"}, {`{"x":NaN}`, "-"}, {`{"x":nul}`, "-"}, {`{"x":True}`, "-"}, {`{"x":1 2}`, "-"},
		{`{"x":"\x"}`, "-"}, {`{"x":"\u12"}`, "-"}, {`{"x":"\ud800"}`, "-"}, {`{"x":"\ud800\u0041"}`, "-"},
		{`{"x":"\ud800x"}`, "-"},
		{"{\"x\":\"\n\"}", "-"}, {"{\"x\":\"\x00\"}", "-"}, {`{"x":"`, "-"}, {`{"x":"\`, "-"}, {`/**/{}`, "-"},
		{"\xef\xbb\xbf{}", "-"},
		{"{\f}", "-"}, {"\v{}", "-"},
	} {
		data, ok := parseClientData(c.json)
		got := data.typ + "," + data.challenge + "," + data.origin
		if !ok {
			got = "-"
		}
		if got != c.want {
			t.Errorf("%.80q: %q, want %q", c.json, got, c.want)
		}
	}
}

func TestDeepClientDataTakesLittleMemory(t *testing.T) {
	const depth = 1 << 20
	s := `{"x":` + strings.Repeat(`[{"y":`, depth) + `0` + strings.Repeat("}]", depth) + "}"
	if _, ok := parseClientData(s); !ok {
		t.Error("nesting was refused")
	}
	if _, ok := parseClientData(s[:len(s)-1]); ok {
		t.Error("a missing brace was overlooked")
	}
	if n := testing.AllocsPerRun(1, func() { parseClientData(s) }); n > depth*2 {
		t.Errorf("%.0f allocations", n)
	}
}

// What is accepted is JSON for the standard library too, and says the same.
func FuzzClientData(f *testing.F) {
	f.Add(`{"type":"webauthn.get","challenge":"c","origin":"https://x","y":[1.5e3,{"z":null}]}`)
	f.Add(`{"t\u0079pe\u0000":"\ud83d\ude00"}`)
	f.Add("{\"x\":[[-0.0e-1,true]]}\x00")
	f.Fuzz(func(t *testing.T, s string) {
		data, ok := parseClientData(s)
		if !ok {
			return
		}
		if i := strings.IndexByte(s, 0); i >= 0 {
			s = s[:i]
		}
		if !json.Valid([]byte(s)) {
			t.Fatalf("%q is no JSON", s)
		}
		if len(data.typ)+len(data.challenge)+len(data.origin) > len(s) {
			t.Fatalf("%q says more than it is long: %+v", s, data)
		}
	})
}
