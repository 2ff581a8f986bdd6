// Package feature knows the protocol features of Leap 5.0 and Spring 1.2: what identifies each,
// which of them a node recognises and when it lets them be activated ([Set], read
// from the protocol_features directory), which are active on a branch of headers
// ([Active]) and since which block ([History]).
//
// It never touches state: what an activation changes there is package execute's
// business (onActivation). Apart from [Load] it does no I/O.
package feature

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Codename numbers a builtin protocol feature. The numbers are part of the digests
// (Leap: builtin_protocol_feature_t).
type Codename uint32

// The builtin protocol features.
const (
	PreactivateFeature            Codename = 0
	OnlyLinkToExistingPermission  Codename = 1
	ReplaceDeferred               Codename = 2
	NoDuplicateDeferredID         Codename = 3
	FixLinkauthRestriction        Codename = 4
	DisallowEmptyProducerSchedule Codename = 5
	RestrictActionToSelf          Codename = 6
	OnlyBillFirstAuthorizer       Codename = 7
	ForwardSetcode                Codename = 8
	GetSender                     Codename = 9
	RAMRestrictions               Codename = 10
	WebAuthnKey                   Codename = 11
	WTMSIGBlockSignatures         Codename = 12
	ActionReturnValue             Codename = 13
	BlockchainParameters          Codename = 16
	GetCodeHash                   Codename = 17
	ConfigurableWasmLimits        Codename = 18
	CryptoPrimitives              Codename = 19
	GetBlockNum                   Codename = 20
	BLSPrimitives                 Codename = 21
	DisableDeferredTrxsStage1     Codename = 22
	DisableDeferredTrxsStage2     Codename = 23
	Savanna                       Codename = 24
	codenames                              = 25 // one more than the highest
)

// The executor has the active features as bits of 32: more would never be active.
const _ = uint(32 - codenames)

// builtin is what the protocol fixes about a feature.
type builtin struct {
	name        string
	description string // hexadecimal digest of the text that describes it
	needs       []Codename
	intrinsics  []string
}

// builtins is indexed by codename; numbers without a name are reserved.
var builtins = [codenames]builtin{
	PreactivateFeature: {"PREACTIVATE_FEATURE",
		"64fe7df32e9b86be2b296b3f81dfd527f84e82b98e363bc97e40bc7a83733310", nil,
		[]string{"preactivate_feature", "is_feature_activated"}},
	OnlyLinkToExistingPermission: {"ONLY_LINK_TO_EXISTING_PERMISSION",
		"f3c3d91c4603cde2397268bfed4e662465293aab10cd9416db0d442b8cec2949", nil, nil},
	ReplaceDeferred: {"REPLACE_DEFERRED",
		"9908b3f8413c8474ab2a6be149d3f4f6d0421d37886033f27d4759c47a26d944", nil, nil},
	NoDuplicateDeferredID: {"NO_DUPLICATE_DEFERRED_ID",
		"45967387ee92da70171efd9fefd1ca8061b5efe6f124d269cd2468b47f1575a0", []Codename{ReplaceDeferred}, nil},
	FixLinkauthRestriction: {"FIX_LINKAUTH_RESTRICTION",
		"a98241c83511dc86c857221b9372b4aa7cea3aaebc567a48604e1d3db3557050", nil, nil},
	DisallowEmptyProducerSchedule: {"DISALLOW_EMPTY_PRODUCER_SCHEDULE",
		"2853617cec3eabd41881eb48882e6fc5e81a0db917d375057864b3befbe29acd", nil, nil},
	RestrictActionToSelf: {"RESTRICT_ACTION_TO_SELF",
		"e71b6712188391994c78d8c722c1d42c477cf091e5601b5cf1befd05721a57f3", nil, nil},
	OnlyBillFirstAuthorizer: {"ONLY_BILL_FIRST_AUTHORIZER",
		"2f1f13e291c79da5a2bbad259ed7c1f2d34f697ea460b14b565ac33b063b73e2", nil, nil},
	ForwardSetcode: {"FORWARD_SETCODE",
		"898082c59f921d0042e581f00a59d5ceb8be6f1d9c7a45b6f07c0e26eaee0222", nil, nil},
	GetSender: {"GET_SENDER",
		"1eab748b95a2e6f4d7cb42065bdee5566af8efddf01a55a0a8d831b823f8828a", nil,
		[]string{"get_sender"}},
	RAMRestrictions: {"RAM_RESTRICTIONS",
		"1812fdb5096fd854a4958eb9d53b43219d114de0e858ce00255bd46569ad2c68", nil, nil},
	WebAuthnKey: {"WEBAUTHN_KEY",
		"927fdf78c51e77a899f2db938249fb1f8bb38f4e43d9c1f75b190492080cbc34", nil, nil},
	WTMSIGBlockSignatures: {"WTMSIG_BLOCK_SIGNATURES",
		"ab76031cad7a457f4fd5f5fca97a3f03b8a635278e0416f77dcc91eb99a48e10", nil,
		[]string{"set_proposed_producers_ex"}},
	ActionReturnValue: {"ACTION_RETURN_VALUE",
		"69b064c5178e2738e144ed6caa9349a3995370d78db29e494b3126ebd9111966", nil,
		[]string{"set_action_return_value"}},
	BlockchainParameters: {"BLOCKCHAIN_PARAMETERS",
		"70787548dcea1a2c52c913a37f74ce99e6caae79110d7ca7b859936a0075b314", nil,
		[]string{"get_parameters_packed", "set_parameters_packed"}},
	GetCodeHash: {"GET_CODE_HASH",
		"d2596697fed14a0840013647b99045022ae6a885089f35a7e78da7a43ad76ed4", nil,
		[]string{"get_code_hash"}},
	ConfigurableWasmLimits: {"CONFIGURABLE_WASM_LIMITS2",
		"8139e99247b87f18ef7eae99f07f00ea3adf39ed53f4d2da3f44e6aa0bfd7c62", nil,
		[]string{"set_wasm_parameters_packed", "get_wasm_parameters_packed"}},
	CryptoPrimitives: {"CRYPTO_PRIMITIVES",
		"68d6405cb8df3de95bd834ebb408196578500a9f818ff62ccc68f60b932f7d82", nil,
		[]string{"alt_bn128_add", "alt_bn128_mul", "alt_bn128_pair", "mod_exp", "blake2_f", "sha3", "k1_recover"}},
	GetBlockNum: {"GET_BLOCK_NUM",
		"e5d7992006e628a38c5e6c28dd55ff5e57ea682079bf41fef9b3cced0f46b491", nil,
		[]string{"get_block_num"}},
	BLSPrimitives: {"BLS_PRIMITIVES2",
		"c0cce5bcd8ea19a28d9e12eafda65ebe6d0e0177e280d4f20c7ad66dcd9e011b", nil,
		[]string{"bls_g1_add", "bls_g2_add", "bls_g1_weighted_sum", "bls_g2_weighted_sum", "bls_pairing",
			"bls_g1_map", "bls_g2_map", "bls_fp_mod", "bls_fp_mul", "bls_fp_exp"}},
	DisableDeferredTrxsStage1: {"DISABLE_DEFERRED_TRXS_STAGE_1",
		"440c3efaaab212c387ce967c574dc813851cf8332d041beb418dfaf55facd5a9", nil, nil},
	DisableDeferredTrxsStage2: {"DISABLE_DEFERRED_TRXS_STAGE_2",
		"a857eeb932774c511a40efb30346ec01bfb7796916b54c3c69fe7e5fb70d5cba", []Codename{DisableDeferredTrxsStage1}, nil},
	Savanna: {"SAVANNA",
		"01a8bebb4922c38293a8909668f7d00ba4a21a455c69719ad7dcc33ea1e631c0", []Codename{
			OnlyLinkToExistingPermission, ReplaceDeferred, NoDuplicateDeferredID, FixLinkauthRestriction,
			DisallowEmptyProducerSchedule, RestrictActionToSelf, OnlyBillFirstAuthorizer, ForwardSetcode, GetSender,
			RAMRestrictions, WebAuthnKey, WTMSIGBlockSignatures, ActionReturnValue, BlockchainParameters, GetCodeHash,
			ConfigurableWasmLimits, CryptoPrimitives, GetBlockNum, BLSPrimitives, DisableDeferredTrxsStage1,
			DisableDeferredTrxsStage2,
		},
		[]string{"set_finalizers"}},
}

// Known tells whether c is one of the builtin features.
func (c Codename) Known() bool { return c < codenames && builtins[c].name != "" }

// String returns the name in files and in the API, like PREACTIVATE_FEATURE.
func (c Codename) String() string {
	if !c.Known() {
		return "unknown"
	}
	return builtins[c].name
}

// Intrinsics returns the host functions that an activation of c adds to those that
// contracts may import, in the order in which nodeos adds them. The slice must not
// be changed.
func (c Codename) Intrinsics() []string {
	if !c.Known() {
		return nil
	}
	return builtins[c].intrinsics
}

// Codenames returns the builtin features in ascending order.
func Codenames() []Codename {
	var list []Codename
	for c := range Codename(codenames) {
		if c.Known() {
			list = append(list, c)
		}
	}
	return list
}

// parseCodename is the inverse of String.
func parseCodename(name string) (Codename, bool) {
	i := slices.IndexFunc(builtins[:], func(b builtin) bool { return b.name == name })
	return Codename(i), i >= 0 && name != ""
}

// Restrictions are what a node's operator decides about a feature (Leap:
// protocol_feature_subjective_restrictions).
type Restrictions struct {
	EarliestActivation    types.TimePoint
	PreactivationRequired bool
	Enabled               bool
}

// Feature is a protocol feature that a node recognises. Features are immutable
// once a [Set] holds them.
type Feature struct {
	Codename     Codename
	Description  types.Checksum256   // digest of the text that describes it
	Dependencies []types.Checksum256 // digests of other features, ascending
	Restrictions

	Digest types.Checksum256 // filled by [Set.Add]: identifies the feature on the chain
}

// digest computes what identifies f (Leap: builtin_protocol_feature::digest).
func (f *Feature) digest() types.Checksum256 {
	b := serial.AppendUint32(nil, 0) // the type: builtin
	b = append(b, f.Description[:]...)
	b = serial.AppendCount(b, len(f.Dependencies))
	for i := range f.Dependencies {
		b = append(b, f.Dependencies[i][:]...)
	}
	return sha256.Sum256(serial.AppendUint32(b, uint32(f.Codename)))
}

// standard returns a builtin feature as nodeos has it when no file says otherwise.
// digest gives the digest of a feature that it depends on.
func standard(c Codename, digest func(Codename) (types.Checksum256, error)) (Feature, error) {
	if !c.Known() {
		return Feature{}, exception.New(exception.ProtocolFeatureValidation,
			"Unsupported builtin_protocol_feature_t: ${codename}", "codename", uint32(c))
	}
	f := Feature{
		Codename:     c,
		Restrictions: Restrictions{PreactivationRequired: c != PreactivateFeature, Enabled: true},
	}
	if _, err := hex.Decode(f.Description[:], []byte(builtins[c].description)); err != nil {
		return Feature{}, err
	}
	for _, need := range builtins[c].needs {
		d, err := digest(need)
		if err != nil {
			return Feature{}, err
		}
		f.Dependencies = append(f.Dependencies, d)
	}
	slices.SortFunc(f.Dependencies, types.Checksum256.Compare)
	return f, nil
}
