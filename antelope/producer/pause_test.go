package producer

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"tarn/antelope/chain"
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
		"all vote": {[]string{own, others}, []second{{both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}, {both, "b", ""}}},
		"others stop": {[]string{own, others}, []second{{both, "b", ""}, {own, "b", ""}, {own, "b", ""},
			{own, "b", ""}, {own, "b", ""}, {own, "b", others}, {both, "b", ""}}},
		"the own one stops": {[]string{own, others}, []second{{both, "b", ""}, {others, "b", ""}, {others, "b", ""},
			{others, "b", ""}, {others, "b", ""}, {others, "b", own}}},
		"nobody votes": {[]string{own, others}, []second{{"", "b", ""}, {"", "b", ""}, {"", "b", ""}, {"", "b", both}, {"", "b", both}}},
		"no blocks, no harm": {[]string{own, others}, []second{{both, "b", ""}, {"", "", ""}, {"", "", ""},
			{"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}}},
		"only others": {[]string{others}, []second{{others, "b", ""}, {others, "b", ""}, {others, "b", ""},
			{others, "b", ""}, {others, "b", ""}, {others, "b", ""}}},
		"not called so": {[]string{"a name of thirteen and more"},
			[]second{{"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}, {"?", "b", ""}}},
		"no finalizers yet": {nil, []second{{"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}, {"", "", ""}}},
	} {
		w := &voteWatch{opt: &Options{VotePause: 3 * time.Second, Producers: []types.Name{types.N(own)}}}
		now := types.NewBlockTimestamp(types.TimePoint(time.Now().UnixMicro())).TimePoint().Time()
		for i, s := range x.heard {
			if s.block != "" {
				w.noteBlock(headOf(x.finalizers...), types.NewBlockTimestamp(types.TimePoint(now.UnixMicro())), now)
			}
			for _, f := range []string{own, others} {
				if s.vote == f || s.vote == both {
					w.noteVote(&types.Finalizer{Description: f}, now.Add(10*time.Millisecond))
				}
			}
			if s.vote == "?" {
				w.noteVote(&types.Finalizer{Description: "a name of thirteen and more"}, now)
			}
			now = now.Add(time.Second)
			is := ""
			isOwn, isOthers := w.silent(now.Add(-time.Millisecond))
			if isOwn.block != 0 {
				is += own
			}
			if isOthers.block != 0 {
				is += others
			}
			if is != s.silent {
				t.Errorf("%s: after %d s %q is silent, and not %q", name, i+1, is, s.silent)
			}
		}
	}
}

// The first proper block comes after a head that is not proper, and is waited for like any other.
func TestVotesForTheFirstProperBlockAreMissed(t *testing.T) {
	now := time.Now()
	head := headOf("other")
	head.Finality.Header.ScheduleVersion = 0
	head.Finality.Core = finality.GenesisCore(4, 9)
	w := &voteWatch{opt: &Options{VotePause: time.Second, Producers: []types.Name{types.N("prod")}}}
	for head.Irreversible = range uint32(5) { // block 4 is the genesis block
		w.noteBlock(head, types.NewBlockTimestamp(types.TimePoint(now.UnixMicro())), now)
		if _, others := w.silent(now.Add(time.Minute)); (others.block != 0) != (head.Irreversible == 4) {
			t.Errorf("block %d is irreversible: %+v is missed", head.Irreversible, others)
		}
	}
}

// The log says whose votes are missing, since when, and for which block, as scripts look for it.
func TestTheLogSaysWhoseVotesAreMissing(t *testing.T) {
	const second = 1_000_000
	a, b := missed{10 * second, 12 * second}, missed{0, 13.5 * second}
	for want, x := range map[string][2]missed{
		"": {},
		"no recent votes received from configured producer, block 2000-01-01T00:00:10.000, " +
			"last producer vote 1970-01-01T00:00:10.000, conflict block 1970-01-01T00:00:12.000": {a, {}},
		"no recent votes received from others, block 2000-01-01T00:00:10.000, " +
			"other votes 1970-01-01T00:00:00.000, conflict block 1970-01-01T00:00:13.500": {{}, b},
		"no recent votes, block 2000-01-01T00:00:10.000, last producer vote 1970-01-01T00:00:10.000, " +
			"conflict block 1970-01-01T00:00:12.000, other votes 1970-01-01T00:00:00.000, conflict block " +
			"1970-01-01T00:00:13.500": {a, b},
	} {
		format, args := silence(x[0], x[1], 20)
		if is := fmt.Sprintf(format, args...); is != want {
			t.Errorf("%q, want %q", is, want)
		}
	}
}

// Who resumes waits anew, and a node without producers, or that was told so, for nobody.
func TestWhoDoesNotWaitForVotes(t *testing.T) {
	now := time.Now()
	silent := func(o *Options) *voteWatch {
		w := &voteWatch{opt: o}
		w.noteBlock(headOf("other"), types.NewBlockTimestamp(types.TimePoint(now.UnixMicro())), now)
		return w
	}
	later := now.Add(time.Minute)
	w := silent(&Options{VotePause: time.Second, Producers: []types.Name{types.N("prod")}})
	if _, others := w.silent(later); others.block == 0 {
		t.Error("nobody is missing")
	}
	w.forget()
	if _, others := w.silent(later); others.block != 0 {
		t.Error("votes are missing right after a resume")
	}
	for _, o := range []Options{{VotePause: time.Second}, {Producers: []types.Name{types.N("prod")}}} {
		if own, others := silent(&o).silent(later); own.block != 0 || others.block != 0 {
			t.Errorf("%+v waits for votes", o)
		}
	}
}

// A node stands still at a block as long as the operator wants, and goes on with what has come; one in
// irreversible mode too, which has several blocks to apply at once.
func TestANodePausesAtABlock(t *testing.T) {
	for _, mode := range []chain.Options{{}, {IrreversibleMode: true}} {
		inBubble(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			var n *node
			nodes := threeProducersWatched(t, ctx, nil, func(nodes []*node) {
				n = nodes[0]
				if mode.IrreversibleMode {
					n = newNode(t, mode, nil)
					connect(ctx, nodes[0], n, 5*time.Millisecond)
					n.run()
				}
			})
			time.Sleep(30 * time.Second)
			at := n.Head().Num + 7
			if err := n.Operator.PauseAtBlock(ctx, at); err != nil {
				t.Fatal(err)
			}
			time.Sleep(30 * time.Second)
			if is := n.Head().Num; is != at {
				t.Errorf("it stands at block %d, and not at %d", is, at)
			}
			if line := fmt.Sprintf("Pausing at block #%d", at); !mode.IrreversibleMode &&
				!strings.Contains(n.lines(), line) {
				t.Errorf("the log does not have %q", line)
			}
			if err := n.Operator.PauseAtBlock(ctx, at); !exception.Is(err, exception.InvalidPauseAtBlock) {
				t.Errorf("a pause at its head: %v", err)
			}
			if is := nodes[1].Head().Num; is <= at {
				t.Errorf("others stand at block %d", is)
			}
			if err := n.Operator.Resume(ctx); err != nil {
				t.Fatal(err)
			}
			if is := n.Head().Num; mode.IrreversibleMode && is == at {
				t.Errorf("it still stands at block %d", is)
			}
			time.Sleep(60 * time.Second)
			if is := n.Head().Num; is < at+60 {
				t.Errorf("it stands at block %d a minute later", is)
			}
		})
	}
}
