// Package sdnotify tells the service manager how the program is doing, by its
// datagram protocol (sd_notify). It knows no words but those that it is given.
package sdnotify

import (
	"fmt"
	"net"
	"os"
	"time"
)

// Manager is who is told. The zero value is nobody.
type Manager struct {
	// Socket is what the manager put into NOTIFY_SOCKET; a first @ is a socket
	// without a file.
	Socket string
}

// FromEnvironment is the one that started the process, if one did.
func FromEnvironment() Manager { return Manager{Socket: os.Getenv("NOTIFY_SOCKET")} }

// Ready says that the start is over.
func (m Manager) Ready() error { return m.send("READY=1") }

// Stopping says that the end has begun.
func (m Manager) Stopping() error { return m.send("STOPPING=1") }

// Status says what the program is doing, in one line.
func (m Manager) Status(text string) error { return m.send("STATUS=" + text) }

// Extend asks for so much more time to start or stop, counted from now.
func (m Manager) Extend(d time.Duration) error {
	return m.send(fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()))
}

func (m Manager) send(state string) error {
	if m.Socket == "" {
		return nil
	}
	c, err := net.DialUnix("unixgram", nil, &net.UnixAddr{Name: m.Socket, Net: "unixgram"})
	if err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	defer c.Close()
	if _, err := c.Write([]byte(state)); err != nil {
		return fmt.Errorf("tell the service manager: %w", err)
	}
	return nil
}
