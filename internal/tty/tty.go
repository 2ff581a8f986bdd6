// Package tty tells terminals from other streams. It changes nothing about them.
package tty

import (
	"os"

	"golang.org/x/sys/unix"
)

// Is tells whether a stream is a file that is a terminal. Of other character devices, /dev/null
// among them, a mode of terminals cannot be read.
func Is(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	c, err := f.SyscallConn() // Fd would make a pipe's reads and writes block
	if err != nil {
		return false
	}
	failed := c.Control(func(fd uintptr) { _, err = unix.IoctlGetTermios(int(fd), unix.TCGETS) })
	return failed == nil && err == nil
}
