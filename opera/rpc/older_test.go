package rpc

import (
	"reflect"
	"strings"
	"testing"

	"github.com/ethereum/go-ethereum/common"
)

// Which calls name a block or a transaction, and need none that is older than the chain.
var needNothing = map[string]string{
	"getUncleByBlockNumberAndIndex": "there are no uncles", "getUncleByBlockHashAndIndex": "the same",
	"feeHistory": "it tells of the blocks that are there", "debug_blocksTransactionTimes": "the same",
	"getRules": "an epoch is named", "getEpochBlock": "the same", "getEpochStats": "the same",
	"getProof": "always asked of another node", "newFilter": "it tells of what comes", "logs": "the same",
}

// A call that names a block or a transaction says what it needs of a chain, for replicas that do not have it.
func TestCallsSayWhichBlocksTheyNeed(t *testing.T) {
	s := new(Service)
	blocks := []reflect.Type{reflect.TypeFor[BlockTag](), reflect.TypeFor[BlockRef](), reflect.TypeFor[*BlockRef](),
		reflect.TypeFor[common.Hash](), reflect.TypeFor[Criteria](), reflect.TypeFor[TraceFilter]()}
	seen := map[string]bool{}
	for space, list := range s.namespaces() {
		if space != "eth" && space != "ftm" && space != "debug" && space != "trace" {
			continue
		}
		for _, of := range list {
			for m := range reflect.TypeOf(of).Methods() {
				name := strings.ToLower(m.Name[:1]) + m.Name[1:]
				if space == "debug" || space == "trace" {
					name = space + "_" + name
				}
				n, listed := need[name]
				for i := 1; i < m.Type.NumIn(); i++ {
					for _, b := range blocks {
						if m.Type.In(i) == b && !listed && needNothing[name] == "" {
							t.Errorf("%s names a block, and does not say what it needs", name)
						}
					}
				}
				if listed && n.from == nil {
					t.Errorf("%s does not say how it names a block", name)
				}
				if listed {
					seen[name] = true
					if n.at >= m.Type.NumIn()-1 {
						t.Errorf("%s has no parameter %d", name, n.at)
					}
				}
			}
		}
	}
	for name := range need {
		if !seen[name] {
			t.Errorf("there is no %s", name)
		}
	}
}
