package producer

import (
	"context"
	"testing"
	"time"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/finality"
	"tarn/antelope/types"
)

// headOf is a head whose finalizers are called so.
func headOf(names ...string) *consensus.HeaderState {
	p := &types.FinalizerPolicy{}
	for _, n := range names {
		p.Finalizers = append(p.Finalizers, types.Finalizer{Description: n})
	}
	h := types.BlockHeader{ScheduleVersion: types.ProperSchedule}
	return &consensus.HeaderState{Finality: &finality.State{Header: h, Finalizers: p}}
}

// What is heard, second by second, and whose votes are missing then.
func TestMissingVotesAreNoticed(t *testing.T) {
	const (
		own, others = "prod", "other"
		both        = own + others
	)
	type second struct{ vote, block, silent string }
	for name, x := range map[string]struct {
		finalizers []string
		heard      []second
	}{
		"all vote":           {[]string{own, others}, []second{{both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}}},
		"others stop":        {[]string{own, others}, []second{{both, "b", ""}, {own, "b", ""}, {own, "b", ""}, {own, "b", ""}, {own, "b", ""}, {own, "b", others}, {both, "b", ""}}},
		"the own one stops":  {[]string{own, others}, []second{{both, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", own}}},
		"nobody votes":       {[]string{own, others}, []second{{"", "b", ""}, {"", "b", ""}, {"", "b", ""}, {"", "b", both}, {"", "b", both}}},
		"no blocks, no harm": {[]string{own, others}, []second{{both, "b", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}}},
		"only others":        {[]string{others}, []second{{others, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", ""}, {others, "b", ""}}},
		"not called so":      {[]string{"a name of thirteen and more"}, []second{{"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}}},
		"no finalizers yet":  {nil, []second{{"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}}},
	} {
		w := &voteWatch{opt: &Options{VotePause: 3 * time.Second, Producers: []types.Name{types.N(own)}}}
		now := types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro())).TimePoint().Time()
		for i, s := range x.heard {
			if s.block != "" {
				w.accepted(headOf(x.finalizers...), types.NewBlockTimestamp(types.TimePoint(now.UnixMicro())), now)
			}
			for _, f := range []string{own, others} {
				if s.vote == f || s.vote == both {
					w.voted(&types.Finalizer{Description: f}, now.Add(10*time.Millisecond))
				}
			}
			if s.vote == "?" {
				w.voted(&types.Finalizer{Description: "a name of thirteen and more"}, now)
			}
			now = now.Add(time.Second)
			is := ""
			isOwn, isOthers := w.silent(now.Add(-time.Millisecond))
			if isOwn {
				is += own
			}
			if isOthers {
				is += others
			}
			if is != s.silent {
				t.Errorf("%s: after %d s %q is silent, and not %q", name, i+1, is, s.silent)
			}
		}
	}
}

// Who resumes waits anew, and a node without producers, or that was told so, for nobody.
func TestWhoDoesNotWaitForVotes(t *testing.T) {
	now := time.Now()
	silent := func(o *Options) *voteWatch {
		w := &voteWatch{opt: o}
		w.accepted(headOf("other"), types.NewBlockTimestamp(types.TimePoint(now.UnixMicro())), now)
		return w
	}
	later := now.Add(time.Minute)
	w := silent(&Options{VotePause: time.Second, Producers: []types.Name{types.N("prod")}})
	if _, others := w.silent(later); !others {
		t.Error("nobody is missing")
	}
	w.forget()
	if _, others := w.silent(later); others {
		t.Error("votes are missing right after a resume")
	}
	for _, o := range []Options{{VotePause: time.Second}, {Producers: []types.Name{types.N("prod")}}} {
		if own, others := silent(&o).silent(later); own || others {
			t.Errorf("%+v waits for votes", o)
		}
	}
}

// A node stands still at a block as long as the operator wants, and goes on with what has come.
func TestANodePausesAtABlock(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		var links []*link
		nodes := threeProducers(t, ctx, &links)
		n := nodes[0]
		time.Sleep(30 * time.Second)
		at := n.Head().Num + 7
		if err := n.Operator.PauseAtBlock(ctx, at); err != nil {
			t.Fatal(err)
		}
		time.Sleep(30 * time.Second)
		if is := n.Head().Num; is != at {
			t.Errorf("it stands at block %d, and not at %d", is, at)
		}
		if err := n.Operator.PauseAtBlock(ctx, at); !exception.Is(err, exception.InvalidPauseAtBlock) {
			t.Errorf("a pause at its head: %v", err)
		}
		if err := n.Operator.Resume(ctx); err != nil {
			t.Fatal(err)
		}
		time.Sleep(60 * time.Second)
		if is := n.Head().Num; is < at+60 {
			t.Errorf("it stands at block %d a minute later", is)
		}
	})
}
