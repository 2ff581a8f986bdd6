package types_test

import (
	"bytes"
	"log/slog"
	"math/big"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func checkError(t *testing.T, err error, kind *exception.Kind, message string) {
	t.Helper()
	e := exception.Of(err)
	switch {
	case e == nil:
		t.Errorf("error %v, want %s: %s", err, kind.Name, message)
	case e.Kind != kind || e.Message() != message:
		t.Errorf("%s: %q, want %s: %q", e.Kind.Name, e.Message(), kind.Name, message)
	}
}

func seededRand(t *testing.T) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

func TestNamesAreTheirTexts(t *testing.T) {
	for text, value := range map[string]types.Name{
		"": 0, "eosio": 0x5530ea0000000000, "a": 0x3000000000000000, "zzzzzzzzzzzzj": 1<<64 - 1, ".": 0,
		"............1": 1, "eosio.token": 0x5530ea033482a600,
	} {
		if got := types.N(text); got != value {
			t.Errorf("%q is %#x, want %#x", text, uint64(got), uint64(value))
		}
		if got := value.String(); got != strings.TrimRight(text, ".") {
			t.Errorf("%#x is %q", uint64(value), got)
		}
	}
	rng := seededRand(t)
	for range 1000 {
		n := types.Name(rng.Uint64())
		got, err := types.ParseName(n.String())
		if err != nil || got != n {
			t.Fatalf("%#x is %q is %#x, %v", uint64(n), n, uint64(got), err)
		}
	}
	for text, message := range map[string]string{
		"abcdefghijklmn": "Name is longer than 13 characters (abcdefghijklmn) ",
		"Eosio":          "Name not properly normalized (name: Eosio, normalized: .osio) ",
		"a.":             "Name not properly normalized (name: a., normalized: a) ",
		"zzzzzzzzzzzzz":  "Name not properly normalized (name: zzzzzzzzzzzzz, normalized: zzzzzzzzzzzzj) ",
	} {
		_, err := types.ParseName(text)
		checkError(t, err, exception.NameType, message)
	}
}

func TestPrefixesEndAtTheLastDot(t *testing.T) {
	for name, want := range map[string]string{
		"": "", "eosio": "eosio", "eosio.any": "eosio", "a.b.c": "a.b", "a..b": "a", ".eosio": "",
		"abcdefghijkl1": "abcdefghijkl1",
		"abcdefghijk.1": "abcdefghijk",
	} {
		if got := types.N(name).Prefix(); got != types.N(want) {
			t.Errorf("%q has prefix %q, want %q", name, got, want)
		}
	}
}

func TestTimesAreTheirTexts(t *testing.T) {
	for _, v := range []struct {
		in, point, second string
	}{
		{"2020-01-01T00:00:00.000", "2020-01-01T00:00:00.000", "2020-01-01T00:00:00"},
		{"2020-01-01T00:00:00", "2020-01-01T00:00:00.000", "2020-01-01T00:00:00"},
		{"2020-01-01T23:59:59.5", "2020-01-01T23:59:59.500", "2020-01-01T23:59:59"},
		{"2020-01-01T23:59:59.1234", "2020-01-02T00:00:09.234", "2020-01-01T23:59:59"}, // 11234 ms less a second
		{"2021-12-20T15", "2021-12-20T15:00:00.000", "2021-12-20T15:00:00"},
		{"2021-12-20T15:30", "2021-12-20T15:30:00.000", "2021-12-20T15:30:00"},
		{"20211220T153021", "2021-12-20T15:30:21.000", "2021-12-20T15:30:21"},
		{"2106-02-07T06:28:15", "2106-02-07T06:28:15.000", "2106-02-07T06:28:15"},
	} {
		p, err := types.ParseTimePoint(v.in)
		if err != nil || p.String() != v.point {
			t.Errorf("%s is the point %s, %v", v.in, p, err)
		}
		s, err := types.ParseTimePointSec(v.in)
		if err != nil || s.String() != v.second {
			t.Errorf("%s is the second %s, %v", v.in, s, err)
		}
	}
	for _, in := range []string{"", "now", "2020-01-01T00:00:00Z", "2020-13-01T00:00:00", "2020-01-01T00:00:00.x",
		"2020-01-01T1:2:3:4"} {
		if p, err := types.ParseTimePoint(in); err == nil {
			t.Errorf("%q is the point %s", in, p)
		}
		if s, err := types.ParseTimePointSec(in); err == nil {
			t.Errorf("%q is the second %s", in, s)
		}
	}
	if got := types.TimePoint(-3661000001).String(); got != "-010101.000001" {
		t.Errorf("before 1970: %s", got)
	}
}

func TestSlotsAreHalfSecondsSince2000(t *testing.T) {
	if got := types.BlockTimestamp(0).String(); got != "2000-01-01T00:00:00.000" {
		t.Errorf("slot 0 is %s", got)
	}
	if got := types.NewBlockTimestamp(types.TimePoint(978307200 * 1_000_000)); got != (978307200-946684800)*2 {
		t.Errorf("slot %d", got)
	}
	rng := seededRand(t)
	for range 1000 {
		slot := types.BlockTimestamp(rng.Uint32())
		for _, later := range []types.TimePoint{0, 1, 499_999} {
			if got := types.NewBlockTimestamp(slot.TimePoint() + later); got != slot {
				t.Fatalf("slot %d + %d us is slot %d", slot, later, got)
			}
		}
	}
	s := types.TimePointSec(5)
	if s.TimePoint().Sec() != s || s.TimePoint().AddSeconds(2).Sec() != 7 {
		t.Error("seconds do not come back")
	}
}

func toBig(u types.Uint128) *big.Int {
	return new(big.Int).Or(new(big.Int).Lsh(new(big.Int).SetUint64(u.Hi), 64), new(big.Int).SetUint64(u.Lo))
}

// word returns numbers of all lengths.
func word(rng *rand.Rand) uint64 { return rng.Uint64() >> rng.IntN(65) }

func TestUint128ComputesLikeBigIntegers(t *testing.T) {
	rng := seededRand(t)
	modulus := new(big.Int).Lsh(big.NewInt(1), 128)
	same := func(what string, u types.Uint128, want *big.Int, args ...types.Uint128) {
		t.Helper()
		if toBig(u).Cmp(new(big.Int).Mod(want, modulus)) != 0 {
			t.Fatalf("%s of %v is %s, want %s", what, args, u, want)
		}
	}
	for range 20000 {
		u, v := types.Uint128{Lo: word(rng), Hi: word(rng)}, types.Uint128{Lo: word(rng), Hi: word(rng)}
		a, b := toBig(u), toBig(v)
		same("sum", u.Add(v), new(big.Int).Add(a, b), u, v)
		same("difference", u.Sub(v), new(big.Int).Sub(a, b), u, v)
		same("product", u.Mul(v), new(big.Int).Mul(a, b), u, v)
		if u.Compare(v) != a.Cmp(b) {
			t.Fatalf("%s and %s compare as %d", u, v, u.Compare(v))
		}
		if !v.IsZero() {
			q, r := u.Div(v)
			same("quotient", q, new(big.Int).Div(a, b), u, v)
			same("remainder", r, new(big.Int).Mod(a, b), u, v)
		}
		if u.String() != a.String() {
			t.Fatalf("%s is printed as %s", a, u)
		}
		for _, text := range []string{a.String(), "0x" + a.Text(16), "0" + a.Text(8)} {
			if back, err := types.ParseUint128(text); err != nil || back != u {
				t.Fatalf("%s is %s, %v", text, back, err)
			}
		}
		i := types.Int128(u)
		if back, err := types.ParseInt128(i.String()); err != nil || back != i {
			t.Fatalf("%s is %s, %v", i, back, err)
		}
	}
	for in, want := range map[string]string{
		"-1": "340282366920938463463374607431768211455", "": "0", "0x": "0",
		"340282366920938463463374607431768211456": "0",
	} {
		if got, err := types.ParseUint128(in); err != nil || got.String() != want {
			t.Errorf("%q is %s, %v", in, got, err)
		}
	}
	for in, want := range map[string]string{
		"0xFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF80":       "170141183460469231731687303715884105727",
		"-340282366920938463463374607431768211455": "-170141183460469231731687303715884105728",
		"-170141183460469231731687303715884105728": "-170141183460469231731687303715884105728",
	} {
		if got, err := types.ParseInt128(in); err != nil || got.String() != want {
			t.Errorf("%q is %s, %v", in, got, err)
		}
	}
	for _, in := range []string{"x", "+7", "1x", "0xg", "08", "--1", "1_0", " 1", strings.Repeat("1", 2000)} {
		if got, err := types.ParseUint128(in); err == nil {
			t.Errorf("%q is %s", in, got)
		}
	}
	minus, one := types.Int128{Lo: 1<<64 - 1, Hi: 1<<64 - 1}, types.Int128{Lo: 1}
	if minus.Compare(one) != -1 || one.Compare(minus) != 1 || one.Compare(one) != 0 {
		t.Error("signed numbers do not compare")
	}
}

func TestAssetsAreTheirTexts(t *testing.T) {
	for text, amount := range map[string]int64{
		"0.100000000000000000 CUR": 100000000000000000, "-0.100000000000000000 CUR": -100000000000000000,
		"4.611686018427387903 CUR": 1<<62 - 1, "-4.611686018427387903 CUR": -(1<<62 - 1),
		"4611686018427387903 CUR": 1<<62 - 1, "1.0000 SYS": 10000, "0 A": 0, "-0.0001 SYS": -1, "5 ABCDEFG": 5,
	} {
		a, err := types.ParseAsset(text)
		if err != nil || a.Amount != amount || a.String() != text {
			t.Errorf("%s is %d, %s, %v", text, a.Amount, a, err)
		}
	}
	if a, err := types.ParseAsset("  1.0   SYS "); err != nil || a.String() != "1.0 SYS" {
		t.Errorf("with space: %s, %v", a, err)
	}
	for text, want := range map[string]struct {
		kind    *exception.Kind
		message string
	}{
		"0.1000000000000000000 CUR":     {exception.SymbolType, "precision 19 should be <= 18"},
		"4.611686018427387904 CUR":      {exception.AssetType, "magnitude of asset amount must be less than 2^62"},
		"-4.611686018427387904 CUR":     {exception.AssetType, "magnitude of asset amount must be less than 2^62"},
		"36.893488147419103232 CUR":     {exception.FCOverflow, "Integer Overflow"},
		"-36.893488147419103232 CUR":    {exception.FCUnderflow, "Integer Underflow"},
		"1000000000.00000000000000 CUR": {exception.FCOverflow, "Integer Overflow"},
		"100000000000000000000000 CUR":  {exception.FCParseError, "Couldn't parse int64_t"},
		"1CUR":                          {exception.AssetType, "Asset's amount and symbol should be separated with space"},
		"1. CUR":                        {exception.AssetType, "Missing decimal fraction after decimal point"},
		"1 cur":                         {exception.SymbolType, "invalid character in symbol name"},
	} {
		_, err := types.ParseAsset(text)
		checkError(t, err, want.kind, want.message)
	}
	if s, err := types.ParseSymbol("4,SYS"); err != nil || s != 4|'S'<<8|'Y'<<16|'S'<<24 || s.String() != "4,SYS" ||
		s.Code().String() != "SYS" {
		t.Errorf("symbol %s, %v", s, err)
	}
}

func TestKeysAreTheirTexts(t *testing.T) {
	const sigK1 = "SIG_K1_Jzdpi5RCzHLGsQbpGhndXBzcFs8vT5LHAtWLMxPzBdwRHSmJkcCdVu6oqPUQn1hbGUdErHvxtdSTS1YA73BThQFwV1v4G5"
	const sigWA = "SIG_WA_2AAAuLJS3pLPgkQQPqLsehL6VeRBaAZS7NYM91UYRUrSAEfUvzKN7DCSwhjsDqe74cZNWKUU" +
		"GAHGG8ddSA7cvUxChbfKxLSrDCpwe6MVUqz4PDdyCt5tXhEJmKekxG1o1ucY3LVj8Vi9rRbzAkKPCzW" +
		"qC8cPcUtpLHNG8qUKkQrN4Xuwa9W8rsBiUKwZv1ToLyVhLrJe42pvHYBXicp4E8qec5E4m6SX11KuXE" +
		"RFcV48Mhiie2NyaxdtNtNzQ5XZ5hjBkxRujqejpF4SNHvdAGKRBbvhkiPLA25FD3xoCbrN26z72"
	for text, typ := range map[string]types.KeyType{
		types.DefaultGenesisKey: types.K1,
		"PUB_R1_6EPHFSKVYHBjQgxVGQPrwCxTg7BbZ69H9i4gztN9deKTEXYne4":                     types.R1,
		"PUB_R1_6FPFZqw5ahYrR9jD96yDbbDNTdKtNqRbze6oTDLntrsANgQKZu":                     types.R1,
		"PUB_WA_WdCPfafVNxVMiW5ybdNs83oWjenQXvSt1F49fg9mv7qrCiRwHj5b38U3ponCFWxQTkDsMC": types.WebAuthn,
	} {
		k, err := types.ParsePublicKey(text)
		if err != nil || k.Type != typ || k.String() != text {
			t.Errorf("%s is %s of type %d, %v", text, k, k.Type, err)
		}
		var back types.PublicKey
		if err := types.Decode(k.Append(nil), &back); err != nil || back != k || k.Size() != len(k.Append(nil)) {
			t.Errorf("%s came back as %s of %d bytes, %v", k, back, k.Size(), err)
		}
	}
	k1, err := types.ParsePublicKey("PUB_K1_6MRyAjQq8ud7hVNYcfnVPJqcVpscN5So8BhtHuGYqET5BoDq63")
	if err != nil || k1.String() != types.DefaultGenesisKey {
		t.Errorf("%s, %v", k1, err)
	}
	for text, typ := range map[string]types.KeyType{sigK1: types.K1, sigWA: types.WebAuthn} {
		s, err := types.ParseSignature(text)
		if err != nil || s.Type != typ || s.String() != text {
			t.Errorf("%s is %s, %v", text, s, err)
		}
		var back types.Signature
		if err := types.Decode(s.Append(nil), &back); err != nil || back != s || s.Size() != len(s.Append(nil)) {
			t.Errorf("%s came back as %s, %v", s, back, err)
		}
		if (s.VariableSize() == 0) != (typ != types.WebAuthn) {
			t.Errorf("variable size %d", s.VariableSize())
		}
	}
	for _, text := range []string{
		"", "EOS", "EOS1", "PUB", "PUB_", "PUB_K1", "PUB_K1_", "PUB_K2_11",
		"SIG_K1_11", types.DefaultGenesisKey[:52] + "W",
		types.DefaultGenesisKey + "1", "PUB_R1_6EPHFSKVYHBjQgxVGQPrwCxTg7BbZ69H9i4gztN9deKTEXYne5", "PUB_K1_0OIl",
		"EOS" + strings.Repeat("1", 1<<18),
	} {
		if k, err := types.ParsePublicKey(text); err == nil {
			t.Errorf("%q is key %s", text, k)
		}
		if s, err := types.ParseSignature(strings.Replace(text, "PUB", "SIG", 1)); err == nil {
			t.Errorf("%q is signature %s", text, s)
		}
	}
}

func TestChecksumsAreHex(t *testing.T) {
	zeros := strings.Repeat("00", 31)
	for in, want := range map[string]string{"ab" + zeros: "ab" + zeros, "aB": "ab" + zeros, "a": "a0" + zeros,
		"": "00" + zeros, "ab" + zeros + "ffxx": "ab" + zeros} {
		if c, err := types.ParseChecksum256(in); err != nil || c.String() != want {
			t.Errorf("%q is %s, %v", in, c, err)
		}
	}
	_, err := types.ParseChecksum256("0g")
	checkError(t, err, exception.FCUnspecified, "Invalid hex character 'g'")
	if got := types.Hash(
		[]byte("abc")).String(); got != "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" {
		t.Errorf("hash %s", got)
	}
	if types.Hash(nil).IsZero() || !(types.Checksum256{}).IsZero() ||
		(types.Checksum256{1}).Compare(types.Checksum256{0, 9}) != 1 {
		t.Error("checksums do not compare")
	}
}

// An id in a log of JSON is what it is elsewhere, and no list of numbers.
func TestLogsShowIDsAsText(t *testing.T) {
	var b bytes.Buffer
	slog.New(slog.NewJSONHandler(&b, nil)).Info("a block", "id", types.Checksum256{1, 0xab})
	if want := `"id":"01ab` + strings.Repeat("0", 60) + `"`; !strings.Contains(b.String(), want) {
		t.Errorf("the log says %s", b.String())
	}
}
