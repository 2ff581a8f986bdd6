package rpc

import (
	"encoding/json"
	"fmt"
	"math/big"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/trie"

	"tarn/opera/chain"
	"tarn/opera/evm"
	"tarn/opera/inter"
	"tarn/opera/state"
)

// view is a chain's view for the time of one request.
type view struct {
	*chain.View
	service *Service
}

// block is a block with what clients are told of it. It is never changed, and requests
// share it.
type block struct {
	*chain.Block
	Parent common.Hash

	once     sync.Once
	txs      common.Hash // root
	receipts common.Hash // root
	bloom    types.Bloom

	// What clients were told of it, with whole transactions and with their hashes; nil until
	// somebody asks.
	fullText, hashesText atomic.Pointer[json.RawMessage]
	receiptTexts         []atomic.Pointer[json.RawMessage] // of its transactions
	told                 atomic.Int64                      // bytes of all texts
}

// genesisTime is that of block 0, which is never made (go-opera, evmcore.FakeGenesisTime).
const genesisTime = inter.Timestamp(1608600000*time.Second) - 1

// block returns a block, nil if there is none.
func (v *view) block(n inter.BlockNumber) (*block, error) {
	if b := v.rememberedBlock(n); b != nil {
		return b, nil
	}
	if n == 0 {
		return &block{Block: &chain.Block{Time: genesisTime, ID: inter.EventID(v.zero())}}, nil
	}
	of, err := v.Block(n)
	if err != nil || of == nil {
		return nil, err
	}
	return v.readBlock(of, true), nil
}

// passedBlock is block for a walk over many, which is not to push out of memory what others ask for.
func (v *view) passedBlock(n inter.BlockNumber) (*block, error) {
	if b := v.rememberedBlock(n); b != nil || n == 0 {
		return b, nil
	}
	of, err := v.Block(n)
	if err != nil || of == nil {
		return nil, err
	}
	return v.readBlock(of, false), nil
}

// rememberedBlock returns a block that was asked for before, nil if it is not remembered. One after the
// head came as a record; it is not remembered, because the chain's own will be in its place.
func (v *view) rememberedBlock(n inter.BlockNumber) *block {
	if n > v.Head().Number {
		return nil
	}
	return v.service.blocks.get(n)
}

// readBlock is a block that was read, to be told, and perhaps to be remembered.
func (v *view) readBlock(of *chain.Block, remember bool) *block {
	b := &block{Block: of, Parent: common.Hash(v.BlockID(of.Number - 1)),
		receiptTexts: make([]atomic.Pointer[json.RawMessage], len(of.Receipts))}
	for i, r := range b.Receipts {
		if r.Logs == nil {
			r.Logs = []*types.Log{}
		}
		if r.Bloom == (types.Bloom{}) && len(r.Logs) > 0 {
			b.Receipts[i].Bloom = types.CreateBloom(r)
		}
	}
	if remember && of.Number <= v.Head().Number {
		v.service.blocks.set(of.Number, b)
	}
	return b
}

// header returns what transactions of a block see of it, nil if there is none.
func (v *view) header(n inter.BlockNumber) (*evm.Header, error) {
	if n == 0 {
		return &evm.Header{Time: genesisTime, ID: inter.EventID(v.zero()), Config: v.Config(),
			BlockID: func(inter.BlockNumber) inter.EventID { return inter.EventID{} }}, nil
	}
	b := v.rememberedBlock(n)
	if b == nil && n == v.Head().Number { // it will be asked about again
		var err error
		if b, err = v.block(n); err != nil {
			return nil, err
		}
	}
	if b == nil {
		return v.Header(n)
	}
	return &evm.Header{Number: n, Time: b.Time, ID: b.ID, Config: v.Config(), BaseFee: b.BaseFee,
		BlockID: chain.BlockIDs(v.View)}, nil
}

// stateAt returns the state after a block, to read from and to change.
func (v *view) stateAt(n inter.BlockNumber) (*state.Block, error) {
	source, err := v.source(n)
	if err != nil {
		return nil, err
	}
	return state.NewBlock(source), nil
}

func (v *view) source(n inter.BlockNumber) (state.Source, error) {
	if n == 0 {
		return noState{}, nil
	}
	return v.StateAt(n)
}

// noState is the state before the first block: there is nothing.
type noState struct{}

func (noState) Account(common.Hash) (*state.Account, error)                 { return nil, nil }
func (noState) Slot(common.Hash, common.Hash) (common.Hash, error)          { return common.Hash{}, nil }
func (noState) Code(common.Hash) ([]byte, error)                            { return nil, nil }
func (noState) Slots(common.Hash, common.Hash, func(state.Slot) bool) error { return nil }

// derive computes what a header commits to.
func (b *block) derive() {
	b.once.Do(func() {
		b.txs, b.receipts = types.EmptyRootHash, types.EmptyRootHash
		if len(b.Txs) != 0 {
			b.txs = types.DeriveSha(b.Txs, trie.NewStackTrie(nil))
		}
		if b.Number == 0 {
			b.receipts = common.Hash{}
		} else if len(b.Receipts) != 0 {
			b.receipts = types.DeriveSha(b.Receipts, trie.NewStackTrie(nil))
			for _, r := range b.Receipts {
				for i, bits := range r.Bloom {
					b.bloom[i] |= bits
				}
			}
		}
	})
}

// ethHeader is the block's header in Ethereum's form, as far as go-opera fills it in.
func (b *block) ethHeader(root common.Hash) *types.Header {
	b.derive()
	return &types.Header{
		ParentHash: b.Parent, Root: root, TxHash: b.txs, Difficulty: new(big.Int),
		Number: new(big.Int).SetUint64(uint64(b.Number)), GasLimit: gasLimit, GasUsed: b.GasUsed,
		Time: b.Time.Seconds(), Extra: b.ID[:], BaseFee: b.BaseFee,
	}
}

// gasLimit is what blocks say of theirs: there is none, and this can be read by everybody.
const gasLimit = 0xffffffffffff

// headerSize is what go-opera tells as the size of a header: the memory that its struct
// takes there on a machine of 64 bits, and what its numbers and bytes take.
func (b *block) headerSize() uint64 {
	const structure = 568
	number := new(big.Int).SetUint64(uint64(b.Number))
	return structure + uint64(len(b.ID)+number.BitLen()/8)
}

// size is the length of the block's RLP in Ethereum's form.
func (b *block) size(root common.Hash) uint64 {
	return types.NewBlockWithHeader(b.ethHeader(root)).WithBody(types.Body{Transactions: b.Txs}).Size()
}

// HeaderJSON is a header as clients see it: in the order of the names.
type HeaderJSON struct {
	BaseFee          *hexutil.Big      `json:"baseFeePerGas,omitempty"`
	Difficulty       hexutil.Uint64    `json:"difficulty"`
	Epoch            hexutil.Uint64    `json:"epoch"`
	ExtraData        hexutil.Bytes     `json:"extraData"`
	GasLimit         hexutil.Uint64    `json:"gasLimit"`
	GasUsed          hexutil.Uint64    `json:"gasUsed"`
	Hash             *common.Hash      `json:"hash"`
	LogsBloom        types.Bloom       `json:"logsBloom"`
	Miner            *lowerAddress     `json:"miner"`
	MixHash          common.Hash       `json:"mixHash"`
	Nonce            *types.BlockNonce `json:"nonce"`
	Number           hexutil.Uint64    `json:"number"`
	ParentHash       common.Hash       `json:"parentHash"`
	ReceiptsRoot     common.Hash       `json:"receiptsRoot"`
	Sha3Uncles       common.Hash       `json:"sha3Uncles"`
	Size             hexutil.Uint64    `json:"size"`
	StateRoot        common.Hash       `json:"stateRoot"`
	Timestamp        hexutil.Uint64    `json:"timestamp"`
	TimestampNano    hexutil.Uint64    `json:"timestampNano"`
	TotalDifficulty  hexutil.Uint64    `json:"totalDifficulty"`
	Transactions     json.RawMessage   `json:"transactions,omitempty"`
	TransactionsRoot common.Hash       `json:"transactionsRoot"`
	Uncles           *[]common.Hash    `json:"uncles,omitempty"`
}

type lowerAddress = common.Address

// headerJSON tells a header. Of the pending one the fields are null that depend on who
// makes it.
func (v *view) headerJSON(b *block, pending bool) (*HeaderJSON, error) {
	root, err := v.rootOf(b.Number)
	if err != nil {
		return nil, err
	}
	b.derive()
	hash := common.Hash(b.ID)
	h := &HeaderJSON{
		BaseFee: (*hexutil.Big)(b.BaseFee), Epoch: hexutil.Uint64(b.ID.Epoch()), ExtraData: hexutil.Bytes{},
		GasLimit: gasLimit, GasUsed: hexutil.Uint64(b.GasUsed), Hash: &hash, LogsBloom: b.bloom,
		Miner: new(lowerAddress),
		Nonce: new(types.BlockNonce), Number: hexutil.Uint64(b.Number), ParentHash: b.Parent, ReceiptsRoot: b.receipts,
		Sha3Uncles: types.EmptyUncleHash, Size: hexutil.Uint64(b.headerSize()), StateRoot: root,
		Timestamp: hexutil.Uint64(b.Time.Seconds()), TimestampNano: hexutil.Uint64(b.Time), TransactionsRoot: b.txs,
	}
	if pending {
		h.Hash, h.Nonce, h.Miner = nil, nil, nil
	}
	return h, nil
}

func (v *view) rootOf(n inter.BlockNumber) (common.Hash, error) {
	if n == 0 {
		return common.Hash{}, nil
	}
	return v.Root(n)
}

// blockJSON tells a block, with its transactions or their hashes.
func (v *view) blockJSON(b *block, full, pending bool) (*HeaderJSON, error) {
	h, err := v.headerJSON(b, pending)
	if err != nil {
		return nil, err
	}
	list := make([]any, len(b.Txs))
	for i := range b.Txs {
		if full {
			list[i] = b.txJSON(uint64(i))
		} else {
			list[i] = b.TxHash(i)
		}
	}
	if h.Transactions, err = json.Marshal(list); err != nil {
		return nil, fmt.Errorf("tell block %d: %w", b.Number, err)
	}
	h.Size, h.Uncles = hexutil.Uint64(b.size(h.StateRoot)), &[]common.Hash{}
	return h, nil
}

// weight is roughly how many bytes of memory a block takes.
func (b *block) weight() int {
	const each, eachLog, whole = 1 << 10, 256, 1 << 10 // values around the bytes that are counted
	n := whole
	for _, tx := range b.Txs {
		n += each + int(tx.Size())
	}
	for _, r := range b.Receipts {
		for _, l := range r.Logs {
			n += eachLog + len(l.Data) + common.HashLength*len(l.Topics)
		}
	}
	return n
}

// blockCache remembers blocks that were asked for.
type blockCache struct {
	mu         sync.Mutex
	young, old map[inter.BlockNumber]*block
	bytes      int // of young
	most       int // bytes of young and old
}

func newBlockCache(most int) *blockCache {
	return &blockCache{young: map[inter.BlockNumber]*block{}, most: most}
}

func (c *blockCache) get(n inter.BlockNumber) *block {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.young[n]; b != nil {
		return b
	}
	b := c.old[n]
	if b != nil {
		c.put(n, b, b.weight()+int(b.told.Load()))
	}
	return b
}

func (c *blockCache) set(n inter.BlockNumber, b *block) {
	weight := b.weight()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.put(n, b, weight)
}

// countText counts a text that is kept with a block.
func (c *blockCache) countText(b *block, bytes int) {
	b.told.Add(int64(bytes))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.bytes += bytes
}

func (c *blockCache) put(n inter.BlockNumber, b *block, weight int) {
	if c.bytes+weight > c.most/2 {
		c.old, c.young, c.bytes = c.young, map[inter.BlockNumber]*block{}, 0
	}
	c.young[n] = b
	c.bytes += weight
}
