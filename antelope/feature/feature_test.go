package feature

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs"
	"tarn/store/vfs/errorfs"
)

// The digests on every public chain, taken from the originals' own listing.
var known = map[Codename]string{
	0:  "0ec7e080177b2c02b278d5088611686b49d739925a92d9bfcacd7fc6b74053bd",
	1:  "1a99a59d87e06e09ec5b028a9cbb7749b4a5ad8819004365d02dc4379a8b7241",
	2:  "ef43112c6543b88db2283a2e077278c315ae2c84719a8b25f25cc88565fbea99",
	3:  "4a90c00d55454dc5b059055ca213579c6ea856967712a56017487886a4d4cc0f",
	4:  "e0fb64b1085cc5538970158d05a009c24e276fb94e1a0bf6a528b48fbc4ff526",
	5:  "68dcaa34c0517d19666e6b33add67351d8c5f69e999ca1e37931bc410a297428",
	6:  "ad9e3d8f650687709fd68f4b90b41f7d825a365b02c23a636cef88ac2ac00c43",
	7:  "8ba52fe7a3956c5cd3a656a3174b931d3bb2abb45578befc59f283ecd816a405",
	8:  "2652f5f96006294109b3dd0bbde63693f55324af452b799ee137a81a905eed25",
	9:  "f0af56d2c5a48d60a4a5b5c903edfb7db3a736a94ed589d0b797df33ff9d3e1d",
	10: "4e7bf348da00a945489b2a681749eb56f5de00b900014e137ddae39f48f69d67",
	11: "4fca8bd82bbd181e714e283f83e1b45d95ca5af40fb89ad3977b653c448f78c2",
	12: "299dcb6af692324b899b39f16d5a530a33062804e41f09dc97e9f156b4476707",
	13: "c3a6138c5061cf291310887c0b5c71fcaffeab90d5deb50d3b9e687cead45071",
	16: "5443fcf88330c586bc0e5f3dee10e7f63c76c00249c87fe4fbf7f38c082006b4",
	17: "bcd2a26394b36614fd4894241d3c451ab0f6fd110958c3423073621a70826e99",
	18: "d528b9f6e9693f45ed277af93474fd473ce7d831dae2180cca35d907bd10cb40",
	19: "6bcb40a24e49c26d0a60513b6aeb8551d264e4717f306b81a37a5afb3b47cedc",
	20: "35c2186cc36f7bb4aeaf4487b36e57039ccf45a9136aa856a5d569ecca55ef2b",
	21: "63320dd4a58212e4d32d1f58926b73ca33a247326c2a5e9fd39268d2384e011a",
	22: "fce57d2331667353a0eac6b4209b67b843a7262a848af0a49a6e2fa9f6584eb4",
	23: "09e86cb0accf8d81c9e85d34bea4b925ae936626d00c984e4691186891f5bc16",
	24: "cbe0fafc8fcc6cc998395e9b6de6ebd94644467b1b4a97ec126005df07013c52",
}

func TestSavannaIsKnownByItsDigest(t *testing.T) {
	for c, digest := range map[Codename]string{Savanna: known[Savanna], 23: known[23]} {
		d, err := types.ParseChecksum256(digest)
		if err != nil {
			t.Fatal(err)
		}
		if got := NewActive(d).HasSavanna(); got != (c == Savanna) {
			t.Errorf("feature %d: %t", c, got)
		}
	}
}

func builtinSet(t *testing.T) *Set {
	t.Helper()
	s, err := Builtins()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func id(t *testing.T, s *Set, c Codename) types.Checksum256 {
	t.Helper()
	d, ok := s.Digest(c)
	if !ok {
		t.Fatalf("%s is not recognised", c)
	}
	return d
}

func TestDigestsAreThoseOfThePublicChains(t *testing.T) {
	s := builtinSet(t)
	if got := len(s.All()); got != 23 || len(known) != 23 {
		t.Fatalf("%d features, %d known ones, want 23", got, len(known))
	}
	for c, want := range known {
		d := id(t, s, c)
		if got := hex.EncodeToString(d[:]); got != want {
			t.Errorf("%s has digest %s, want %s", c, got, want)
		}
		if s.Find(d) != s.Builtin(c) || s.Builtin(c).Codename != c {
			t.Errorf("%s: lookup by digest and by codename differ", c)
		}
	}
	if !slices.IsSortedFunc(s.All(), func(a, b *Feature) int { return a.Digest.Compare(b.Digest) }) {
		t.Error("features are not in the order of their digests")
	}
	for _, c := range []Codename{14, 15, 25, 500000} {
		if c.Known() || s.Builtin(c) != nil || c.Intrinsics() != nil {
			t.Errorf("codename %d is known", c)
		}
	}
}

func TestOnlyTheFirstFeatureNeedsNoPreactivation(t *testing.T) {
	for _, f := range builtinSet(t).All() {
		if f.PreactivationRequired == (f.Codename == PreactivateFeature) || !f.Enabled || f.EarliestActivation != 0 {
			t.Errorf("%s: restrictions %+v", f.Codename, f.Restrictions)
		}
	}
}

func TestIntrinsicsBelongToOneFeature(t *testing.T) {
	owner := map[string]Codename{}
	for _, c := range Codenames() {
		for _, name := range c.Intrinsics() {
			if other, twice := owner[name]; twice {
				t.Errorf("%s belongs to %s and %s", name, c, other)
			}
			owner[name] = c
		}
	}
	if len(owner) != 29 {
		t.Errorf("%d intrinsics, want 29", len(owner))
	}
}

func TestFeaturesAreRefusedWithTheOriginalsExceptions(t *testing.T) {
	s := builtinSet(t)
	now := types.TimePoint(1_600_000_000_000_000)
	none := NewActive()
	check := func(name string, err error, kind *exception.Kind, text string) {
		t.Helper()
		if e := exception.Of(err); e == nil || e.Kind != kind || !strings.Contains(e.Message(), text) {
			t.Errorf("%s: %v, want %s with %q", name, err, kind.Name, text)
		}
	}
	stage1, stage2 := id(t, s, DisableDeferredTrxsStage1), id(t, s, DisableDeferredTrxsStage2)
	check("unknown", s.Check(now, none, []types.Checksum256{{1}}), exception.ProtocolFeature, "is unrecognized")
	check("dependency missing", s.Check(now, none, []types.Checksum256{stage2}), exception.ProtocolFeature,
		"not all dependencies")
	check("dependency later", s.Check(now, none, []types.Checksum256{stage2, stage1}), exception.ProtocolFeature,
		"not all dependencies")
	check("again", s.Check(now, NewActive(stage1), []types.Checksum256{stage1}), exception.ProtocolFeature,
		"already been activated")
	if err := s.Check(now, none, []types.Checksum256{stage1, stage2}); err != nil {
		t.Errorf("in order: %v", err)
	}
	if err := s.Check(now, NewActive(stage1), []types.Checksum256{stage2}); err != nil {
		t.Errorf("on top: %v", err)
	}

	limited := NewSet()
	late, err := standard(GetSender, nil)
	if err != nil {
		t.Fatal(err)
	}
	late.EarliestActivation = now + 1
	f, err := limited.Add(late)
	if err != nil {
		t.Fatal(err)
	}
	if limited.Recognise(f.Digest, now+1) != Ready {
		t.Error("not ready at the earliest time")
	}
	check("too early", limited.CheckRecognised(f.Digest, now, exception.SubjectiveBlockProduction),
		exception.SubjectiveBlockProduction,
		"2020-09-13T12:26:40.000 is too early")
	off, _ := standard(ForwardSetcode, nil)
	off.Enabled = false
	if f, err = limited.Add(off); err != nil {
		t.Fatal(err)
	}
	check("disabled", limited.Check(now, none, []types.Checksum256{f.Digest}), exception.ProtocolFeature, "is disabled")

	_, err = limited.Add(off)
	check("twice", err, exception.ProtocolFeature, "already added")
	needy, _ := standard(NoDuplicateDeferredID, func(Codename) (types.Checksum256, error) {
		return types.Checksum256{9}, nil
	})
	_, err = limited.Add(needy)
	check("unrecognised dependency", err, exception.ProtocolFeature, "that is not recognized")
	needy.Dependencies = nil
	_, err = limited.Add(needy)
	check("builtin dependency", err, exception.ProtocolFeatureValidation, "Not all the builtin dependencies")
	_, err = limited.Add(Feature{Codename: 14})
	check("reserved codename", err, exception.ProtocolFeatureValidation, "unsupported builtin_protocol_feature_t: 14")
	_, err = s.Get(types.Checksum256{7})
	check("get", err, exception.ProtocolFeature, "unrecognized protocol feature with digest: 07000000")
}

func TestActiveSetGrowsWithoutChangingItsParent(t *testing.T) {
	a := NewActive(types.Checksum256{2}, types.Checksum256{1})
	b, err := a.With([]types.Checksum256{{4}, {3}})
	if err != nil || len(a.Digests()) != 2 || len(b.Digests()) != 4 || !b.Has(types.Checksum256{3}) ||
		a.Has(types.Checksum256{3}) {
		t.Fatalf("a %v, b %v, %v", a, b, err)
	}
	for _, added := range [][]types.Checksum256{{{1}}, {{5}, {5}}} {
		if _, err := a.With(added); !exception.Is(err, exception.InvalidBlockHeaderExtension) {
			t.Errorf("with %v: %v", added, err)
		}
	}
	var empty *Active
	if empty.Has(types.Checksum256{}) || len(empty.Append(nil)) != 1 {
		t.Error("a nil set is not empty")
	}
}

func FuzzReadActive(f *testing.F) {
	f.Add([]byte{0})
	f.Add(NewActive(types.Checksum256{2}, types.Checksum256{1}).Append(nil))
	f.Add([]byte{0xff, 0xff, 0xff, 0xff, 0xf})
	f.Fuzz(func(t *testing.T, b []byte) {
		r := serial.NewReader(b)
		a := ReadActive(r)
		if r.Err() != nil {
			return
		}
		again := ReadActive(serial.NewReader(a.Append(nil)))
		if !slices.Equal(a.Digests(), again.Digests()) {
			t.Fatalf("%x and %x", a.Digests(), again.Digests())
		}
	})
}

// The history agrees with a list that is searched from its start.
func TestHistoryFollowsForks(t *testing.T) {
	s := builtinSet(t)
	for range 50 {
		seed := rand.Uint64()
		rng := rand.New(rand.NewPCG(seed, 1))
		h := NewHistory(s)
		var model []Activation
		block := uint32(1)
		for range 200 {
			if rng.IntN(3) > 0 {
				block += uint32(rng.IntN(3))
				f := s.All()[rng.IntN(len(s.All()))]
				active := slices.ContainsFunc(model, func(a Activation) bool { return a.Feature == f })
				if err := h.Activate(f.Digest, block); (err != nil) != active {
					t.Fatalf("seed %d: activate %s, active %v: %v", seed, f.Codename, active, err)
				}
				if !active {
					model = append(model, Activation{f, block})
				}
			} else {
				block -= min(block-1, uint32(rng.IntN(5)))
				h.PopTo(block)
				model = slices.DeleteFunc(model, func(a Activation) bool { return a.Block > block })
			}
			if !slices.Equal(h.All(), model) {
				t.Fatalf("seed %d: %v, want %v", seed, h.All(), model)
			}
			at := uint32(rng.IntN(int(block) + 2))
			for _, f := range s.All() {
				want := slices.ContainsFunc(model, func(a Activation) bool { return a.Feature == f && a.Block <= at })
				if h.IsActive(f.Codename, at) != want {
					t.Fatalf("seed %d: %s active in %d: %v", seed, f.Codename, at, !want)
				}
			}
			below := len(slices.DeleteFunc(slices.Clone(model), func(a Activation) bool { return a.Block >= at }))
			upTo := len(slices.DeleteFunc(slices.Clone(model), func(a Activation) bool { return a.Block > at }))
			if h.LowerBound(at) != below || h.UpperBound(at) != upTo {
				t.Fatalf("seed %d: bounds of %d: %d %d, want %d %d", seed, at, h.LowerBound(at),
					h.UpperBound(at), below, upTo)
			}
		}
		if err := h.Activate(types.Checksum256{1}, block); !exception.Is(err, exception.ProtocolFeature) {
			t.Errorf("seed %d: unknown feature: %v", seed, err)
		}
		if n := len(model); n > 0 && n < len(s.All()) {
			free := s.All()[slices.IndexFunc(s.All(), func(f *Feature) bool { return !h.IsActive(f.Codename, block) })]
			if err := h.Activate(free.Digest, model[n-1].Block-1); !exception.Is(err, exception.ProtocolFeature) {
				t.Errorf("seed %d: activation in the past: %v", seed, err)
			}
		}
	}
}

func loadIn(t *testing.T, dir string, populate bool) (*Set, string, error) {
	t.Helper()
	var log strings.Builder
	s, err := Load(dir, populate, slog.New(slog.NewTextHandler(&log, nil)))
	return s, log.String(), err
}

func TestLoadWritesTheFilesThatAreMissing(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "config", "protocol_features")
	s, log, err := loadIn(t, dir, true)
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log, "Saved default specification"); n != 23 {
		t.Errorf("%d files are reported, want 23", n)
	}
	if !strings.Contains(log, "Support for builtin protocol feature 'PREACTIVATE_FEATURE' (with digest of '"+known[0]+
		"') is enabled without activation restrictions") {
		t.Errorf("log: %s", log)
	}
	want := `{
  "protocol_feature_type": "builtin",
  "dependencies": [
    "ef43112c6543b88db2283a2e077278c315ae2c84719a8b25f25cc88565fbea99"
  ],
  "description_digest": "45967387ee92da70171efd9fefd1ca8061b5efe6f124d269cd2468b47f1575a0",
  "subjective_restrictions": {
    "earliest_allowed_activation_time": "1970-01-01T00:00:00.000",
    "preactivation_required": true,
    "enabled": true
  },
  "builtin_feature_codename": "NO_DUPLICATE_DEFERRED_ID"
}`
	got, err := os.ReadFile(filepath.Join(dir, "BUILTIN-NO_DUPLICATE_DEFERRED_ID.json"))
	if err != nil || string(got) != want {
		t.Errorf("file: %v\n%s\nwant\n%s", err, got, want)
	}
	again, log, err := loadIn(t, dir, true)
	if err != nil || strings.Contains(log, "Saved") || strings.Contains(log, "problem") {
		t.Fatalf("second start: %v\n%s", err, log)
	}
	if len(again.All()) != 23 {
		t.Fatalf("%d features after the second start", len(again.All()))
	}
	for i, f := range again.All() {
		if g := s.All()[i]; f.Digest != g.Digest || f.Restrictions != g.Restrictions {
			t.Errorf("%s: %+v became %+v", g.Codename, g, f)
		}
	}
}

// A start that a full disk, or its end, interrupts while it writes the files leaves nothing in the
// next one's way.
func TestALoadThatIsInterruptedLeavesNoPartOfAFile(t *testing.T) {
	for nth := range 12 { // the first two files; the others are written as these
		dir := t.TempDir()
		disk := errorfs.New(vfs.OS)
		fired := disk.Inject(errorfs.Fault{Ops: errorfs.Change, Nth: nth + 1, Ever: true,
			Err: syscall.ENOSPC, Part: true})
		if _, err := load(disk, dir, true, slog.New(slog.DiscardHandler)); err != nil || fired() == 0 {
			t.Fatalf("change %d: %v", nth+1, err)
		}
		s, log, err := loadIn(t, dir, true)
		if err != nil || len(s.All()) != 23 || strings.Contains(log, "problem") {
			t.Fatalf("after change %d failed: %v\n%s", nth+1, err, log)
		}
	}
}

func TestLoadTakesRestrictionsFromFiles(t *testing.T) {
	dir := t.TempDir()
	write := func(name, format string, args ...any) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), fmt.Appendf(nil, format, args...), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	file := `{"protocol_feature_type": "builtin", "dependencies": [%s], "description_digest": "%s",
		"subjective_restrictions": {"earliest_allowed_activation_time": "%s", "preactivation_required": %s, "enabled": %s},
		"builtin_feature_codename": "%s", "what else": []}`
	// The dependency's name comes later than the one that needs it.
	write("a.json", file, `"`+known[2]+`"`, builtins[NoDuplicateDeferredID].description, "1970-01-01T00:00:00.000",
		"true", "true", "NO_DUPLICATE_DEFERRED_ID")
	write("b.json", file, "", builtins[ReplaceDeferred].description, "2024-02-03T04:05:06.789",
		`"false"`, "1", "REPLACE_DEFERRED")
	write("c.json", file, "", builtins[GetSender].description, "1970-01-01T00:00:00.000", "false",
		"false", "GET_SENDER")
	write("d.json", `{"protocol_feature_type":"builtin","builtin_feature_codename":"GET_BLOCK_NUM"}`)
	write("broken.json", "{")
	write("foreign.json", file, "", known[1], "1970-01-01T00:00:00.000", "true", "true", "OTHER_FEATURE")
	write("not-a-feature.txt", "{")
	s, log, err := loadIn(t, dir, false)
	if err != nil {
		t.Fatalf("%v\n%s", err, log)
	}
	if strings.Count(log, "problem encountered while reading") != 2 {
		t.Errorf("log: %s", log)
	}
	if f := s.Builtin(ReplaceDeferred); f.EarliestActivation != 1706933106789000 ||
		f.PreactivationRequired || !f.Enabled {
		t.Errorf("REPLACE_DEFERRED: %+v", f)
	}
	if f := s.Builtin(GetSender); f.Enabled || f.PreactivationRequired {
		t.Errorf("GET_SENDER: %+v", f)
	}
	if f := s.Builtin(NoDuplicateDeferredID); hex.EncodeToString(f.Digest[:]) != known[3] || !f.Enabled {
		t.Errorf("NO_DUPLICATE_DEFERRED_ID: %+v", f)
	}
	if f := s.Builtin(GetBlockNum); f.Enabled || hex.EncodeToString(f.Digest[:]) == known[20] {
		t.Errorf("GET_BLOCK_NUM: %+v", f)
	}
	if f := s.Builtin(WebAuthnKey); f == nil || f.Enabled {
		t.Errorf("WEBAUTHN_KEY, which has no file: %+v", f)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 7 {
		t.Errorf("%d files in the directory, want the 7 that were there", len(entries))
	}
}

func TestLoadRefusesWhatItCannotRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadIn(t, file, true); !errors.As(err, new(*FolderError)) {
		t.Errorf("a file for a directory: %v", err)
	}
	if s, _, err := loadIn(t, filepath.Join(t.TempDir(), "none"), false); err != nil || s.Builtin(0).Enabled {
		t.Errorf("no directory, not to be populated: %v", err)
	}
	dir := t.TempDir()
	f := builtinSet(t).Builtin(GetSender)
	for _, name := range []string{"x.json", "y.json"} {
		if err := os.WriteFile(filepath.Join(dir, name), f.file(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if _, _, err := loadIn(t, dir, true); !errors.As(err, new(*FolderError)) {
		t.Errorf("two files for a feature: %v", err)
	}
	dir = t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "BUILTIN-GET_SENDER.json"), []byte("{"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, _, err := loadIn(t, dir, true); !errors.As(err, new(*FolderError)) {
		t.Errorf("a broken file where the default belongs: %v", err)
	}
}

func FuzzParseFile(f *testing.F) {
	s, err := Builtins()
	if err != nil {
		f.Fatal(err)
	}
	for _, b := range s.All()[:3] {
		f.Add(b.file())
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		v, err := parseFile(b)
		if err != nil || v.EarliestActivation%1000 != 0 || v.EarliestActivation >= 1<<32*1e6 {
			return
		}
		again, err := parseFile(v.file())
		if err != nil || again.Codename != v.Codename || again.Restrictions != v.Restrictions ||
			again.digest() != v.digest() {
			t.Fatalf("%+v became %+v: %v", v, again, err)
		}
	})
}

func TestDigestIsOfTheEncodingThatTheProtocolFixes(t *testing.T) {
	s := builtinSet(t)
	f := s.Builtin(NoDuplicateDeferredID)
	b := append([]byte{0, 0, 0, 0}, f.Description[:]...)
	b = append(append(b, 1), f.Dependencies[0][:]...)
	if sha256.Sum256(append(b, 3, 0, 0, 0)) != f.Digest {
		t.Error("digest of NO_DUPLICATE_DEFERRED_ID")
	}
}

// nodeos' reader takes commas too many; a file edited by hand may have them.
func TestAFileMayHaveCommasTooMany(t *testing.T) {
	s, err := Builtins()
	if err != nil {
		t.Fatal(err)
	}
	want := s.All()[0]
	text := strings.Replace(string(want.file()), "}", ",}", 1)
	got, err := parseFile([]byte(text))
	if err != nil || got.digest() != want.digest() || got.Restrictions != want.Restrictions {
		t.Errorf("%+v, %v from %s", got, err, text)
	}
}

func TestSupportedFeaturesComeAfterWhatTheyNeed(t *testing.T) {
	s, err := Builtins()
	if err != nil {
		t.Fatal(err)
	}
	list := s.Supported(0, false, false)
	if len(list) != len(s.All()) {
		t.Fatalf("%d features of %d", len(list), len(s.All()))
	}
	seen := make(map[types.Checksum256]bool)
	for _, f := range list {
		for _, d := range f.Dependencies {
			if !seen[d] {
				t.Errorf("%s comes before %s", f.Digest, d)
			}
		}
		seen[f.Digest] = true
	}
}
