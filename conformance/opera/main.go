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
	"bufio"
	"encoding/hex"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

func main() {
	debug.SetGCPercent(800)
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	var n network
	for {
		if in.Buffered() == 0 {
			out.Flush()
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		fmt.Fprintln(out, strings.ReplaceAll(answer(&n, strings.Fields(line)), "\n", " "))
	}
}

// answer returns what go-opera makes of a line.
func answer(n *network, words []string) (text string) {
	defer func() {
		if reason := recover(); reason != nil {
			text = fmt.Sprint("panic ", reason)
		}
	}()
	text, err := n.ask(words[0], words[1:])
	if err != nil {
		return "refused " + err.Error()
	}
	return text
}

// unhex returns the bytes that a word stands for; "-" stands for none.
func unhex(word string) []byte {
	if word == "-" {
		return nil
	}
	b, err := hex.DecodeString(word)
	if err != nil {
		panic("not hexadecimal: " + word)
	}
	return b
}
