package ship_test

import (
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"tarn/antelope/abi"
	"tarn/antelope/ship"
	"tarn/internal/recordedcalls"
)

// What a client and the state history say stands in testdata/clients.txt, each message as its
// name in the protocol's ABI, which the server sends first, and its members as JSON. A comment
// begins another connection. What is answered may be ended with "end", when the server closes
// the connection.
func TestClientsConverseAsTheFileSays(t *testing.T) {
	n := start(t, ship.Options{}, ship.ServerOptions{Limits: ship.DefaultLimits(), Address: "127.0.0.1:0"})
	n.produce(4)
	n.sync() // from then on it tells of all of them
	n.converse("testdata/clients.txt")
}

// So it is in testdata/spring.txt with what only Spring knows, of a chain that has gone over to
// Savanna's rules: finality data is shown as its members.
func TestClientsConverseWithSpringAsTheFileSays(t *testing.T) {
	p := finalised(t, 1, 1, 0)
	for p.Chain(0).Head().Finality == nil {
		if err := p.Run(1); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Run(3); err != nil {
		t.Fatal(err)
	}
	n := serve(t, begun(t, volatile(t), &p.Genesis),
		ship.Options{Dir: t.TempDir(), Finality: true, Spring: true}, listening())
	for _, b := range p.Blocks {
		n.push(b)
	}
	n.sync()
	n.converse("testdata/spring.txt")
}

// converse says what a file has, and compares the answers.
func (n *node) converse(path string) {
	t := n.t
	t.Helper()
	list, err := recordedcalls.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	var c *speaker
	for i, x := range list {
		if x.Comment != "" || i == 0 {
			c = n.meet()
		}
		if x.Ask != "" {
			c.say(x.Ask)
		}
		for _, want := range x.Answers {
			if got := c.heard(); !recordedcalls.Matches(want, got) {
				t.Errorf("%s:%d: %s\nheard %s\nwant  %s", path, x.Line, x.Ask, got, want)
			}
		}
	}
}

// speaker is a client that knows of the protocol what the server says of it.
type speaker struct {
	t   *testing.T
	c   *websocket.Conn
	abi *abi.Codec
}

func (n *node) meet() *speaker {
	n.t.Helper()
	c, _, err := websocket.DefaultDialer.Dial("ws://"+n.server.Addresses()[0].String(), nil)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { c.Close() })
	_, text, err := c.ReadMessage()
	if err != nil {
		n.t.Fatal(err)
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		n.t.Fatal(err)
	}
	delete(members, "tables") // whose names are longer than those of contracts
	if text, err = json.Marshal(members); err != nil {
		n.t.Fatal(err)
	}
	d, err := abi.Parse(string(text))
	if err != nil {
		n.t.Fatal(err)
	}
	codec, err := abi.New(d, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	return &speaker{n.t, c, codec}
}

func (s *speaker) say(text string) {
	s.t.Helper()
	name, members, _ := strings.Cut(text, " ")
	b, err := s.abi.EncodeJSON(nil, "request", `["`+name+`",`+members+`]`, nil)
	if err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	if err := s.c.WriteMessage(websocket.BinaryMessage, b); err != nil {
		s.t.Fatal(err)
	}
}

// heard is the next answer.
func (s *speaker) heard() string {
	s.t.Helper()
	s.c.SetReadDeadline(time.Now().Add(time.Minute)) //nolint:errcheck // reading says it
	_, b, err := s.c.ReadMessage()
	if websocket.IsCloseError(err, websocket.CloseAbnormalClosure, websocket.CloseNormalClosure) {
		return "end"
	}
	if err != nil {
		return err.Error()
	}
	text, err := s.abi.Decode(nil, "result", b, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	var answer [2]json.RawMessage
	if err := json.Unmarshal(text, &answer); err != nil {
		s.t.Fatalf("%s: %v", text, err)
	}
	return strings.Trim(string(answer[0]), `"`) + " " + finalityBytes.ReplaceAllStringFunc(string(answer[1]), s.members)
}

var finalityBytes = regexp.MustCompile(`"finality_data":"[0-9a-f]+"`)

// members shows finality data, which answers have as bytes, as its members.
func (s *speaker) members(text string) string {
	s.t.Helper()
	name, digits, _ := strings.Cut(text, ":")
	b, err := hex.DecodeString(strings.Trim(digits, `"`))
	if err == nil {
		b, err = s.abi.DecodeAll(nil, "finality_data", b, nil)
	}
	if err != nil {
		s.t.Fatal(err)
	}
	return name + ":" + string(b)
}
