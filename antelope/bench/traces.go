package bench

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"tarn/antelope/blocklog"
	"tarn/antelope/oracle"
	"tarn/internal/figures"
)

// tracedRate is the transfers per second of the chain of section traces, so that a block
// has as many transactions as one of a busy network.
const tracedRate = 400

// tracedBodies is how many different requests of each call there are.
const tracedBodies = 1024

func (b *bench) traces() (*Section, error) {
	c, err := b.record(oracle.Transfers(b.config.Traced, 1, tracedRate))
	if err != nil {
		return nil, err
	}
	questions, err := b.traceQuestions(c)
	if err != nil {
		return nil, err
	}
	options, _, err := recorders(recordsTrace)
	if err != nil {
		return nil, err
	}
	s := &Section{}
	for round, subject := range b.turns() {
		b.logf("traces, round %d: %s", round+1, subject)
		dir := b.folder("node")
		if err := c.copyLog(dir); err != nil {
			return nil, err
		}
		err := b.with(plan{subject: subject, dir: dir, extra: options}, func(n *node) error {
			return b.askTraces(n, c, questions, s)
		})
		if err != nil {
			return nil, err
		}
	}
	s.readTable(b, questions, fmt.Sprintf("Over %d kept-alive connections, of a chain that stands still: %d blocks, %s transactions, %d of them a second. "+
		"%d requests of each call in turn, for blocks with transactions, and for transactions: half of them from anywhere in the chain, half from its last tenth.",
		readConnections, c.last, figures.Count(float64(c.sums[c.last])), tracedRate, tracedBodies))
	return s, nil
}

// warming is how many requests of a call are asked before it is measured.
const warming = 64

// askTraces measures each question.
func (b *bench) askTraces(n *node, c *chainFolder, questions []question, s *Section) error {
	if err := n.AwaitHead(b.ctx, c.last, false); err != nil {
		return err
	}
	if _, _, err := b.settled(n); err != nil {
		return err
	}
	for _, q := range questions {
		texts := make(chan []byte, warming)
		for _, text := range q.requests()[:warming] {
			texts <- text
		}
		close(texts)
		if _, err := over(n.URL(), readConnections, func() []byte { return <-texts }); err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		r, err := b.readOnce(n, q)
		if err != nil {
			return fmt.Errorf("%s: %w", q.name, err)
		}
		s.Reads = append(s.Reads, r)
	}
	return nil
}

// traceQuestions chooses blocks and transactions of a chain.
func (b *bench) traceQuestions(c *chainFolder) (_ []question, err error) {
	log, err := blocklog.Open(blocklog.Options{Dir: c.dir})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	var full []uint32 // blocks with transactions
	ids := map[uint32][]string{}
	for num := uint32(2); num <= c.last; num++ {
		x, err := log.Read(num)
		if err != nil {
			return nil, err
		}
		for i := range x.Transactions {
			id := x.Transactions[i].ID
			if packed := x.Transactions[i].Packed; packed != nil {
				trx, _, err := packed.Unpack()
				if err != nil {
					return nil, fmt.Errorf("block %d: %w", num, err)
				}
				id = trx.ID()
			}
			ids[num] = append(ids[num], id.String())
		}
		if len(ids[num]) > 0 {
			full = append(full, num)
		}
	}
	if len(full) == 0 {
		return nil, errors.New("the chain has no transactions")
	}
	r := rand.New(rand.NewPCG(b.config.Seed, 0))
	block := func(i int) uint32 {
		if i%2 == 0 {
			return full[r.IntN(len(full))]
		}
		return full[len(full)-1-r.IntN((len(full)+9)/10)]
	}
	blocks := question{name: "get_block", path: "/v1/trace_api/get_block", asked: 3}
	transactions := question{name: "get_transaction_trace", path: "/v1/trace_api/get_transaction_trace", asked: 3}
	for i := range tracedBodies {
		blocks.bodies = append(blocks.bodies, fmt.Sprintf(`{"block_num":%d}`, block(i)))
		of := ids[block(i)]
		transactions.bodies = append(transactions.bodies, fmt.Sprintf(`{"id":"%s"}`, of[r.IntN(len(of))]))
	}
	return []question{blocks, transactions}, nil
}
