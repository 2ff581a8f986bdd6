package producer

import "tarn/antelope/state"

// shows tells whether a transaction stays in the pending block, so that readers are
// to see it.
func (p *Producer) shows() bool { return p.producing || p.chain.Speculative() }

// publish shows the pending block, before clients get answers to what is in it: in nodeos
// too who has an answer finds it in the state.
func (p *Producer) publish() error {
	p.shown = true
	return p.chain.PublishPending()
}

// showHead shows the head, and nothing of a pending block.
func (p *Producer) showHead() error {
	p.shown = false
	return p.chain.Publish()
}

// headView shows the head's state, and nothing of a pending block: that is given up
// if views show it (Leap does so whatever they show). The writer calls it.
func (p *Producer) headView() (*state.View, error) {
	if p.shown {
		if err := p.abort(); err != nil {
			return nil, err
		}
		defer p.schedule()
		if err := p.chain.Publish(); err != nil {
			p.writer.Fail(err)
			return nil, err
		}
		p.shown = false
	}
	return p.chain.View()
}
