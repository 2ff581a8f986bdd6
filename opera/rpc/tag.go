package rpc

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/inter"
)

// BlockTag is a block's number, or one of the names of a block. Epochs are asked for with
// the same words.
type BlockTag int64

// The names. Opera's blocks are final, so finalized and safe are the last block, and what
// go-opera calls pending is the last block too.
const (
	Earliest  BlockTag = 0
	Latest    BlockTag = -1
	Pending   BlockTag = -2
	finalized BlockTag = -3
	safe      BlockTag = -4
)

var tags = map[string]BlockTag{
	"earliest": Earliest, "latest": Latest, "pending": Pending, "finalized": finalized, "safe": safe,
}

// UnmarshalJSON reads a number in hexadecimal or a name, with quotes or without.
func (t *BlockTag) UnmarshalJSON(data []byte) error {
	text := unquote(data)
	if tag, ok := tags[text]; ok {
		*t = tag
		return nil
	}
	n, err := hexutil.DecodeUint64(text)
	if err != nil {
		return err
	}
	if n > math.MaxInt64 {
		return errors.New("block number larger than int64")
	}
	*t = BlockTag(n)
	return nil
}

func unquote(data []byte) string {
	text := strings.TrimSpace(string(data))
	if len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' {
		return text[1 : len(text)-1]
	}
	return text
}

// last tells whether a tag is one of the names of the last block.
func (t BlockTag) last() bool { return t < 0 }

// BlockRef is a block by its tag or by its id.
type BlockRef struct {
	Tag  *BlockTag
	Hash *common.Hash
}

// UnmarshalJSON reads a tag, an id, or an object with one of both.
func (r *BlockRef) UnmarshalJSON(data []byte) error {
	s := scanner{data}
	if text, ok := s.text(); ok && len(s.rest) == 0 { // which needs no decoding
		return r.read(string(text))
	}
	var object struct {
		BlockNumber      *BlockTag    `json:"blockNumber"`
		BlockHash        *common.Hash `json:"blockHash"`
		RequireCanonical bool         `json:"requireCanonical"`
	}
	if err := json.Unmarshal(data, &object); err == nil {
		if object.BlockNumber != nil && object.BlockHash != nil {
			return errors.New("cannot specify both BlockHash and BlockNumber, choose one or the other")
		}
		r.Tag, r.Hash = object.BlockNumber, object.BlockHash
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	return r.read(text)
}

// read reads a text.
func (r *BlockRef) read(text string) error {
	if tag, ok := tags[text]; ok {
		r.Tag = &tag
		return nil
	}
	if len(text) == 2+2*common.HashLength {
		r.Hash = new(common.Hash)
		return r.Hash.UnmarshalText([]byte(text))
	}
	n, err := hexutil.DecodeUint64(text)
	if err != nil {
		return err
	}
	if n > math.MaxInt64 {
		return errors.New("blocknumber too high")
	}
	tag := BlockTag(n)
	r.Tag = &tag
	return nil
}

// refTo is a reference by tag.
func refTo(t BlockTag) BlockRef { return BlockRef{Tag: &t} }

// Count is a number in decimal or hexadecimal, with quotes or without.
type Count uint64

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(data []byte) error {
	text := unquote(data)
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		n, err = hexutil.DecodeUint64(text)
	}
	*c = Count(n)
	return err
}

var (
	errNoHeader = errors.New("header not found")
	errNoBlock  = errors.New("block not found")
	errSelector = errors.New("unknown header selector")
)

// number returns which block a tag means; it may be one that is still to come.
func (v *view) number(t BlockTag) inter.BlockNumber {
	if t.last() {
		return v.Head().Number
	}
	return inter.BlockNumber(t)
}

// resolve returns which block a reference means, missing if it is none of the chain's.
func (v *view) resolve(r BlockRef, missing error) (inter.BlockNumber, error) {
	switch {
	case r.Tag != nil:
		n := v.number(*r.Tag)
		if n > v.Head().Number {
			return 0, missing
		}
		return n, nil
	case r.Hash != nil:
		n, found, err := v.numberOf(*r.Hash)
		if err == nil && !found {
			err = missing
		}
		return n, err
	}
	return 0, errSelector
}

// numberOf returns which block has an id. Block 0 is never made, and has one too. An entry of a log is read for it,
// which may be large, and there may be no turn: few read one at once.
func (v *view) numberOf(hash common.Hash) (inter.BlockNumber, bool, error) {
	if hash == v.zero() {
		return 0, true, nil
	}
	v.service.finding <- struct{}{}
	defer func() { <-v.service.finding }()
	n, found, err := v.NumberOf(inter.EventID(hash))
	if err != nil {
		return 0, false, fmt.Errorf("find block %v: %w", hash, err)
	}
	return n, found, nil
}

// zero is the id of block 0: the genesis' id with eight bytes of zero at its beginning.
func (v *view) zero() common.Hash {
	id := v.Network().GenesisID
	clear(id[:8])
	return id
}
