package antelope

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/antelope/blocklog"
	"tarn/antelope/types"
	"tarn/bench/load"
)

// traced are a chain's blocks with transactions, and the ids of these.
type traced struct {
	full []uint32
	ids  map[uint32][]string
}

// tracedOf reads what a chain can be asked for.
func (b *blocks) tracedOf() (t traced, err error) {
	t.ids = map[uint32][]string{}
	log, err := blocklog.Open(blocklog.Options{Dir: b.dir})
	if err != nil {
		return t, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	for num := uint32(2); num <= uint32(b.chain.Blocks); num++ {
		x, err := log.Read(num)
		if err != nil {
			return t, err
		}
		for i := range x.Transactions {
			id, err := idOf(&x.Transactions[i])
			if err != nil {
				return t, fmt.Errorf("block %d: %w", num, err)
			}
			t.ids[num] = append(t.ids[num], id.String())
		}
		if len(t.ids[num]) > 0 {
			t.full = append(t.full, num)
		}
	}
	if len(t.full) == 0 {
		err = errors.New("the chain has no transactions")
	}
	return t, err
}

// idOf is a transaction's id, of one that is in the block or was deferred.
func idOf(r *types.TransactionReceipt) (types.Checksum256, error) {
	if r.Packed == nil {
		return r.ID, nil
	}
	t, _, err := r.Packed.Unpack()
	if err != nil {
		return types.Checksum256{}, err
	}
	return t.ID(), nil
}

// TraceQuestions ask for blocks with transactions, and for transactions: half of them from
// anywhere in the chain, half from its last tenth.
func (b *blocks) TraceQuestions(url string, seed uint64, count int) (blocks, transactions []load.Request, err error) {
	t, err := b.tracedOf()
	if err != nil {
		return nil, nil, err
	}
	r := rand.New(rand.NewPCG(seed, 0))
	block := func(i int) uint32 {
		if i%2 == 0 {
			return t.full[r.IntN(len(t.full))]
		}
		return t.full[len(t.full)-1-r.IntN((len(t.full)+9)/10)]
	}
	for i := range count {
		blocks = append(blocks,
			load.Request{URL: url + "/v1/trace_api/get_block", Body: fmt.Appendf(nil, `{"block_num":%d}`, block(i))})
		of := t.ids[block(i)]
		transactions = append(transactions, load.Request{URL: url + "/v1/trace_api/get_transaction_trace",
			Body: fmt.Appendf(nil, `{"id":"%s"}`, of[r.IntN(len(of))])})
	}
	return blocks, transactions, nil
}

// Traced tells whether a question for traces has its answer.
func (b *blocks) Traced(status int, body []byte) error {
	if status/100 != 2 {
		return fmt.Errorf("refused with %d: %.300s", status, body)
	}
	return nil
}
