package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/inter/ibr"
	"github.com/Fantom-foundation/go-opera/inter/iep"
	"github.com/Fantom-foundation/go-opera/inter/ier"
	"github.com/Fantom-foundation/go-opera/opera"
	"github.com/ethereum/go-ethereum/rlp"
)

// sum returns the SHA-256 of bytes, "-" if they could not be made.
func sum(b []byte, err error) string {
	if err != nil {
		return "-"
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

func again(v interface{}) string { return sum(rlp.EncodeToBytes(v)) }

func event(raw []byte) (string, error) {
	var e inter.EventPayload
	if err := e.UnmarshalBinary(raw); err != nil {
		return "", err
	}
	bvs, ev := inter.AsSignedBlockVotes(&e), inter.AsSignedEpochVote(&e)
	return fmt.Sprintf("%x %x %x %x %s %s %s", e.ID().Bytes(), e.HashToSign().Bytes(), e.Locator().BaseHash.Bytes(),
		inter.CalcPayloadHash(&e).Bytes(), sum(e.MarshalBinary()), again(&bvs), again(&ev)), nil
}

// values decode RLP and tell what has become of it.
var values = map[string]func(raw []byte) (string, error){
	"event": event,
	"proofs": func(raw []byte) (string, error) {
		var v []inter.MisbehaviourProof
		err := rlp.DecodeBytes(raw, &v)
		return again(v), err
	},
	"bvs": func(raw []byte) (string, error) {
		var v inter.LlrSignedBlockVotes
		err := rlp.DecodeBytes(raw, &v)
		return fmt.Sprintf("%s %x %x", again(&v), v.CalcPayloadHash().Bytes(), v.Signed.Locator.ID().Bytes()), err
	},
	"ev": func(raw []byte) (string, error) {
		var v inter.LlrSignedEpochVote
		err := rlp.DecodeBytes(raw, &v)
		return fmt.Sprintf("%s %x %x", again(&v), v.CalcPayloadHash().Bytes(),
			v.Signed.Locator.HashToSign().Bytes()), err
	},
	"block": func(raw []byte) (string, error) {
		var v ibr.LlrIdxFullBlockRecord
		if err := rlp.DecodeBytes(raw, &v); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %x", again(&v), v.Hash().Bytes()), nil
	},
	"epoch": func(raw []byte) (string, error) {
		var v ier.LlrIdxFullEpochRecord
		if err := rlp.DecodeBytes(raw, &v); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s %x", again(&v), v.Hash().Bytes()), nil
	},
	"pack": func(raw []byte) (string, error) {
		var v iep.LlrEpochPack
		err := rlp.DecodeBytes(raw, &v)
		return again(&v), err
	},
	"rules": func(raw []byte) (string, error) {
		rules, err := decodeRules(raw)
		return fmt.Sprintf("%s %s", again(&rules), sum([]byte(rules.String()), nil)), err
	},
	"heights": func(raw []byte) (string, error) {
		var v []opera.UpgradeHeight
		err := rlp.DecodeBytes(raw, &v)
		return again(v), err
	},
}

// decodeRules reads rules, which may be three items, from a list of them.
func decodeRules(raw []byte) (opera.Rules, error) {
	var around struct{ Rules opera.Rules }
	err := rlp.DecodeBytes(raw, &around)
	return around.Rules, err
}

func changeRules(raw, diff []byte) (string, error) {
	rules, err := decodeRules(raw)
	if err != nil {
		return "", err
	}
	rules, err = opera.UpdateRules(rules, diff)
	return again(&rules), err
}
