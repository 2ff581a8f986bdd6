package epoch

import (
	"encoding/binary"
	"errors"
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"

	"tarn/opera/inter"
)

// maxAdvanceEpochs bounds how many epochs the driver contract can have sealed at once.
const maxAdvanceEpochs = 1 << 16

// Topics of the driver contract's logs: Keccak-256 of what stands behind them.
const (
	// UpdateValidatorWeight(uint256,uint256)
	updateWeight = "0xb975807576e3b1461be7de07ebf7d20e4790ed802d7a0c4fdd0a1a13df72a935"
	// UpdateValidatorPubkey(uint256,bytes)
	updateKey     = "0x0f0ef1ab97439def0a9d2c6d9dc166207f1b13b99e62b442b2993d6153c63a6e"
	updateRules   = "0x47d10eed096a44e3d0abc586c7e3a5d6cb5358cc90e7d437cd0627f7e765fb99" // UpdateNetworkRules(bytes)
	advanceEpochs = "0x0151256d62457b809bbc891b1f81c6dd0b9987552c70ce915b519750cd434dd1" // AdvanceEpochs(uint256)
	// UpdateNetworkVersion(uint256)
	updateVersion = "0x2ccdfd47cf0c1f1069d949f1789bb79b2f12821f021634fc835af1de66ea2feb"
)

// UpdateVersion returns the topic of the log that says which version of the node the network
// demands, in the last eight of its first 32 bytes.
func UpdateVersion() common.Hash { return common.HexToHash(updateVersion) }

// Log takes from a log of an executed transaction what the driver contract tells the
// nodes. What it says holds from the end of the epoch on: of this one, or after Seal
// of the next. A log that says nothing usable changes nothing, and returns an error
// that is worth a warning.
func (b *Block) Log(l *types.Log) error {
	if l.Address != Driver() || len(l.Topics) == 0 {
		return nil
	}
	switch l.Topics[0] {
	case common.HexToHash(updateWeight):
		if len(l.Topics) > 1 && len(l.Data) >= 32 {
			b.setWeight(validator(l.Topics[1]), new(big.Int).SetBytes(l.Data[:32]))
		}
	case common.HexToHash(updateKey):
		if len(l.Topics) > 1 {
			return b.setKey(validator(l.Topics[1]), l.Data)
		}
	case common.HexToHash(updateRules):
		if len(l.Data) >= 64 {
			return b.setRules(l.Data)
		}
	case common.HexToHash(advanceEpochs):
		if len(l.Data) >= 32 {
			// Three bytes of the number count.
			n := binary.BigEndian.Uint32(l.Data[28:32]) & (1<<24 - 1)
			b.State.AdvanceEpochs = min(b.State.AdvanceEpochs+inter.Epoch(n), maxAdvanceEpochs)
		}
	case common.HexToHash(updateVersion):
		if len(l.Data) >= 32 {
			version := binary.BigEndian.Uint64(l.Data[24:32])
			b.Version = &version
		}
	}
	return nil
}

// validator returns the id in a topic, of which four bytes count.
func validator(topic common.Hash) inter.ValidatorID {
	return inter.ValidatorID(binary.BigEndian.Uint32(topic[28:]))
}

func (b *Block) setWeight(id inter.ValidatorID, weight *big.Int) {
	if weight.Sign() == 0 {
		delete(b.State.NextProfiles, id)
		return
	}
	profile := b.State.NextProfiles[id]
	profile.Weight = weight
	b.State.NextProfiles[id] = profile
}

func (b *Block) setKey(id inter.ValidatorID, data []byte) error {
	raw, err := bytesArgument(data)
	if err != nil {
		return err
	}
	profile, ok := b.State.NextProfiles[id]
	if !ok {
		return errors.New("the driver contract gives a key to no validator")
	}
	// No bytes are no key, and that is set.
	profile.PublicKey, _ = inter.NewPublicKey(raw)
	b.State.NextProfiles[id] = profile
	return nil
}

func (b *Block) setRules(data []byte) error {
	changes, err := bytesArgument(data)
	if err != nil {
		return err
	}
	rules := &b.Epoch.Rules
	if b.State.DirtyRules != nil {
		rules = b.State.DirtyRules
	}
	updated, err := rules.Update(changes)
	if err != nil {
		return err
	}
	b.State.DirtyRules = &updated
	return nil
}

// bytesArgument returns the string of bytes that a log's first word points to. Sums
// wrap at 2^64, as go-opera's do: an offset just below that points into the front.
func bytesArgument(data []byte) ([]byte, error) {
	malformed := errors.New("the driver contract's log holds no string of bytes where it says")
	if len(data) < 32 {
		return nil, malformed
	}
	offset := binary.BigEndian.Uint64(data[24:32])
	sizeAt, at := offset+24, offset+32
	if at > uint64(len(data)) || sizeAt > at {
		return nil, malformed
	}
	size := binary.BigEndian.Uint64(data[sizeAt:at])
	end := at + size
	if end > uint64(len(data)) || end < at {
		return nil, malformed
	}
	return data[at:end], nil
}
