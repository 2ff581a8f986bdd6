package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common"
	gethrpc "github.com/ethereum/go-ethereum/rpc"

	"tarn/opera/config"
	"tarn/opera/inter"
	"tarn/store"
	"tarn/store/engine"
	"tarn/store/page"
)

// spoil changes a byte of each piece of some bytes of each file below a folder whose name has an end.
func spoil(t *testing.T, dir, end string, from, piece int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		var b [1]byte
		for at := from; at < info.Size(); at += piece {
			if _, err := f.ReadAt(b[:], at); err != nil {
				return err
			}
			b[0] ^= 0x10
			if _, err := f.WriteAt(b[:], at); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// question is a request whose answer comes from one kind of files.
type question struct {
	method string
	params []any
}

// questions ask all kinds of files of a chain.
func questions(t *testing.T, n *Node) []question {
	t.Helper()
	v, err := n.Chain().View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	from := common.HexToAddress("0x239fa7623354ec26520de878b52f13fe84b06971")
	sfc := common.HexToAddress("0xfc00face00000000000000000000000000000000")
	all := []question{
		{"eth_getBalance", []any{from, "latest"}}, {"eth_getCode", []any{sfc, "latest"}},
		{"eth_getBalance", []any{from, "0x2"}},
		{"eth_getStorageAt", []any{sfc, "0x0", "latest"}}, {"eth_getProof", []any{sfc, []string{"0x0"}, "latest"}},
		{"eth_call", []any{map[string]any{"to": sfc, "data": "0x18160ddd"}, "latest"}},
		{"eth_estimateGas", []any{map[string]any{"from": from, "to": sfc, "data": "0x18160ddd"}}},
		{"eth_getLogs", []any{map[string]any{"fromBlock": "0x1", "toBlock": "latest", "address": sfc}}},
		{"dag_getEvent", []any{common.Hash(v.Head().Atropos).Hex()}},
	}
	for b := inter.BlockNumber(2); b <= v.Head().Number; b += 3 {
		number := fmt.Sprintf("0x%x", uint64(b))
		all = append(all, question{"eth_getBlockByNumber", []any{number, true}}, question{"debug_traceBlockByNumber",
			[]any{number}})
		block, err := v.Block(b)
		if err != nil {
			t.Fatal(err)
		}
		for _, tx := range block.Txs {
			all = append(all, question{"eth_getTransactionReceipt", []any{tx.Hash()}},
				question{"eth_getTransactionByHash", []any{tx.Hash()}})
		}
	}
	return all
}

// Damage that a request meets is an error in the log with file, offset and what helps; the node is
// not ready, and the client hears of no path. Answers are the right ones, or none.
func TestDamageThatARequestMeetsIsSaid(t *testing.T) {
	for _, c := range []struct {
		name, dir, end string
		from, piece    int64
		least          int // of the requests meet it
		path           string
	}{
		{"state", "state", "state.tarn", 8192 + 200, 4096, 4, `state\.tarn: .*at offset \d+`},
		{"history", "history", ".log", 64, 50, 10, `history/\w+/\d+\.log.* offset \d+`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			o := options(dir, io.Discard)
			o.Engine = engine.Options{Kind: engine.Page, Mode: page.MappedPrivate, LimitBytes: 64 << 20}
			n := open(t, o)
			importEvents(t, n)
			asked := questions(t, n)
			right := answersOf(t, n, dir, asked)
			shut(t, n)
			var said lines
			o = options(dir, &said)
			o.Genesis, o.Engine = nil, engine.Options{Mode: page.MappedPrivate, LimitBytes: 64 << 20}
			n = open(t, o)
			spoil(t, filepath.Join(dir, "chaindata", c.dir), c.end, c.from, c.piece)
			met := 0
			for i, answer := range answersOf(t, n, dir, asked) {
				switch {
				case answer == right[i]:
				case answer == "error: files of this node are damaged; ask its operator":
					met++
				default:
					t.Errorf("%s %v: %.300s, want %.300s", asked[i].method, asked[i].params, answer, right[i])
				}
			}
			if met < c.least {
				t.Errorf("of %d requests %d met damage", len(asked), met)
			}
			if log := said.String(); !regexp.MustCompile(`level=ERROR .*damaged.*--genesis FILE.*` + c.path).
				MatchString(log) {
				t.Errorf("the log says %s", log)
			}
			if err := newHealth(n, &beside{}, time.Minute, time.Now()).ready(time.Now()); err == nil ||
				strings.Contains(err.Error(), dir) {
				t.Errorf("it is ready: %v", err)
			}
		})
	}
}

// Damage that a peer's request meets is the operator's, too, and no peer's fault alone.
func TestDamageThatAPeerMeetsIsSaid(t *testing.T) {
	var said lines
	o := options(t.TempDir(), &said)
	n := open(t, o)
	defer shut(t, n)
	c := &config.Config{}
	c.Node.DataDir = o.Dir
	peers, err := newServices(c, slog.DiscardHandler).peerOptions(n)
	if err != nil {
		t.Fatal(err)
	}
	peers.Notice(errors.New("leave peer: it lies"))
	if err := n.damage.Err(); err != nil {
		t.Error(err)
	}
	peers.Notice(fmt.Errorf("serve event: %w", &store.CorruptError{Path: "/srv/state", Offset: 7}))
	if err := n.damage.Err(); err == nil || !strings.Contains(said.String(), "/srv/state") {
		t.Errorf("%v, and the log says %s", err, said.String())
	}
}

// answersOf asks a node, and returns what it answers, or its errors.
func answersOf(t *testing.T, n *Node, dir string, asked []question) (all []string) {
	t.Helper()
	c := &config.Config{}
	c.Node.DataDir = dir
	r, err := newServices(c, slog.NewTextHandler(io.Discard, nil)).serve(n, nil, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	client, end, err := r.service.Attach()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range asked {
		all = append(all, answerTo(t, client, q))
	}
	end()
	if err := r.close(); err != nil {
		t.Error(err)
	}
	return all
}

func answerTo(t *testing.T, client *gethrpc.Client, q question) string {
	t.Helper()
	var got json.RawMessage
	if err := client.CallContext(t.Context(), &got, q.method, q.params...); err != nil {
		return "error: " + err.Error()
	}
	return string(got)
}
