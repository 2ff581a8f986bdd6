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

// lineOf begins a line about a block.
func lineOf(what string, id types.Checksum256, b *types.SignedBlock) string {
	return fmt.Sprintf("%s %s... #%d @ %s signed by %s [trxs: %d, ",
		what, id.String()[8:24], types.BlockNum(id), b.Timestamp, b.Producer, len(b.Transactions))
}

// reportProduced says what was made. Scripts read this line.
func (p *Producer) reportProduced(b *consensus.BlockState, start time.Time) {
	r, lib := p.chain.Report(), p.chain.Fork().Root().BlockNum
	now := time.Now()
	total := r.Elapsed + now.Sub(start)
	format, final := "lib: %d%s, net: %d, cpu: %d, elapsed: %d, time: %d]", lib
	if p.chain.Spring() {
		format, final = "lib: %d%s, net: %d, cpu: %d us, elapsed: %d us, producing time: %d us]", b.LIB()
	}
	confirmed := ""
	if !b.IsProper() {
		confirmed = fmt.Sprintf(", confirmed: %d", b.Header.Confirmed)
	}
	p.log.main.Info(lineOf("Produced block", b.ID, b.Block) +
		fmt.Sprintf(format, final, confirmed, r.Net, r.CPU, r.Elapsed.Microseconds(), total.Microseconds()))
	p.clock.other(now)
	t := p.clock.report(now, b.BlockNum, b.Header.Producer)
	p.log.time(t)
	p.clock.reset(now)
	p.each(func(e *Events) {
		if e.Produced != nil {
			e.Produced(ProducedBlock{
				BlockTime: t, Unapplied: p.queue.len(), BilledAccounts: p.bills.len(),
				Transactions: len(b.Block.Transactions),
				CPU:          r.CPU, Net: r.Net, Elapsed: r.Elapsed, Time: total, Irreversible: lib, Head: b.BlockNum,
			})
		}
	})
}

// logApplied says on a chain of Spring that a block which came has become the head, of each that a switch of forks
// applies. Scripts read these lines.
func (p *Producer) logApplied(b *consensus.BlockState, now time.Time) {
	if !p.chain.Spring() || !worthALine(b.Block, b.BlockNum, now) {
		return
	}
	r, latency := p.chain.Report(), now.Sub(b.Header.Timestamp.TimePoint().Time())
	p.log.main.Info(lineOf("Received block", b.ID, b.Block) + fmt.Sprintf(
		"lib: %d, net: %d, cpu: %d us, elapsed: %d us, applying time: %d us, latency: %d ms]", b.LIB(), r.Net, r.CPU,
		r.Elapsed.Microseconds(), r.Total.Microseconds(), latency.Milliseconds()))
}

// logReceived says on a chain of Leap what came. Scripts read these lines.
func (p *Producer) logReceived(b *Block, now time.Time) {
	if p.chain.Spring() {
		return
	}
	head, r := p.chain.Head(), p.chain.Report()
	applied := p.opt.Irreversible || head.ID == b.ID
	latency := func(x *types.SignedBlock) int64 { return now.Sub(x.Timestamp.TimePoint().Time()).Milliseconds() }
	end := func(x *types.SignedBlock) string {
		return fmt.Sprintf("confirmed: %d, net: %d, cpu: %d, elapsed: %d, time: %d, latency: %d ms]",
			x.Confirmed, r.Net,
			r.CPU, r.Elapsed.Microseconds(), r.Total.Microseconds(), latency(x))
	}
	p.log.main.Info(lineOf("Received block", b.ID, b.Signed) +
		fmt.Sprintf("lib: %d, ", p.chain.Fork().Root().BlockNum) + end(b.Signed))
	if !applied && head.Block != nil {
		p.log.main.Info(lineOf("Block not applied to head", head.ID, head.Block) +
			fmt.Sprintf("dpos: %d, ", head.LIB()) + end(head.Block))
	}
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
