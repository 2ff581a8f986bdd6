// Package stdiorpc is how the judges beside it are asked: lines of words come in, and answers go out.
//
// It owns the loop over the lines and what is said of errors and panics. It knows no original and
// needs no other module, so that each judge links it with an original of its own.
package stdiorpc

import (
	"bufio"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"
)

// Serve has each line of the standard input answered on the standard output, until the input
// ends. Answers are held back as long as there are more lines to read.
func Serve(answer func(words []string, out io.Writer)) {
	in := bufio.NewReaderSize(os.Stdin, 1<<20)
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	defer out.Flush()
	for {
		if in.Buffered() == 0 {
			out.Flush()
		}
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		answer(strings.Fields(line), out)
	}
}

// Each is an answer for Serve that is one line for each: what ask returns for the first word and
// the others, "refused REASON" for an error, "panic REASON" for a panic.
func Each(ask func(kind string, words []string) (string, error)) func(words []string, out io.Writer) {
	said := func(words []string) (text string) {
		defer func() {
			if reason := recover(); reason != nil {
				text = fmt.Sprint("panic ", reason)
			}
		}()
		text, err := ask(words[0], words[1:])
		if err != nil {
			return "refused " + err.Error()
		}
		return text
	}
	return func(words []string, out io.Writer) {
		fmt.Fprintln(out, strings.ReplaceAll(said(words), "\n", " "))
	}
}

// Bytes returns the bytes that a word stands for in hexadecimal; "-" stands for none.
func Bytes(word string) []byte {
	if word == "-" {
		return nil
	}
	b, err := hex.DecodeString(word)
	if err != nil {
		panic("not hexadecimal: " + word)
	}
	return b
}
