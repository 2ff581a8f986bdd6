package logging

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"regexp"
	"slices"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	maxDatagram   = 512  // bytes of a message that is sent in one piece, as nodeos has it
	chunkHeader   = 12   // bytes: magic, id of the message, number and count of its chunks
	maxChunks     = 128  // of one message, by the format
	maxShort      = 1024 // bytes of a message's text
	gelfQueue     = 4096 // messages that wait to be sent; more are dropped
	gelfUserField = `^_[\w.\-]*$`
)

// gelf is an appender that sends messages to a Graylog server, in datagrams (Leap:
// gelf_appender.cpp). What cannot be sent is lost.
type gelf struct {
	host   string
	fields []byte // the operator's own, as the end of an object: ,"_a":1
	conn   net.Conn
	queue  chan *event
	stop   chan struct{}
	ended  chan struct{}
	count  *atomic.Uint64
}

// event is a message on its way to a server.
type event struct {
	time                 time.Time
	level                int // of syslog
	text, logger, thread string
	callSite
}

// reservedFields are those that the appender fills itself.
var reservedFields = []string{"_id", "_timestamp_ns", "_log_id", "_line", "_file", "_method_name",
	"_thread_name", "_task_name"}

// parseGelf reads the arguments of an appender: where it sends to, who it says it is,
// and fields for every message.
func parseGelf(args json.RawMessage) (g *gelf, endpoint string, err error) {
	var all map[string]json.RawMessage
	if len(args) > 0 {
		if err := json.Unmarshal(args, &all); err != nil {
			return nil, "", err
		}
	}
	g = new(gelf)
	for name, to := range map[string]*string{"endpoint": &endpoint, "host": &g.host} {
		if raw, ok := all[name]; ok {
			if err := json.Unmarshal(raw, to); err != nil {
				return nil, "", fmt.Errorf("%s: %w", name, err)
			}
			delete(all, name)
		}
	}
	valid := regexp.MustCompile(gelfUserField)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if slices.Contains(reservedFields, name) {
			return nil, "", fmt.Errorf("Field name '%s' is reserved", name)
		}
		if !valid.MatchString(name) {
			return nil, "", fmt.Errorf(
				"Field name '%s' must begin with an underscore and contain only letters, numbers, underscores, "+
					"dashes, and dots.", name)
		}
		g.fields = strconv.AppendQuote(append(g.fields, ','), name)
		g.fields = append(append(g.fields, ':'), all[name]...)
	}
	return g, endpoint, nil
}

// start connects and begins to send.
func (g *gelf) start(endpoint string, count *atomic.Uint64) (err error) {
	if g.conn, err = net.Dial("udp", endpoint); err != nil {
		return err
	}
	g.queue, g.stop, g.ended, g.count = make(chan *event, gelfQueue), make(chan struct{}), make(chan struct{}), count
	go g.run()
	return nil
}

// log takes a message. It does not wait.
func (g *gelf) log(e *event) {
	select {
	case g.queue <- e:
	default:
	}
}

// close sends what waits, and ends.
func (g *gelf) close() {
	close(g.stop)
	<-g.ended
}

func (g *gelf) run() {
	defer close(g.ended)
	defer g.conn.Close() // nothing can be done about it
	for {
		select {
		case e := <-g.queue:
			g.send(g.encode(e))
			continue
		default:
		}
		select {
		case e := <-g.queue:
			g.send(g.encode(e))
		case <-g.stop:
			if len(g.queue) == 0 {
				return
			}
		}
	}
}

// encode makes the object of a message.
func (g *gelf) encode(e *event) []byte {
	us := e.time.UnixMicro()
	text := e.text
	if len(text) > maxShort {
		text = text[:maxShort] + "..."
	}
	b := append([]byte(nil), `{"version":"1.1"`...)
	b = appendField(b, "host", g.host)
	b = appendField(b, "short_message", text)
	b = fmt.Appendf(b, `,"timestamp":%d.%06d,"_timestamp_ns":%d,"_log_id":"%d","level":%d`,
		us/1_000_000, us%1_000_000, us, g.count.Add(1), e.level)
	b = appendField(b, "context", e.logger)
	b = fmt.Appendf(b, `,"_line":%d`, e.line)
	b = appendField(b, "_file", e.file)
	b = appendField(b, "_method_name", e.function)
	b = appendField(b, "_thread_name", e.thread)
	return append(append(b, g.fields...), '}')
}

func appendField(b []byte, name, value string) []byte {
	text, _ := json.Marshal(value) //nolint:errcheck // a string has a form
	return append(append(append(append(b, `,"`...), name...), `":`...), text...)
}

// send compresses a message and sends it, in chunks if it is too long for one
// datagram.
func (g *gelf) send(object []byte) {
	var packed bytes.Buffer
	z := zlib.NewWriter(&packed)
	z.Write(object) //nolint:errcheck // it is in memory
	z.Close()       //nolint:errcheck // it is in memory
	data := packed.Bytes()
	if len(data) <= maxDatagram {
		g.conn.Write(data) //nolint:errcheck // what cannot be sent is lost
		return
	}
	const body = maxDatagram - chunkHeader
	count := (len(data) + body - 1) / body
	if count > maxChunks {
		return
	}
	head := make([]byte, chunkHeader, maxDatagram)
	head[0], head[1], head[11] = 0x1e, 0x0f, byte(count)
	for i := range 8 {
		head[2+i] = byte(rand.Uint32())
	}
	for i := range count {
		head[10] = byte(i)
		//nolint:errcheck // what cannot be sent is lost
		g.conn.Write(append(head, data[i*body:min(len(data), (i+1)*body)]...))
	}
}
