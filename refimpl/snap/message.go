package main

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/ethereum/go-ethereum/eth/protocols/snap"
	"github.com/ethereum/go-ethereum/rlp"
)

// message decodes a message and tells what has become of it.
func message(code string, raw []byte) (string, error) {
	m, ok := map[string]snap.Packet{
		"0": new(snap.GetAccountRangePacket), "1": new(snap.AccountRangePacket),
		"2": new(snap.GetStorageRangesPacket), "3": new(snap.StorageRangesPacket),
		"4": new(snap.GetByteCodesPacket), "5": new(snap.ByteCodesPacket),
		"6": new(snap.GetTrieNodesPacket), "7": new(snap.TrieNodesPacket),
	}[code]
	if !ok {
		return "", fmt.Errorf("unknown code %s", code)
	}
	if err := rlp.DecodeBytes(raw, m); err != nil {
		return "", err
	}
	again, err := rlp.EncodeToBytes(m)
	if err != nil {
		return "", err
	}
	var full [][]byte
	if accounts, is := m.(*snap.AccountRangePacket); is {
		if _, full, err = accounts.Unpack(); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%x %x", sha256.Sum256(again), sha256.Sum256(bytes.Join(full, nil))), nil
}
