package rpc

import (
	"encoding/json"
	"testing"

	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/internal/racedetector"
)

// A contract that asks for ids of blocks uses its gas up in about the time that a block takes to do so.
func TestIDsOfBlocksCostACallWhatTheyCostABlock(t *testing.T) {
	racedetector.SkipMeasure(t)
	w := newWorld(t, recordedEvents, Options{})
	c := dial(t, w)
	var any json.RawMessage
	err := c.Call(&any, "eth_call", object{"to": attacker, "gas": hexutil.Uint64(50_000_000)}, "latest",
		object{attacker: coding("0x5b60014303405060005600")}) // BLOCKHASH of the block before, for ever
	fails(t, err, "out of gas")
}
