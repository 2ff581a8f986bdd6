package logging

import (
	"bytes"
	"compress/zlib"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// server is a Graylog server that keeps what it gets.
type server struct {
	t    *testing.T
	conn net.PacketConn
}

func newServer(t *testing.T) *server {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &server{t, conn}
}

// receive returns the next datagram.
func (s *server) receive() []byte {
	s.t.Helper()
	if err := s.conn.SetReadDeadline(time.Now().Add(30 * time.Second)); err != nil {
		s.t.Fatal(err)
	}
	b := make([]byte, 1<<16)
	n, _, err := s.conn.ReadFrom(b)
	if err != nil {
		s.t.Fatal(err)
	}
	return b[:n]
}

// message returns the next message, put together and unpacked.
func (s *server) message() map[string]any {
	s.t.Helper()
	data := s.receive()
	if data[0] == 0x1e && data[1] == 0x0f {
		id, count := string(data[2:10]), int(data[11])
		chunks := map[byte][]byte{data[10]: data[12:]}
		for len(chunks) < count {
			next := s.receive()
			if string(next[2:10]) != id || int(next[11]) != count || len(next) > 512 {
				s.t.Fatalf("a chunk of another message: %x", next[:12])
			}
			chunks[next[10]] = next[12:]
		}
		data = nil
		for i := range count {
			data = append(data, chunks[byte(i)]...)
		}
	}
	z, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		s.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(text, &m); err != nil {
		s.t.Fatalf("%v: %s", err, text)
	}
	return m
}

func (s *server) config(more string) []byte {
	return fmt.Appendf(
		nil, `{"appenders": [{"name": "net", "type": "gelf", "args": {"endpoint": "%s", "host": "a \"host\""%s}}],
		"loggers": [{"name": "default", "level": "debug", "appenders": ["net"]}]}`, s.conn.LocalAddr(), more)
}

func configure(t *testing.T, l *Logs, text []byte) {
	t.Helper()
	if notices, err := l.Configure(text); err != nil || len(notices) != 0 {
		t.Fatal(notices, err)
	}
}

func TestMessagesReachAGraylogServer(t *testing.T) {
	s := newServer(t)
	for _, objects := range []bool{false, true} {
		var console bytes.Buffer
		l := New(Options{Err: &console, Thread: "nodeos", JSON: objects})
		configure(t, l, s.config(`, "_net": "jungle", "_shard.a-b": 7`))
		log := l.Logger("producer_plugin").With("peer", "x")
		log.Warn("slow \u2028 \xff", "ms", 15)
		m := s.message()
		if m["version"] != "1.1" || m["host"] != `a "host"` ||
			m["short_message"] != "slow \u2028 \ufffd peer=x ms=15" || m["level"] != 4.0 ||
			m["context"] != "producer_plugin" ||
			m["_file"] != "gelf_test.go" || m["_line"].(float64) < 50 ||
			m["_method_name"] != "TestMessagesReachAGraylogServer" || m["_thread_name"] != "nodeos" ||
			m["_net"] != "jungle" || m["_shard.a-b"] != 7.0 || m["_log_id"] != "1" {
			t.Errorf("%v", m)
		}
		if at := m["timestamp"].(float64); time.Since(time.Unix(int64(at), 0)) > time.Minute ||
			m["_timestamp_ns"].(float64) < at*1e6-1 {
			t.Errorf("%v", m)
		}
		for want, level := range map[float64]slog.Level{7: slog.LevelDebug, 6: slog.LevelInfo, 3: slog.LevelError} {
			log.Log(t.Context(), level, "x")
			if m := s.message(); m["level"] != want {
				t.Errorf("%v", m)
			}
		}
		l.Close()
		if console.Len() != 0 {
			t.Errorf("the console got %s", console.String())
		}
	}
}

func TestALongMessageIsSentInChunks(t *testing.T) {
	s := newServer(t)
	l := New(Options{Err: io.Discard, Thread: "nodeos"})
	configure(t, l, s.config(""))
	var text strings.Builder
	for i := range 400 {
		fmt.Fprintf(&text, "%x", uint32(i)*2654435761)
	}
	l.Logger("").Error(text.String())
	l.Close() // sends what waits
	if got := s.message()["short_message"]; got != text.String()[:1024]+"..." {
		t.Errorf("%v", got)
	}
}

func TestAServerIsForgottenWithItsConfiguration(t *testing.T) {
	first, second := newServer(t), newServer(t)
	var console bytes.Buffer
	l := New(Options{Err: &console, Thread: "nodeos"})
	configure(t, l, first.config(""))
	log := l.Logger("")
	for i := range 100 {
		log.Info("first", "i", i)
	}
	configure(t, l, second.config(""))
	log.Info("second")
	configure(t, l, nil)
	log.Info("third")
	for i := range 100 {
		if got := first.message()["short_message"]; got != fmt.Sprintf("first i=%d", i) {
			t.Fatal(got)
		}
	}
	if got := second.message()["short_message"]; got != "second" {
		t.Error(got)
	}
	if text := console.String(); strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "] third\n") {
		t.Errorf("%s", text)
	}
}

func TestAnAppenderThatCannotBeIsRefusedOrLeftOut(t *testing.T) {
	l := New(Options{Err: io.Discard, Out: io.Discard})
	one := func(kind, args string) []byte {
		return []byte(`{"appenders":[{"name":"n","type":"` + kind + `","args":` + args +
			`}],"loggers":[{"name":"default","level":"info","appenders":["n"]}]}`)
	}
	for _, c := range []struct{ kind, args, refused, notice string }{
		{"gelf", `{"host":"h"}`, "", "The logging destination is not specified"},
		{"gelf", `{"endpoint":"127.0.0.1","host":"h"}`, "", "error opening GELF socket to endpoint 127.0.0.1"},
		{"gelf", `{"endpoint":"127.0.0.1:1","host":"h","_log_id":1}`, "Field name '_log_id' is reserved", ""},
		{"gelf", `{"endpoint":"127.0.0.1:1","host":"h","net":1}`, "Field name 'net' must begin with an underscore", ""},
		{"gelf", `{"endpoint":"127.0.0.1:1","host":"h","_a b":1}`, "must begin with an underscore", ""},
		{"gelf", `{"endpoint":7}`, "endpoint", ""},
		{"gelf", `[]`, "cannot unmarshal", ""},
		{"console", `{"stream":"std_in"}`, "neither std_out nor std_error", ""},
		{"console", `7`, "cannot unmarshal", ""},
		{"dmlog", `{"file":"` + filepath.Join(t.TempDir(), "none", "x") + `"}`, "Failed to open deep mind log file", ""},
		{"dmlog", `{"file":7}`, "cannot unmarshal", ""},
	} {
		notices, err := l.Configure(one(c.kind, c.args))
		if c.refused == "" && err != nil || c.refused != "" && (err == nil ||
			!strings.Contains(err.Error(), c.refused) || !strings.Contains(err.Error(), "appender n")) ||
			!strings.Contains(strings.Join(notices, "\n"), c.notice) {
			t.Errorf("%s %s: %v %v", c.kind, c.args, notices, err)
		}
	}
}

func TestTheDeepMindLogGoesWhereTheConfigurationSays(t *testing.T) {
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "dm.log")
	l := New(Options{Out: &out, Err: io.Discard})
	w := l.DeepMind()
	say := func(line string) {
		if _, err := io.WriteString(w, line+"\n"); err != nil {
			t.Fatal(err)
		}
	}
	configure := func(level, args string) {
		configure(t, l, []byte(`{"appenders":[{"name":"dm","type":"dmlog","args":`+args+`},{"name":"e","type":"console","args":{}}],
			"loggers":[{"name":"deep-mind","level":"`+level+`","appenders":["dm"]},{"name":"default","level":"info","appenders":["e"]}]}`))
	}
	say("DMLOG 1")
	configure("debug", `{"file":"`+file+`"}`)
	say("DMLOG 2")
	configure("debug", `{}`)
	say("DMLOG 3")
	configure("debug", `{"file":"`+file+`"}`)
	say("DMLOG 4")
	configure("info", `{"file":"`+file+`"}`)
	say("DMLOG 5")
	configure("debug", `null`)
	say("DMLOG 6")
	l.Close()
	say("DMLOG 7")
	if got, err := os.ReadFile(file); err != nil || string(got) != "DMLOG 2\nDMLOG 4\n" {
		t.Errorf("%q, %v", got, err)
	}
	if got := out.String(); got != "DMLOG 1\nDMLOG 3\nDMLOG 6\nDMLOG 7\n" {
		t.Errorf("%q", got)
	}
}
