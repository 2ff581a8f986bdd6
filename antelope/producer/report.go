package producer

import (
	"fmt"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/types"
)

func recoverKey(s types.Signature, digest types.Checksum256) (types.PublicKey, error) {
	return crypto.Recover(s, digest, true)
}

// reportProduced says what was made. Scripts read this line.
func (p *Producer) reportProduced(b *consensus.BlockState, start time.Time) {
	r, lib := p.chain.Report(), p.chain.Fork().Root().BlockNum
	now := time.Now()
	total := r.Elapsed + now.Sub(start)
	p.log.main.Info(fmt.Sprintf("Produced block %s... #%d @ %s signed by %s "+
		"[trxs: %d, lib: %d, confirmed: %d, net: %d, cpu: %d, elapsed: %d, time: %d]",
		b.ID.String()[8:24], b.BlockNum, b.Header.Timestamp, b.Header.Producer,
		len(b.Block.Transactions), lib, b.Header.Confirmed, r.Net, r.CPU, r.Elapsed.Microseconds(), total.Microseconds()))
	p.clock.other(now)
	t := p.clock.report(now, b.BlockNum, b.Header.Producer)
	p.log.time(t)
	p.clock.reset(now)
	p.each(func(e *Events) {
		if e.Produced != nil {
			e.Produced(ProducedBlock{
				BlockTime: t, Unapplied: p.queue.len(), BilledAccounts: p.bills.len(), Transactions: len(b.Block.Transactions),
				CPU: r.CPU, Net: r.Net, Elapsed: r.Elapsed, Time: total, Irreversible: lib, Head: b.BlockNum,
			})
		}
	})
}

// place says for the trace lines where a transaction was executed.
func (p *Producer) place() string {
	if !p.producing {
		return speculating
	}
	pending, _ := p.chain.Pending()
	return fmt.Sprintf("Block %d for producer %s", p.chain.Head().BlockNum+1, pending.Producer)
}

// speculating is where transactions are executed that are in no block.
const speculating = "Speculative execution"

// logResult writes the trace lines of nodeos, which tools read.
func (p *Producer) logResult(x *execute.Candidate, trace *types.TransactionTrace, err error) {
	p.log.trace(p.place, x, trace, err)
}
