package main

import (
	"fmt"
	"math/big"
	"strconv"

	"github.com/Fantom-foundation/go-opera/eventcheck/basiccheck"
	"github.com/Fantom-foundation/go-opera/eventcheck/heavycheck"
	"github.com/Fantom-foundation/go-opera/evmcore"
	"github.com/Fantom-foundation/go-opera/gossip"
	"github.com/Fantom-foundation/go-opera/integration/makefakegenesis"
	"github.com/Fantom-foundation/go-opera/inter"
	"github.com/Fantom-foundation/go-opera/inter/ibr"
	"github.com/Fantom-foundation/go-opera/inter/ier"
	"github.com/Fantom-foundation/go-opera/utils"
	"github.com/Fantom-foundation/go-opera/utils/adapters/vecmt2dagidx"
	"github.com/Fantom-foundation/go-opera/vecmt"
	"github.com/Fantom-foundation/lachesis-base/abft"
	"github.com/Fantom-foundation/lachesis-base/hash"
	"github.com/Fantom-foundation/lachesis-base/inter/dag"
	"github.com/Fantom-foundation/lachesis-base/inter/idx"
	"github.com/Fantom-foundation/lachesis-base/utils/cachescale"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/event"
	"github.com/ethereum/go-ethereum/node"
	"github.com/ethereum/go-ethereum/rlp"

	"stdiorpc"
)

// service is a go-opera that has no events and no peers.
type service struct {
	stack *node.Node
	store *gossip.Store
	of    *gossip.Service
	heavy *heavycheck.Checker
}

// pool is no pool: nobody sends transactions.
type pool struct{ gossip.TxPool }

func (pool) SubscribeNewTxsNotify(chan<- evmcore.NewTxsNotify) event.Subscription {
	return event.NewSubscription(func(quit <-chan struct{}) error { <-quit; return nil })
}

// events is the store as consensus sees it.
type events struct{ *gossip.Store }

func (e events) GetEvent(id hash.Event) dag.Event {
	if found := e.Store.GetEvent(id); found != nil {
		return found
	}
	return nil
}

// must panics with an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func (s *service) end() {
	if s.stack != nil {
		must(s.stack.Close()) // it has a folder for keys
	}
}

func (s *service) begin(validators int) string {
	s.end()
	genesis := makefakegenesis.FakeGenesisStore(idx.Validator(validators), utils.ToFtm(1000000000),
		utils.ToFtm(5000000)).Genesis()
	s.store = gossip.NewMemStore()
	_, err := s.store.ApplyGenesis(genesis)
	must(err)
	consensus := abft.NewMemStore()
	must(consensus.ApplyGenesis(&abft.Genesis{Epoch: s.store.GetEpoch(), Validators: s.store.GetValidators()}))
	index := vecmt.NewIndex(func(err error) { panic(err) }, vecmt.LiteConfig())
	engine := abft.NewLachesis(consensus, &events{s.store}, vecmt2dagidx.Wrap(index), func(err error) { panic(err) },
		abft.LiteConfig())
	s.stack, err = node.New(&node.Config{})
	must(err)
	s.of, err = gossip.NewService(s.stack, gossip.DefaultConfig(cachescale.Identity), s.store,
		gossip.DefaultBlockProc(), engine, index,
		func(evmcore.StateReader) gossip.TxPool { return pool{} }, nil)
	must(err)
	must(engine.Bootstrap(s.of.GetConsensusCallbacks()))
	s.heavy = heavycheck.New(heavycheck.DefaultConfig(), &gossip.HeavyCheckReader{Store: s.store},
		types.LatestSignerForChainID(new(big.Int).SetUint64(s.store.GetRules().NetworkID)))
	return fmt.Sprintf("%x", s.store.GetGenesisID().Bytes())
}

func (s *service) ask(kind string, words []string) (string, error) {
	switch kind {
	case "begin":
		return s.begin(int(number(words[0]))), nil
	case "checkbvs", "addbvs":
		var v inter.LlrSignedBlockVotes
		if err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &v); err != nil {
			return "", err
		}
		if kind == "checkbvs" {
			return fmt.Sprint(basiccheck.New().ValidateBVs(v), "; ", s.heavy.ValidateBVs(v)), nil
		}
		return fmt.Sprint(s.of.ProcessBlockVotes(v)), nil
	case "checkev", "addev":
		var v inter.LlrSignedEpochVote
		if err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &v); err != nil {
			return "", err
		}
		if kind == "checkev" {
			return fmt.Sprint(basiccheck.New().ValidateEV(v), "; ", s.heavy.ValidateEV(v)), nil
		}
		return fmt.Sprint(s.of.ProcessEpochVote(v)), nil
	case "addbr":
		var r ibr.LlrIdxFullBlockRecord
		if err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &r); err != nil {
			return "", err
		}
		return fmt.Sprint(s.of.ProcessFullBlockRecord(r)), nil
	case "adder":
		var r ier.LlrIdxFullEpochRecord
		if err := rlp.DecodeBytes(stdiorpc.Bytes(words[0]), &r); err != nil {
			return "", err
		}
		return fmt.Sprint(s.of.ProcessFullEpochRecord(r)), nil
	}
	return s.show(kind, words), nil
}

func number(word string) uint64 {
	n, err := strconv.ParseUint(word, 10, 64)
	must(err)
	return n
}
