package node

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"

	"tarn/antelope/admintypes"
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// History says what history of the chain is kept, and where it is served
// (state_history_plugin).
type History struct {
	ship.Options
	Server ship.ServerOptions
	Delete bool // what there is, before it is opened
}

// openHistory opens the history, before the chain tells of anything.
func (n *Node) openHistory() (err error) {
	h := n.o.History
	if h == nil {
		return nil
	}
	if err := n.lockFolder(h.Dir); err != nil {
		return err
	}
	if h.Delete {
		n.o.Log.Info("Deleting state history")
		if err := ship.Remove(h.Options); err != nil {
			return fmt.Errorf("delete the state history: %w", err)
		}
	}
	h.Damaged = n.noteDamage
	if f := n.o.Fleet; f != nil && f.Replica {
		h.Older = n.fleet.history
	}
	if n.history, err = ship.Open(h.Options); err != nil {
		return fmt.Errorf("open the state history: %w", err)
	}
	n.chain.Subscribe(n.history.Hooks(historySource{n}))
	return nil
}

// historySource is what the history reads of the node.
type historySource struct{ n *Node }

func (s historySource) View() (*state.View, error) { return s.n.chain.View() }

func (s historySource) ChainID() types.Checksum256 { return s.n.chain.ID() }

func (s historySource) Block(_ uint32, id types.Checksum256) ([]byte, error) {
	return s.n.blocks().ByID(id)
}

func (s historySource) BlockID(num uint32) (types.Checksum256, bool, error) {
	fork := s.n.chain.Fork()
	if head := fork.Head(); head != nil {
		if b := fork.SearchOnBranch(head.ID, num); b != nil {
			return b.ID, true, nil
		}
	}
	if root := fork.Root(); root != nil && root.BlockNum == num {
		return root.ID, true, nil
	}
	return s.n.loggedID(num)
}

func (s historySource) Earliest() uint32 {
	if _, _, ok := s.n.log.Head(); ok {
		return s.n.log.First()
	}
	if root := s.n.chain.Fork().Root(); root != nil {
		return root.BlockNum
	}
	return math.MaxUint32
}

func (s historySource) FirstStored() uint32 {
	first := s.Earliest()
	if _, _, logged := s.n.log.Head(); !logged && first < math.MaxUint32 {
		first++ // it is the root, which may be a state alone
	}
	return first
}

func (s historySource) Irreversible() (uint32, types.Checksum256) {
	if root := s.n.chain.Fork().Root(); root != nil {
		return root.BlockNum, root.ID
	}
	return 0, types.Checksum256{}
}

// history reads the options of state_history_plugin; nil without it.
func (s *settings) history() (*History, error) {
	if !s.Plugins.Enabled("eosio::state_history_plugin") {
		return nil, nil
	}
	dir := s.Under(s.DataDir, "state-history-dir")
	h := &History{Options: ship.Options{
		Dir: dir, Traces: s.Bool("trace-history"), State: s.Bool("chain-state-history"),
		Finality: s.Bool("finality-data-history"), Debug: s.Bool("trace-history-debug-mode"), Spring: s.spring(),
		Log: s.logs.Logger("state_history"),
	}, Delete: s.Bool("delete-state-history")}
	trusted, err := s.trustedAddresses()
	if err != nil {
		return nil, err
	}
	h.Server = ship.ServerOptions{Address: s.Text("state-history-endpoint"), Trusted: trusted,
		Limits: ship.DefaultLimits()}
	if s.Has("state-history-unix-socket-path") {
		h.Server.Socket = s.Under(s.DataDir, "state-history-unix-socket-path")
	}
	var errs []error
	if address := h.Server.Address; address != "" {
		errs = append(errs, isAddress("state-history-endpoint", address))
	}
	parted := s.Has("state-history-retained-dir") || s.Has("state-history-archive-dir") ||
		s.Has("state-history-stride") || s.Has("max-retained-history-files")
	if keep := s.optional("state-history-log-retain-blocks"); keep != nil {
		if h.Retain = *keep; *keep < leastHistory {
			errs = append(errs, admintypes.NewBadOption("state-history-log-retain-blocks must be 1000 blocks or greater"))
		}
		if parted {
			errs = append(errs,
				admintypes.NewBadOption(
					"state-history-log-retain-blocks cannot be used together with state-history-retained-dir,"+
						" state-history-archive-dir, state-history-stride or max-retained-history-files"))
		}
		return h, errors.Join(errs...)
	}
	if parted {
		h.Partition = s.historyParts(dir)
		if h.Partition.Stride == 0 {
			errs = append(errs, admintypes.NewBadOption("state-history-stride must be 1 or more"))
		}
	}
	return h, errors.Join(errs...)
}

// spring tells whether indexers are spoken to as Spring does from the beginning, by state history and
// by deep-mind: whoever wants what only Spring has. Others are spoken to as Leap does, as long as their
// chain follows the rules that Leap knows.
func (s *settings) spring() bool {
	return s.Plugins.Enabled("eosio::state_history_plugin") && s.Bool("finality-data-history")
}

// leastHistory is how many blocks a pruned history has at least: forks are shorter.
const leastHistory = 1000

// historyParts are how a history is spread over files, with nodeos' defaults.
func (s *settings) historyParts(dir string) *shiplog.Partition {
	p := &shiplog.Partition{
		Retained: filepath.Join(dir, "retained"), Archive: filepath.Join(dir, "archive"), Stride: 1_000_000,
		MaxFiles: math.MaxUint32,
	}
	if s.Has("state-history-retained-dir") {
		p.Retained = s.Under(dir, "state-history-retained-dir")
	}
	if s.Has("state-history-archive-dir") {
		if p.Archive = ""; s.Text("state-history-archive-dir") != "" {
			p.Archive = s.Under(dir, "state-history-archive-dir")
		}
	}
	if v := s.optional("state-history-stride"); v != nil {
		p.Stride = *v
	}
	if v := s.optional("max-retained-history-files"); v != nil {
		p.MaxFiles = *v
	}
	return p
}
