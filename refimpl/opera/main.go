// Command opera lets go-opera judge encodings, hashes and checks. It reads lines of words
// from its input, and answers each with one line:
//
//	event HEX
//	        an event as it travels. Answer: its id, what is signed, the hash of its header,
//	        the hash that its payload should have, and the SHA-256 of its encoding made
//	        anew ("-" if it cannot be encoded), of its block votes and of its epoch vote
//	        as they stand alone.
//	proofs|bvs|ev|block|epoch|pack|rules|heights HEX
//	        RLP of that. Answer: the SHA-256 of its encoding made anew, and the hashes
//	        that go with it.
//	json RULES DIFF
//	        RLP of rules, and JSON. Answer: the SHA-256 of the RLP of the changed rules.
//	state HEX
//	        RLP of the state of the epoch in which events are checked from here on.
//	past EPOCH BLOCK HEX
//	        an epoch of the past: the last block before it, the RLP of its profiles. With
//	        EPOCH 0: forgets all.
//	check EVENT PARENT...
//	        an event and its parents as they travel. Answer: what the basic, epoch,
//	        parents, gas power and heavy checks say, with "; " between.
//	checkbvs|checkev HEX
//	        RLP of votes that came alone. Answer: what the basic and heavy checks say.
//
// What go-opera refuses is answered with "refused REASON", what it panics at with
// "panic REASON".
package main

import (
	"runtime/debug"

	"stdiorpc"
)

func main() {
	debug.SetGCPercent(800)
	var n network
	stdiorpc.Serve(stdiorpc.Each(n.ask))
}
