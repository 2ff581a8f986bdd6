package fsnap

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/state"
)

// Holder has a state to give.
type Holder interface {
	// Held returns the state that is given, nil if there is none. Release, which is nil then, is
	// called after the last use of it.
	Held() (s *state.Provable, release func() error, err error)
}

// Server answers requests. Any goroutine may call it.
type Server struct {
	from   Holder
	limits Limits
}

// NewServer returns who gives what a holder has. All limits are to be set, as [DefaultLimits] does.
func NewServer(from Holder, l Limits) *Server {
	return &Server{from: from, limits: l}
}

// Answer returns the answer to a request. An error is this node's, and the answer then is that there
// is nothing. It is nil to what is no request.
func (s *Server) Answer(m Message) (answer Message, err error) {
	empty := map[uint64]Message{
		CodeGetAccounts: &Accounts{ID: m.Number()}, CodeGetSlots: &Slots{ID: m.Number()},
		CodeGetCodes: &CodesOf{ID: m.Number()}, CodeGetNodes: &Nodes{ID: m.Number()},
	}[m.Code()]
	held, release, err := s.from.Held()
	if err != nil || held == nil {
		return empty, err
	}
	defer func() { err = errors.Join(err, release()) }()
	a := &answering{Provable: held, limits: s.limits, until: time.Now().Add(s.limits.Time)}
	switch m := m.(type) {
	case *GetAccounts:
		if m.Root == held.Root {
			answer, err = a.accounts(m)
		}
	case *GetSlots:
		if m.Root == held.Root {
			answer, err = a.slots(m)
		}
	case *GetCodes:
		answer, err = a.codes(m)
	case *GetNodes:
		if m.Root == held.Root {
			answer, err = a.nodes(m)
		}
	}
	if err != nil || answer == nil {
		return empty, err
	}
	return answer, nil
}

// answering is one answer on its way.
type answering struct {
	*state.Provable
	limits Limits
	until  time.Time
	size   int // of what it has
}

func (a *answering) late() bool { return time.Now().After(a.until) }

// most is how many bytes the answer may have of those that are asked for.
func (a *answering) most(asked uint64) int {
	if asked > uint64(a.limits.Bytes) {
		return a.limits.Bytes
	}
	return int(asked)
}

// accounts gives one account at least, because an empty answer says that there are no more.
func (a *answering) accounts(m *GetAccounts) (Message, error) {
	out, most := &Accounts{ID: m.ID}, a.most(m.Bytes)
	var failed error
	err := a.Accounts(m.From, func(hash common.Hash, account *state.Account) bool {
		var body []byte
		if body, failed = a.Slim(hash, account); failed != nil {
			return false
		}
		out.Accounts = append(out.Accounts, Account{Hash: hash, Body: body})
		a.size += len(hash) + len(body)
		return a.size < most && bytes.Compare(hash[:], m.To[:]) < 0 && !a.late()
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("give accounts: %w", err)
	}
	ends := []common.Hash{m.From}
	if n := len(out.Accounts); n > 0 {
		ends = append(ends, out.Accounts[n-1].Hash)
	}
	out.Proof, err = a.ProveAccounts(ends...)
	return out, err
}

func (a *answering) slots(m *GetSlots) (Message, error) {
	out, most := &Slots{ID: m.ID}, a.most(m.Bytes)
	for i, account := range m.Accounts {
		if i > 0 && (a.size >= most || a.late()) {
			break
		}
		from, to := common.Hash{}, common.MaxHash
		if i == 0 && len(m.From) > 0 {
			from = common.BytesToHash(m.From)
		}
		if i == 0 && len(m.To) > 0 {
			to = common.BytesToHash(m.To)
		}
		slots, more, err := a.slotsOf(account, from, to, most+most/10)
		if err != nil {
			return nil, fmt.Errorf("give slots of %x: %w", account, err)
		}
		out.Of = append(out.Of, slots)
		if from == (common.Hash{}) && !more {
			continue // all slots of an account prove themselves
		}
		ends := []common.Hash{from}
		if len(slots) > 0 {
			ends = append(ends, slots[len(slots)-1].Hash)
		}
		out.Proof, err = a.ProveSlots(account, ends...)
		return out, err
	}
	return out, nil
}

// slotsOf is an account's slots from a hash on, up to the first at or behind another, or until the
// answer has so many bytes; one at least. More tells whether there are more.
func (a *answering) slotsOf(account, from, to common.Hash, most int) (list []Slot, more bool, err error) {
	var failed error
	err = a.Slots(account, from, func(s state.Slot) bool {
		if n := len(list); n > 0 && (a.size >= most || bytes.Compare(list[n-1].Hash[:], to[:]) >= 0 || a.late()) {
			more = true
			return false
		}
		var word []byte
		if word, failed = state.Word(s.Value); failed != nil {
			return false
		}
		list = append(list, Slot{Hash: s.Hash, Body: word})
		a.size += len(s.Hash) + len(word)
		return true
	})
	return list, more, errors.Join(err, failed)
}

func (a *answering) codes(m *GetCodes) (Message, error) {
	out, most := &CodesOf{ID: m.ID}, a.most(m.Bytes)
	for _, hash := range m.Hashes[:min(len(m.Hashes), a.limits.Lookups)] {
		code, found, err := a.FindCode(hash)
		if err != nil {
			return nil, fmt.Errorf("give codes: %w", err)
		}
		if !found {
			continue
		}
		out.Codes = append(out.Codes, code)
		if a.size += len(code); a.size > most || a.late() {
			break
		}
	}
	return out, nil
}

// nodes gives nothing for a path that leads to no node of its own, and an empty node for one that
// leads nowhere (go-opera's go-ethereum, eth/protocols/snap/handler.go).
func (a *answering) nodes(m *GetNodes) (Message, error) {
	out := &Nodes{ID: m.ID}
	enough := a.enough(a.most(m.Bytes))
	accounts, err := a.AccountTrie()
	if err != nil {
		return nil, err
	}
	for _, paths := range m.Paths {
		in, paths, err := a.trieOf(accounts, paths)
		if err != nil {
			return nil, err
		}
		reads := 2 // of an account, and the root of its storage
		for _, path := range paths {
			node, resolved, err := in.GetNode(path)
			if err == nil {
				out.Nodes = append(out.Nodes, node)
			}
			if enough(reads+resolved, len(node)) {
				return out, nil
			}
			reads = 0
		}
		if len(paths) == 0 && enough(reads, 0) {
			return out, nil
		}
	}
	return out, nil
}

// trieOf is the trie of paths, and those that are in it: none if there is no such account.
func (a *answering) trieOf(accounts *state.Trie, paths Paths) (*state.Trie, [][]byte, error) {
	if len(paths) < 2 {
		return accounts, paths, nil
	}
	address := common.BytesToHash(paths[0])
	account, err := a.Account(address)
	if err != nil || account == nil {
		return nil, nil, err
	}
	in, err := a.StorageTrie(address)
	return in, paths[1:], err
}

// enough tells whether an answer must end, which has read so many nodes more and got larger.
func (a *answering) enough(most int) func(reads, size int) bool {
	total := 0
	return func(reads, size int) bool {
		total += reads
		a.size += size
		return a.size > most || total > a.limits.Lookups || a.late()
	}
}
