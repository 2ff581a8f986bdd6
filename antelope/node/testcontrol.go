package node

import (
	"fmt"
	"log/slog"
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// roundSlots is how many slots in a row a producer has.
const roundSlots = 12

// killer ends the node in the middle of a producer's round, for those who test what
// a network does then (Leap: test_control_plugin). The round that is under way when
// it is asked does not count.
type killer struct {
	log  *slog.Logger
	head func() types.BlockTimestamp // the head's, for the writer
	end  func()

	mu           sync.Mutex
	producer     types.Name // none for nobody
	slot         uint32
	irreversible bool // it is irreversible blocks that count
	away         bool // another producer was seen since
	begun        bool // and then this one's turn
}

// kill is the API's.
func (k *killer) kill(name types.Name, slot uint32, irreversible bool) {
	of := "head"
	if irreversible {
		of = "lib"
	}
	k.log.Info(fmt.Sprintf("kill on %s for producer: %s at their %d slot in sequence", of, name, slot))
	k.mu.Lock()
	defer k.mu.Unlock()
	k.producer, k.slot, k.irreversible, k.away, k.begun = name, slot, irreversible, false, false
}

// hooks are what it listens to.
func (k *killer) hooks() chain.Hooks {
	return chain.Hooks{
		AcceptedBlock: func(b *consensus.BlockState) { k.block(b, false) },
		Irreversible:  func(b *consensus.BlockState) { k.block(b, true) },
	}
}

// block looks whose slot is the one after the head, by the schedule of a block.
func (k *killer) block(b *consensus.BlockState, irreversible bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.producer == 0 || irreversible != k.irreversible {
		return
	}
	next := k.head() + 1
	scheduled := b.ScheduledProducer(next)
	if scheduled == nil {
		return
	}
	name, slot := scheduled.Producer, uint32(b.Header.Timestamp)%roundSlots
	if name != k.producer {
		k.away = true
	}
	if !k.away {
		k.log.Info(fmt.Sprintf("producer %s slot %d, looking for start of %s production round", name, slot, k.producer))
		return
	}
	k.log.Info(fmt.Sprintf("producer %s slot %d, looking for %s slot %d", name, slot, k.producer, k.slot))
	// A round that was begun ends, even if not all of it is produced.
	if name != k.producer && !k.begun {
		return
	}
	k.begun = true
	k.log.Info(fmt.Sprintf("producer %s slot: %d", name, slot))
	if uint32(next)%roundSlots >= k.slot || name != k.producer {
		k.log.Info("shutting down")
		k.end()
	}
}
