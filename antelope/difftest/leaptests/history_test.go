package main

import (
	"bytes"
	"encoding/json"
	"net"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"tarn/antelope/ship/wire"
	"tarn/antelope/types"
)

// historyOf serves blocks to who asks for any, and a status to who asks for that, at an
// address of the network.
func historyOf(t *testing.T, network, address string, blocks []wire.BlockHead) string {
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	var up websocket.Upgrader
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		send := func(kind int, b []byte) {
			if err := c.WriteMessage(kind, b); err != nil {
				t.Log(err) // it may have had enough
			}
		}
		send(websocket.TextMessage, wire.Spring.ABI())
		for n := uint32(5); ; n++ {
			_, b, err := c.ReadMessage()
			if err != nil {
				return
			}
			q, err := wire.Spring.DecodeRequest(b)
			if err != nil {
				t.Error(err)
			}
			if q.Status != nil {
				s := wire.Status{V1: q.Status.V1, Head: wire.Position{Num: n}}
				send(websocket.BinaryMessage, s.Append(nil))
			}
			if q.Blocks == nil {
				continue
			}
			for _, x := range blocks {
				x.Head.Num, x.V1 = n, q.Blocks.V1
				b := x.Append(nil)
				parts := []bool{q.Blocks.Block, q.Blocks.Traces, q.Blocks.Deltas}
				if x.V1 {
					parts = append(parts, q.Blocks.Finality)
				}
				for _, asked := range parts {
					if b = append(b, 0); asked {
						b = append(wire.AppendLength(b[:len(b)-1], 2), 0xab, 0xcd)
					}
				}
				send(websocket.BinaryMessage, b)
			}
		}
	}))
	_ = s.Listener.Close()
	s.Listener = l
	s.Start()
	t.Cleanup(s.Close)
	return l.Addr().String()
}

func TestStatusesAreListsThatTestsCanRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "s")
	for _, target := range []string{
		historyOf(t, "tcp", "127.0.0.1:0", nil), "ws+unix:///" + historyOf(t, "unix", path, nil),
	} {
		var out, errs bytes.Buffer
		args := []string{"-a", target, "--num-requests", "3", "-version", "1"}
		if err := askStatuses(t.Context(), args, &out, &errs); err != nil {
			t.Fatal(err)
		}
		var answers []struct {
			Status struct {
				Head position `json:"head"`
			} `json:"get_status_result_v0"`
		}
		if err := json.Unmarshal(out.Bytes(), &answers); err != nil || len(answers) != 3 ||
			answers[2].Status.Head.Num != 7 {
			t.Errorf("%s: %v", out.String(), err)
		}
		var words []struct {
			Status string `json:"status"`
			First  int    `json:"first_block_num"`
			Last   int    `json:"last_block_num"`
		}
		if err := json.Unmarshal(errs.Bytes(), &words); err != nil || len(words) != 3 || words[2].Status != "done" ||
			words[2].First != 5 || words[2].Last != 7 {
			t.Errorf("%s: %v", errs.String(), err)
		}
	}
	if err := askStatuses(t.Context(), []string{"-a", "unix:///" + path + "none"}, &bytes.Buffer{},
		&bytes.Buffer{}); err == nil {
		t.Error("nobody answers, and all is well")
	}
}

// at is a block of a fork; its id says both.
func at(num uint32, fork byte) *wire.Position {
	return &wire.Position{Num: num, ID: types.Checksum256{3: byte(num), 31: fork}}
}

func TestAStreamMustFollowWhatItSent(t *testing.T) {
	forked := []wire.BlockHead{
		{This: at(1, 0)}, {This: at(2, 0), Prev: at(1, 0)}, {This: at(3, 0), Prev: at(2, 0)},
		{This: at(2, 1), Prev: at(1, 0)}, {This: at(3, 1), Prev: at(2, 1)}, {This: at(4, 1), Prev: at(3, 1)},
	}
	stream := func(blocks []wire.BlockHead, more ...string) (string, error) {
		var out bytes.Buffer
		err := streamBlocks(t.Context(),
			append([]string{"-a", historyOf(t, "tcp", "127.0.0.1:0", blocks), "--end-block-num", "4", "--fetch-block"},
				more...), &out)
		return out.String(), err
	}
	out, err := stream(forked)
	var list []struct {
		Result struct {
			This  position `json:"this_block"`
			Block any      `json:"block"`
		} `json:"get_blocks_result_v0"`
	}
	if e := json.Unmarshal([]byte(out), &list); err != nil || e != nil || len(list) != len(forked) ||
		list[3].Result.This.Num != 2 || list[3].Result.Block != "ABCD" && list[3].Result.Block != "abcd" {
		t.Errorf("%s: %v, %v", out, err, e)
	}
	if out, err := stream(forked, "-version=1", "--fetch-finality-data"); err != nil ||
		strings.Count(out, `"get_blocks_result_v1":`) != len(forked) ||
		strings.Count(strings.ToLower(out), `"finality_data":"abcd"`) != len(forked) {
		t.Errorf("with finality data: %s, %v", out, err)
	}
	missed := append(forked[:3:3], forked[4:]...) // 3' follows 2', which was not sent
	if out, err := stream(missed); err == nil || !strings.Contains(out, at(3, 1).ID.String()) {
		t.Errorf("a switch of forks that was not sent is taken: %s", out)
	}
	if _, err := stream(missed, "--irreversible-only"); err != nil {
		t.Error(err)
	}
}

func TestTargetsAreReadAsByTheTestsOwnClients(t *testing.T) {
	for text, want := range map[string]string{
		"127.0.0.1:8080": "tcp 127.0.0.1:8080", "ws+unix:///a/b.sock": "unix a/b.sock", "unix:////a": "unix /a",
	} {
		if network, address, err := historyTarget(text); err != nil || network+" "+address != want {
			t.Errorf("%s: %s %s %v", text, network, address, err)
		}
	}
	for _, text := range []string{"localhost", "unix://", "ws+unix:///"} {
		if _, _, err := historyTarget(text); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}
