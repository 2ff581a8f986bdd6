package natsserver

import (
	"fmt"
	"net"
	"strings"
	"time"

	"tarn/procusage"
)

// defaultRoom is what [Options.Room] is unless it says something else.
const defaultRoom = 64 << 20

// retryTime is the time between two looks whether there is room again.
const retryTime = time.Second

// tend has the server go on after its disk was full. A stream of NATS that could not write once takes nothing any more,
// or the server keeps no streams at all, until it is started again.
func (s *Server) tend() {
	for {
		select {
		case <-s.ended:
			return
		case why := <-s.failed:
			s.o.Log.Error("The fleet's NATS server cannot write: replicas get nothing new. Make room on the disk; "+
				"the server then continues by itself", "folder", s.o.Dir, "bytes", s.o.Room, "error", why)
			if !s.restart() {
				return
			}
			s.o.Log.Info("The fleet's NATS server goes on", "folder", s.o.Dir)
		}
	}
}

// restart starts the server again as soon as there is room. It returns false if the server is to end before that.
func (s *Server) restart() bool {
	listen := s.o.Listen
	if listen != "" { // a port that the system chose stays: others know it
		if a, ok := s.now().Addr().(*net.TCPAddr); ok {
			listen = a.String()
		}
	}
	for stopped := false; ; {
		select {
		case <-s.ended:
			return false
		case <-time.After(retryTime):
		}
		if space, err := procusage.ReadSpace(s.o.Dir); err == nil && uint64(space.Free) < s.o.Room {
			continue
		}
		if !stopped {
			stop(s.now()) // not before there is room: until then, clients may read what there is
			stopped = true
		}
		select { // what was said up to now is of the server that has ended
		case <-s.failed:
		default:
		}
		n, err := s.start(listen)
		if err != nil {
			s.o.Log.Warn("The fleet's NATS server does not start; it is tried again", "folder", s.o.Dir, "error", err)
			continue
		}
		s.mu.Lock()
		s.server = n
		s.mu.Unlock()
		return true
	}
}

// natsLog is where a server of NATS says what is wrong.
type natsLog struct{ s *Server }

// unwritten are words of NATS' log that say that a stream, or all of them, take nothing more before the server is
// started again.
var unwritten = []string{"Critical write error", "no space left", "will be DISABLED", "disabling JetStream"}

// Errorf hears what the server cannot do. The server calls it with its locks held, so nothing waits here.
func (l natsLog) Errorf(format string, values ...any) {
	text := fmt.Sprintf(format, values...)
	for _, words := range unwritten {
		if strings.Contains(text, words) {
			select {
			case l.s.failed <- text:
			default: // it is known
			}
			return // once, and not for each message that is refused
		}
	}
	l.s.o.Log.Warn("The fleet's NATS server reports an error", "folder", l.s.o.Dir, "error", text)
}

// Fatalf is an error like others: the process is not NATS'.
func (l natsLog) Fatalf(format string, values ...any) { l.Errorf(format, values...) }

// Warnf and the others tell nothing that an operator of a node needs.
func (natsLog) Warnf(string, ...any)   {}
func (natsLog) Noticef(string, ...any) {}
func (natsLog) Debugf(string, ...any)  {}
func (natsLog) Tracef(string, ...any)  {}
