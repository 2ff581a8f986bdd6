package node

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/types"
)

// rounds are two producers' slots in turn, from one time on.
type rounds struct {
	schedule types.ProducerSchedule
	head     types.BlockTimestamp
	ended    bool
	log      bytes.Buffer
	killer
}

func newRounds() *rounds {
	r := &rounds{head: 1200}
	for _, name := range []string{"alice", "bob"} {
		r.schedule.Producers = append(r.schedule.Producers, types.ProducerAuthority{Producer: types.N(name)})
	}
	r.killer = killer{log: slog.New(slog.NewTextHandler(&r.log, nil)),
		head: func() types.BlockTimestamp { return r.head }, end: func() { r.ended = true }}
	return r
}

// block is one at a time that becomes the head, or is irreversible some time later.
func (r *rounds) block(at types.BlockTimestamp, irreversible bool) {
	h := &consensus.HeaderState{}
	h.Header.Timestamp, h.ActiveSchedule = at, &r.schedule
	r.killer.block(&consensus.BlockState{HeaderState: h}, irreversible)
}

// run makes blocks until the node ends; missing tells which slots have none. It
// returns the last block's slot in the cycle of both.
func (r *rounds) run(irreversible bool, missing func(slot uint32) bool) uint32 {
	for i := 0; i < 100 && !r.ended; i++ {
		r.head++
		if missing != nil && missing(uint32(r.head)%24) {
			continue
		}
		r.block(r.head-3, true)
		if !r.ended {
			r.block(r.head, false)
		}
	}
	return uint32(r.head) % 24
}

func TestANodeIsKilledInAProducersRound(t *testing.T) {
	for _, c := range []struct {
		name    string
		slot    uint32
		lib     bool
		at      types.BlockTimestamp // the head when it is asked
		missing func(uint32) bool
		want    uint32
	}{
		{"alice", 5, false, 1200, nil, 4},       // the next block would be the one
		{"alice", 0, false, 1200 + 12, nil, 23}, // before her first
		{"bob", 0, false, 1200, nil, 11},
		{"bob", 11, true, 1200, nil, 22},
		{"bob", 5, false, 1200 + 14, nil, 16}, // the round that is under way does not count
		{"bob", 5, false, 1200, func(s uint32) bool { return s >= 15 && s < 20 }, 20},
		{"bob", 12, false, 1200, nil, 23}, // no slot has that number: with the end of the round
	} {
		r := newRounds()
		r.head = c.at
		r.kill(types.N(c.name), c.slot, c.lib)
		if got := r.run(c.lib, c.missing); !r.ended || got != c.want {
			t.Errorf("%s %d: ended %v in slot %d, want %d\n%s", c.name, c.slot, r.ended, got, c.want, r.log.String())
		}
		if text := r.log.String(); !strings.Contains(text, "shutting down") ||
			!strings.Contains(text, "for producer: "+c.name) {
			t.Errorf("%s", text)
		}
	}
}

func TestANodeThatNobodyKillsLives(t *testing.T) {
	r := newRounds()
	r.run(false, nil)
	r.kill(0, 0, false)
	r.run(false, nil)
	r.kill(types.N("carol"), 0, false)
	r.run(false, nil)
	if r.ended {
		t.Errorf("%s", r.log.String())
	}
}
