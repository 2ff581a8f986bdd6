package producer

import (
	"sync/atomic"
	"time"

	"tarn/antelope/state"
)

// answers are those to transactions of clients, held back until views show what the
// transactions did: who has an answer finds it in the state, in the block that is
// being made as in nodeos. Many are held for one publication. They are the writer's.
type answers struct {
	held  []func(failed error)
	since time.Time // the first was held
	shown bool      // views show something of the pending block

	coming atomic.Int64 // transactions of clients without an answer; any goroutine's
}

// An answer waits no longer than for so many others, or so long; if the writer has
// nothing to do, only for those that are on their way, and much less: clients that
// wait send nothing, and processors idle.
const (
	maxAnswers  = 64
	maxAnswerIn = 2 * time.Millisecond
	maxIdle     = 200 * time.Microsecond
)

// shows tells whether a transaction stays in the pending block, so that readers are
// to see it.
func (p *Producer) shows() bool { return p.producing || p.chain.Speculative() }

// hold keeps an answer back.
func (a *answers) hold(answer func(failed error)) {
	if len(a.held) == 0 {
		a.since = time.Now()
	}
	a.held = append(a.held, answer)
}

// due tells whether the answers have waited enough although more work waits.
func (a *answers) due() bool {
	return len(a.held) >= maxAnswers || len(a.held) > 0 && time.Since(a.since) >= maxAnswerIn
}

// patience is how long an idle writer waits for more to show.
func (a *answers) patience() time.Duration {
	if len(a.held) == 0 || int64(len(a.held)) >= a.coming.Load() {
		return 0
	}
	return maxIdle - time.Since(a.since)
}

// release gives the answers: the error that has ended the node, if one has.
func (a *answers) release(failed error) {
	for i, answer := range a.held {
		a.held[i] = nil
		answer(failed)
	}
	a.held = a.held[:0]
}

// show publishes the pending block and gives the answers, if any are held.
func (p *Producer) show() {
	if len(p.answers.held) == 0 {
		return
	}
	if err := p.chain.PublishPending(); err != nil {
		p.fatal = err
	}
	p.answers.shown = true
	p.answers.release(p.fatal)
}

// headView shows the head's state, and nothing of a pending block: that is given up
// if views show it (Leap does so whatever they show). The writer calls it.
func (p *Producer) headView() (*state.View, error) {
	if p.answers.shown {
		if err := p.abort(); err != nil {
			return nil, err
		}
		defer p.schedule()
		if err := p.chain.Publish(); err != nil {
			p.fatal = err
			return nil, err
		}
		p.answers.shown = false
	}
	return p.chain.View()
}
