package producer

import (
	"sync"

	"tarn/antelope/chain"
	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

// speculation is the execution of a transaction in a block that is no one's, which
// gives way to a block that comes: it is tried again after it.
type speculation struct {
	chain *chain.Chain

	mu      sync.Mutex
	running bool
}

func (s *speculation) execute(x *execute.Candidate, bill execute.Billing) (*types.TransactionTrace, error) {
	s.mu.Lock()
	s.running = true
	s.mu.Unlock()
	trace, err := s.chain.PushTransaction(x, bill)
	s.mu.Lock()
	s.running = false
	s.chain.Interrupt(nil)
	s.mu.Unlock()
	return trace, err
}

// giveWay ends it. Any goroutine may call it.
func (s *speculation) giveWay() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running {
		s.chain.Interrupt(exception.New(exception.Deadline, "a block has come before the transaction was finished"))
	}
}
