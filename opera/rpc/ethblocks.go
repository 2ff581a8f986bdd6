package rpc

import (
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
)

// ethBlocks answers for eth and ftm about blocks and what was executed in them.
type ethBlocks struct{ s *Service }

// of gives f the block that get finds. Where there is none the answer is nothing.
func of[T any](s *Service, get func(v *view) (*block, error), f func(v *view, b *block) (T, error)) (T, error) {
	return read(s, func(v *view) (T, error) {
		var none T
		b, err := get(v)
		if err != nil || b == nil {
			return none, err
		}
		return f(v, b)
	})
}

// byTag finds a block by its tag, hashed by its id.
func byTag(t BlockTag) func(v *view) (*block, error) {
	return func(v *view) (*block, error) { return v.block(v.number(t)) }
}

func byHash(hash common.Hash) func(v *view) (*block, error) {
	return func(v *view) (*block, error) {
		n, found, err := v.numberOf(hash)
		if err != nil || !found {
			return nil, err
		}
		return v.block(n)
	}
}

func (e ethBlocks) GetHeaderByNumber(t BlockTag) (*HeaderJSON, error) {
	return of(e.s, byTag(t), func(v *view, b *block) (*HeaderJSON, error) { return v.headerJSON(b, t == Pending) })
}

func (e ethBlocks) GetHeaderByHash(hash common.Hash) (*HeaderJSON, error) {
	return of(e.s, byHash(hash), func(v *view, b *block) (*HeaderJSON, error) { return v.headerJSON(b, false) })
}

func (e ethBlocks) GetBlockByNumber(t BlockTag, full bool) (*HeaderJSON, error) {
	return of(e.s, byTag(t), func(v *view, b *block) (*HeaderJSON, error) { return v.blockJSON(b, full, t == Pending) })
}

func (e ethBlocks) GetBlockByHash(hash common.Hash, full bool) (*HeaderJSON, error) {
	return of(e.s, byHash(hash), func(v *view, b *block) (*HeaderJSON, error) { return v.blockJSON(b, full, false) })
}

// There are no uncles.

func (e ethBlocks) GetUncleByBlockNumberAndIndex(_ BlockTag, _ hexutil.Uint) *HeaderJSON { return nil }

func (e ethBlocks) GetUncleByBlockHashAndIndex(_ common.Hash, _ hexutil.Uint) *HeaderJSON {
	return nil
}

func (e ethBlocks) GetUncleCountByBlockNumber(t BlockTag) (*hexutil.Uint, error) {
	return of(e.s, byTag(t), func(*view, *block) (*hexutil.Uint, error) { return new(hexutil.Uint), nil })
}

func (e ethBlocks) GetUncleCountByBlockHash(hash common.Hash) (*hexutil.Uint, error) {
	return of(e.s, byHash(hash), func(*view, *block) (*hexutil.Uint, error) { return new(hexutil.Uint), nil })
}

func count(_ *view, b *block) (*hexutil.Uint, error) {
	n := hexutil.Uint(len(b.Txs))
	return &n, nil
}

func (e ethBlocks) GetBlockTransactionCountByNumber(t BlockTag) (*hexutil.Uint, error) {
	return of(e.s, byTag(t), count)
}

func (e ethBlocks) GetBlockTransactionCountByHash(hash common.Hash) (*hexutil.Uint, error) {
	return of(e.s, byHash(hash), count)
}

func txByIndex(index hexutil.Uint) func(*view, *block) (*TxJSON, error) {
	return func(_ *view, b *block) (*TxJSON, error) { return b.txJSON(uint64(index)), nil }
}

func (e ethBlocks) GetTransactionByBlockNumberAndIndex(t BlockTag, index hexutil.Uint) (*TxJSON, error) {
	return of(e.s, byTag(t), txByIndex(index))
}

func (e ethBlocks) GetTransactionByBlockHashAndIndex(hash common.Hash, index hexutil.Uint) (*TxJSON, error) {
	return of(e.s, byHash(hash), txByIndex(index))
}

func raw(index hexutil.Uint) func(*view, *block) (hexutil.Bytes, error) {
	return func(_ *view, b *block) (hexutil.Bytes, error) {
		if uint64(index) >= uint64(len(b.Txs)) {
			return nil, nil
		}
		return b.Txs[index].MarshalBinary()
	}
}

func (e ethBlocks) GetRawTransactionByBlockNumberAndIndex(t BlockTag, index hexutil.Uint) (hexutil.Bytes, error) {
	return of(e.s, byTag(t), raw(index))
}

func (e ethBlocks) GetRawTransactionByBlockHashAndIndex(hash common.Hash, index hexutil.Uint) (hexutil.Bytes, error) {
	return of(e.s, byHash(hash), raw(index))
}

func (e ethBlocks) GetTransactionByHash(hash common.Hash) (*TxJSON, error) {
	return read(e.s, func(v *view) (*TxJSON, error) {
		b, index, err := v.find(hash)
		if err != nil {
			return nil, err
		}
		if b != nil {
			return b.txJSON(index), nil
		}
		tx, err := e.s.waiting(v, hash)
		if err != nil || tx == nil {
			return nil, err
		}
		return pendingJSON(tx), nil
	})
}

func (e ethBlocks) GetRawTransactionByHash(hash common.Hash) (hexutil.Bytes, error) {
	return read(e.s, func(v *view) (hexutil.Bytes, error) {
		b, index, err := v.find(hash)
		if err != nil {
			return nil, err
		}
		if b != nil {
			return raw(hexutil.Uint(index))(v, b)
		}
		tx, err := e.s.waiting(v, hash)
		if err != nil || tx == nil {
			return nil, err
		}
		return tx.MarshalBinary()
	})
}

func (e ethBlocks) GetTransactionReceipt(hash common.Hash) (*ReceiptJSON, error) {
	return read(e.s, func(v *view) (*ReceiptJSON, error) {
		b, index, err := v.find(hash)
		if err != nil || b == nil {
			return nil, err
		}
		return b.receiptJSON(index), nil
	})
}

func (e ethBlocks) GetBlockReceipts(r BlockRef) ([]*ReceiptJSON, error) {
	return read(e.s, func(v *view) ([]*ReceiptJSON, error) {
		n, err := v.resolve(r, errNoBlock)
		if err == errNoBlock {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		b, err := v.block(n)
		if err != nil || b == nil {
			return nil, err
		}
		list := make([]*ReceiptJSON, len(b.Receipts))
		for i := range list {
			list[i] = b.receiptJSON(uint64(i))
		}
		return list, nil
	})
}
