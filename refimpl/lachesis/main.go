// Command lachesis lets the originals (lachesis-base, and the vector index of go-opera
// above it) judge graphs of events. It reads graphs from its input and writes what they
// make of each line to its output:
//
//	graph EPOCH START ID:WEIGHT...
//	        begins an epoch of its own; validators with their weights. No answer.
//	event ID CREATOR SEQ FRAME CREATION MEDIAN PARENT...
//	        an event, with the frame and the median time that it claims. The events of
//	        a graph are counted from 0; parents are named by that count. Answer:
//	        "event ok", or "event" with the error that processing returned; before it a
//	        line "decided FRAME ATROPOS : CHEATER... : EVENT..." for each block, with
//	        the counts of the events in increasing order.
//	build ID CREATOR SEQ FRAME CREATION MEDIAN PARENT...
//	        Answer: "build FRAME MEDIAN SEEN...", what such an event would claim if it were
//	        an own one, and how much it would see of each validator: a sequence number, or
//	        "fork". It is not counted.
//	cause A B
//	        Answer: "cause true" or "cause false", of event A by event B.
//	roots FRAME
//	        Answer: "roots EVENT..." in increasing order.
//	watch ID CREATOR SEQ FRAME CREATION MEDIAN PARENT...
//	        an event that is indexed and not judged, in a graph of such events alone.
//	        Answer: "watch".
//	worth ID CREATOR SEQ FRAME CREATION MEDIAN PARENT...
//	        Answer: "worth NEWS PAST KNOWN": in what such an event of validator 1 would add
//	        to what a quorum has seen, in millionths; the weight of those who know more roots
//	        than that validator's last event; how many roots of the highest frame its parents
//	        know to be known by whom. It is not counted.
//	order COUNT SEED WEIGHT...
//	        Answer: "order INDEX...", the first of a random order by weight. Needs no graph.
//	load ID CREATOR SEQ FRAME CREATION MEDIAN PARENT...
//	        an event that is only kept for bench. No answer.
//	bench
//	        processes all events of the graph in an epoch with the caches of a node.
//	        Answer: "bench SECONDS DECIDED", with the count of decided frames.
//
// Once the originals give up on a graph, which ends a node, the answer to that line is
// "crit REASON", and there is none to the other lines of the graph.
package main

import (
	"fmt"
	"io"
	"runtime/debug"

	"stdiorpc"
)

func main() {
	debug.SetGCPercent(800)
	var g *graph
	stdiorpc.Serve(func(words []string, out io.Writer) {
		if words[0] == "graph" {
			g = newGraph(words[1:])
		} else if words[0] == "order" {
			fmt.Fprintln(out, order(words[1:]))
		} else if !g.ended {
			answer(g, words, out)
		}
	})
}

// answer writes what the originals make of a line. They panic where a node would end.
func answer(g *graph, words []string, out io.Writer) {
	defer func() {
		if reason := recover(); reason != nil {
			g.ended = true
			fmt.Fprintln(out, "crit", reason)
		}
	}()
	switch words[0] {
	case "event":
		fmt.Fprintln(out, g.event(words[1:]))
	case "build":
		fmt.Fprintln(out, g.build(words[1:]))
	case "watch":
		fmt.Fprintln(out, g.watch(words[1:]))
	case "worth":
		fmt.Fprintln(out, g.worth(words[1:]))
	case "load":
		g.events = append(g.events, g.parse(words[1:]))
	case "cause":
		a, b := g.events[number(words[1])], g.events[number(words[2])]
		fmt.Fprintln(out, "cause", g.index.ForklessCause(a.ID(), b.ID()))
	case "roots":
		fmt.Fprintln(out, "roots", g.roots(number(words[1])))
	case "bench":
		fmt.Fprintln(out, "bench", g.bench())
	default:
		panic("no such line: " + words[0])
	}
}
