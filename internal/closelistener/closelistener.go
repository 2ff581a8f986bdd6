// Package closelistener ends listeners, so that their addresses are free at once. It accepts no connection.
package closelistener

import (
	"net"
	"syscall"
)

// Close closes a listener. A process that this one has just started has copies of its sockets until it is
// another program, and would keep the address of a TCP listener: the kernel is told before to listen no more. Whoever
// waits in Accept may get another error than net.ErrClosed. Any goroutine may call it, more than once.
func Close(l net.Listener) error {
	if of, ok := l.(*net.TCPListener); ok {
		if raw, err := of.SyscallConn(); err == nil {
			_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
		}
	}
	return l.Close()
}
