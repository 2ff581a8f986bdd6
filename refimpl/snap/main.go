// Command snap lets go-opera's protocol of states judge messages and answers. It reads lines of
// words from its input, and answers each with one line:
//
//	message CODE HEX
//	        a message as it travels. Answer: the SHA-256 of its encoding made anew, and of the
//	        accounts in it as the trie has them.
//
// What go-opera refuses is answered with "refused REASON", what it panics at with
// "panic REASON".
package main

import (
	"fmt"

	"stdiorpc"
)

func main() {
	stdiorpc.Serve(stdiorpc.Each(ask))
}

func ask(kind string, words []string) (string, error) {
	switch kind {
	case "message":
		return message(words[0], stdiorpc.Bytes(words[1]))
	}
	return "", fmt.Errorf("unknown word %q", kind)
}
