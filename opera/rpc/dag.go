package rpc

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"

	"tarn/opera/chain"
	"tarn/opera/inter"
)

// dagEvents answers for dag about events.
type dagEvents struct{ s *Service }

// powerJSON is gas power by its windows.
type powerJSON struct {
	LongTerm  hexutil.Uint64 `json:"longTerm"`
	ShortTerm hexutil.Uint64 `json:"shortTerm"`
}

// EventJSON is an event as clients see it: in the order of the names.
type EventJSON struct {
	AnyBlockVotes  bool            `json:"anyBlockVotes"`
	AnyEpochVote   bool            `json:"anyEpochVote"`
	AnyProofs      bool            `json:"anyMisbehaviourProofs"`
	AnyTxs         bool            `json:"anyTxs"`
	CreationTime   hexutil.Uint64  `json:"creationTime"`
	Creator        hexutil.Uint64  `json:"creator"`
	Epoch          hexutil.Uint64  `json:"epoch"`
	ExtraData      hexutil.Bytes   `json:"extraData"`
	Frame          hexutil.Uint64  `json:"frame"`
	GasPowerLeft   powerJSON       `json:"gasPowerLeft"`
	GasPowerUsed   hexutil.Uint64  `json:"gasPowerUsed"`
	ID             common.Hash     `json:"id"`
	Lamport        hexutil.Uint64  `json:"lamport"`
	MedianTime     hexutil.Uint64  `json:"medianTime"`
	NetworkVersion hexutil.Uint64  `json:"networkVersion"`
	Parents        []common.Hash   `json:"parents"`
	PayloadHash    common.Hash     `json:"payloadHash"`
	PrevEpochHash  *common.Hash    `json:"prevEpochHash"`
	Seq            hexutil.Uint64  `json:"seq"`
	Size           *hexutil.Uint64 `json:"size,omitempty"`
	Transactions   *[]common.Hash  `json:"transactions,omitempty"`
	Version        hexutil.Uint64  `json:"version"`
}

func eventJSON(p *inter.Payload) *EventJSON {
	e := &EventJSON{
		AnyBlockVotes: p.AnyBlockVotes, AnyEpochVote: p.AnyEpochVote, AnyProofs: p.AnyProofs, AnyTxs: p.AnyTxs,
		CreationTime: hexutil.Uint64(p.CreationTime), Creator: hexutil.Uint64(p.Creator),
		Epoch: hexutil.Uint64(p.Epoch), ExtraData: p.Extra,
		Frame: hexutil.Uint64(p.Frame),
		GasPowerLeft: powerJSON{ShortTerm: hexutil.Uint64(p.GasPowerLeft.Gas[inter.Short]),
			LongTerm: hexutil.Uint64(p.GasPowerLeft.Gas[inter.Long])},
		GasPowerUsed: hexutil.Uint64(p.GasPowerUsed), ID: common.Hash(p.ID()), Lamport: hexutil.Uint64(p.Lamport),
		MedianTime: hexutil.Uint64(p.MedianTime), NetworkVersion: hexutil.Uint64(p.NetForkID),
		Parents: eventIDs(p.Parents), PayloadHash: p.PayloadHash, PrevEpochHash: (*common.Hash)(p.PrevEpochHash),
		Seq: hexutil.Uint64(p.Seq), Version: hexutil.Uint64(p.Version),
	}
	return e
}

func eventIDs(ids []inter.EventID) []common.Hash {
	list := make([]common.Hash, len(ids))
	for i, id := range ids {
		list[i] = common.Hash(id)
	}
	return list
}

// event finds an event by its id in hexadecimal or by epoch:lamport:prefix.
func (d dagEvents) event(text string) (*inter.Payload, error) {
	id, err := d.id(text)
	if err != nil {
		return nil, err
	}
	raw, err := d.s.options.Chain.Event(id)
	if err == nil && raw == nil {
		err = fmt.Errorf("event %s not found", text)
	}
	if err != nil {
		return nil, d.s.public(err)
	}
	return inter.DecodePayload(raw)
}

func (d dagEvents) id(text string) (id inter.EventID, err error) {
	parts := strings.Split(text, ":")
	switch len(parts) {
	case 1:
		return inter.EventID(common.HexToHash(text)), nil
	case 3:
	default:
		return id, errors.New("incorrect format of short event ID (need Epoch:Lamport:Hash")
	}
	var numbers [2]uint32
	for i := range numbers {
		n, err := strconv.ParseUint(parts[i], 10, 32)
		if err != nil {
			return id, fmt.Errorf("short hash parsing error (lamport): %w", err)
		}
		numbers[i] = uint32(n)
	}
	prefix := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, numbers[0]), numbers[1])
	return d.only(append(prefix, common.FromHex(parts[2])...))
}

// only returns the one event whose id begins so.
func (d dagEvents) only(prefix []byte) (id inter.EventID, err error) {
	prefix = prefix[:min(len(prefix), len(id))]
	var from inter.EventID
	copy(from[:], prefix)
	n := 0
	err = d.s.options.Chain.Events(from, func(e inter.EventID, _ []byte) bool {
		if !bytes.HasPrefix(e[:], prefix) {
			return false
		}
		id = e
		n++
		return n < 2
	})
	switch {
	case err == nil && n == 0:
		err = errors.New("event not found by short ID")
	case err == nil && n > 1:
		err = errors.New("there're multiple events with the same short ID, please use full ID")
	}
	return id, d.s.public(err)
}

func (d dagEvents) GetEvent(id string) (*EventJSON, error) {
	p, err := d.event(id)
	if err != nil {
		return nil, err
	}
	return eventJSON(p), nil
}

func (d dagEvents) GetEventPayload(id string, inclTx bool) (*EventJSON, error) {
	p, err := d.event(id)
	if err != nil {
		return nil, err
	}
	e, size := eventJSON(p), hexutil.Uint64(p.Size())
	e.Size = &size
	if inclTx {
		txs := make([]common.Hash, len(p.Txs))
		for i := range p.Txs {
			txs[i] = chain.TxHash(p, i)
		}
		e.Transactions = &txs
	}
	return e, nil
}

func (d dagEvents) GetHeads(epoch BlockTag) ([]common.Hash, error) {
	now, err := read(d.s, func(v *view) (inter.Epoch, error) { return v.Epoch().Epoch, nil })
	if err != nil {
		return nil, err
	}
	heads := d.s.options.Chain.Heads()
	if len(heads) > 0 {
		now = heads[0].Epoch() // the next epoch may have begun
	}
	switch {
	case epoch >= 0 && inter.Epoch(epoch) > now:
		return nil, errors.New("epoch is not in range")
	case epoch != Pending && (epoch < 0 || inter.Epoch(epoch) != now):
		return nil, errors.New("heads for previous epochs are not available")
	}
	return eventIDs(heads), nil
}

// abftEpochs answers for abft about validators.
type abftEpochs struct{ s *Service }

type validatorJSON struct {
	Pubkey string       `json:"pubkey"`
	Weight *hexutil.Big `json:"weight"`
}

func (a abftEpochs) GetValidators(epoch BlockTag) (map[hexutil.Uint64]validatorJSON, error) {
	return read(a.s, func(v *view) (map[hexutil.Uint64]validatorJSON, error) {
		of, err := v.epochOf(epoch)
		if err != nil || of == nil {
			return nil, err
		}
		profiles := of.EpochState.Profiles
		if epoch == Pending {
			profiles = of.BlockState.NextProfiles
		}
		list := map[hexutil.Uint64]validatorJSON{}
		for i := range of.EpochState.Validators.Len() {
			id := of.EpochState.Validators.At(i).ID
			p := profiles[id]
			list[hexutil.Uint64(id)] = validatorJSON{Pubkey: p.PublicKey.String(), Weight: (*hexutil.Big)(p.Weight)}
		}
		return list, nil
	})
}

// ofValidator gives f what a validator did in the epoch. The answer for others is none.
func ofValidator[T any](s *Service, id hexutil.Uint, f func(v *view, state *inter.ValidatorBlockState) T) (T, error) {
	return read(s, func(v *view) (answer T, err error) {
		if i, ok := v.Epoch().Validators.Index(inter.ValidatorID(id)); ok {
			answer = f(v, &v.Present().ValidatorStates[i])
		}
		return answer, nil
	})
}

type downtimeJSON struct {
	OfflineBlocks hexutil.Uint64 `json:"offlineBlocks"`
	OfflineTime   hexutil.Uint64 `json:"offlineTime"`
}

func (a abftEpochs) GetDowntime(id hexutil.Uint) (downtimeJSON, error) {
	return ofValidator(a.s, id, func(v *view, state *inter.ValidatorBlockState) (d downtimeJSON) {
		head := v.Head()
		missed := head.Number - min(head.Number, state.LastBlock)
		if missed < v.Epoch().Rules.Economy.BlockMissedSlack {
			return d
		}
		return downtimeJSON{hexutil.Uint64(missed), hexutil.Uint64(head.Time - min(head.Time, state.LastOnlineTime))}
	})
}

func (a abftEpochs) GetEpochUptime(id hexutil.Uint) (hexutil.Uint64, error) {
	return ofValidator(a.s, id, func(_ *view, state *inter.ValidatorBlockState) hexutil.Uint64 {
		return hexutil.Uint64(state.Uptime)
	})
}

func (a abftEpochs) GetOriginatedEpochFee(id hexutil.Uint) (*hexutil.Big, error) {
	return ofValidator(a.s, id, func(_ *view, state *inter.ValidatorBlockState) *hexutil.Big {
		return (*hexutil.Big)(state.Originated)
	})
}
