package storetest

import (
	"fmt"
	"io"
)

// hold has the store open until its process is ended.
func hold(e Engine, j job, out io.Writer) error {
	s, err := e.Open(storeDir(j.Dir), Knobs{})
	if err != nil {
		return err
	}
	fmt.Fprintln(out, "opened")
	<-make(chan struct{})
	return s.Close()
}
