package node

import (
	"bytes"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"tarn/antelope/consensus"
	"tarn/antelope/serial"
	"tarn/store/engine"
)

// What a node says follows its head, over forks and a restart.
func TestTheDeepMindLogLeadsToTheHead(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	var log bytes.Buffer
	o.DeepMind = &log
	n := mustStart(t, o)
	head, switches := n.Chain().Head().ID.String(), 0
	follow := func() {
		for _, line := range strings.Split(log.String(), "\n") {
			switch f := strings.Fields(line); {
			case len(f) < 4 || f[0] != "DMLOG":
			case f[1] == "SWITCH_FORK":
				if f[2] != head {
					t.Fatalf("a switch from %s at head %s", f[2], head)
				}
				switches++
			case f[1] == "ACCEPTED_BLOCK":
				raw, err := hex.DecodeString(f[3])
				if err != nil {
					t.Fatal(err)
				}
				var h consensus.HeaderState
				h.Read(serial.NewReader(raw))
				head = h.ID.String()
			}
		}
		log.Reset()
		if want := n.Chain().Head().ID.String(); head != want {
			t.Fatalf("the log leads to %s, the head is %s", head, want)
		}
	}
	if !strings.Contains(log.String(), "DMLOG DEEP_MIND_VERSION leap 13 0\nDMLOG ABIDUMP START 1 0\n") {
		t.Error("it does not begin with the version")
	}
	for i, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			t.Fatal(err)
		}
		if i%7 == 0 {
			follow()
		}
	}
	follow()
	if switches == 0 {
		t.Error("no switch of forks was said")
	}
	if err := n.Close(); err != nil {
		t.Fatal(err)
	}
	log.Reset()
	o.Genesis = nil
	n = mustStart(t, o)
	defer n.Close()
	if !strings.HasPrefix(log.String(), "DMLOG ") ||
		!strings.Contains(log.String(), "DMLOG DEEP_MIND_VERSION leap 13 0\n") {
		t.Errorf("a restart begins with %.100s", log.String())
	}
}

var errPipe = errors.New("the reader is gone")

// brokenPipe takes so many lines.
type brokenPipe struct{ lines int }

func (p *brokenPipe) Write(b []byte) (int, error) {
	if p.lines--; p.lines < 0 {
		return 0, errPipe
	}
	return len(b), nil
}

func TestANodeEndsWithItsDeepMindLog(t *testing.T) {
	c := theChain(t)
	o := options(t.TempDir(), engine.Options{})
	o.Genesis = &c.genesis
	o.DeepMind = &brokenPipe{lines: 100}
	n := mustStart(t, o)
	defer n.Close()
	for _, b := range c.blocks {
		if err := give(n.Chain(), b); err != nil {
			if !errors.Is(err, errPipe) {
				t.Errorf("%v", err)
			}
			return
		}
	}
	t.Error("the node went on")
}
