package finality

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Vote is a finalizer's vote for a block (Spring: vote_message.hpp).
type Vote struct {
	Block     types.Checksum256
	Strong    bool
	Key       types.BLSPublicKey
	Signature types.BLSSignature
}

// Append appends the vote as peers send it.
func (v Vote) Append(b []byte) []byte {
	b = serial.AppendBool(v.Block.Append(b), v.Strong)
	return v.Signature.Append(v.Key.Append(b))
}

// Read reads the vote. Whether the key and the signature are points is found when it is verified.
func (v *Vote) Read(r *serial.Reader) {
	v.Block.Read(r)
	v.Strong = r.Bool()
	v.Key.Read(r)
	v.Signature.Read(r)
}

// Result is what became of a vote.
type Result uint8

// What becomes of votes.
const (
	Counted   Result = iota // it was good, and is one more
	Duplicate               // that finalizer has voted for the block
	NoBlock                 // the node has no such proper block above the last irreversible one
	Unknown                 // its key is in neither policy of the block
	Invalid                 // its signature is not that of the key
)
