package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"tarn/antelope/chain"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/consensus"
	"tarn/antelope/crypto"
	"tarn/antelope/finalizer"
	"tarn/antelope/p2p"
	"tarn/antelope/producer"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/types"
	"tarn/internal/freeport"
	"tarn/store/engine"
)

// finalNode is a node of a chain that has gone over to Savanna's rules, while it serves.
type finalNode struct {
	*Node
	stop   func()
	votes  buffer                 // what is logged of votes
	policy *types.FinalizerPolicy // of the head that the node starts with

	mu       sync.Mutex
	finality []time.Duration // from a block's slot to when it was irreversible, of blocks made meanwhile
}

// startFinal serves a node with one finalizer, which follows others; the first makes blocks. The addresses
// are those of all nodes for peers, then for clients.
func startFinal(t *testing.T, p *chaintest.Peers, i int, at []string) *finalNode {
	t.Helper()
	o := options(t.TempDir(), engine.Options{})
	o.Genesis, o.Log = &p.Genesis,
		slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	n := &finalNode{Node: startAt(t, o, p)}
	n.policy = n.Chain().Head().Finality.Finalizers
	po, no := producer.Defaults(), p2p.DefaultOptions()
	po.Log, no.Log = o.Log, o.Log
	no.Listen, no.Peers, no.MaxNodesPerHost, no.VoteThreads = []string{at[i]}, at[:i], 10, 2
	if i == 0 {
		produceForAll(&po, n.Node, p)
		po.VotePause = 2 * time.Second
		po.Producers = append(po.Producers, types.N("a")) // its finalizer is called so
	}
	n.Chain().Subscribe(chain.Hooks{Irreversible: func(b *consensus.BlockState) {
		n.mu.Lock()
		defer n.mu.Unlock()
		n.finality = append(n.finality, time.Since(b.Header.Timestamp.TimePoint().Time()))
	}})
	log := slog.New(slog.NewTextHandler(&n.votes, nil))
	n.logVotes(log.With("as", "others"), []types.BLSPublicKey{chaintest.FinalizerKey(n.spare(t)).Public()})
	votes := &finalizer.Options{Dir: filepath.Join(t.TempDir(), "finalizers"),
		Keys: []*crypto.BLSPrivateKey{chaintest.FinalizerKey(i)}}
	api := &HTTP{Listen: []Listen{{Address: at[len(at)/2+i], Categories: nodeoshttp.All}}, Plugins: nodeoshttp.All,
		Server: nodeoshttp.Options{MaxBody: 1 << 20, MaxBytesInFlight: -1, MaxConnections: -1, AnyHost: true},
		API:    rpc.Config{MaxResponseTime: 10 * time.Second, ABITime: 10 * time.Second, VersionString: "v5.0.3"}}
	n.stop = serveAndClose(t, n.Node, Services{Producer: po, P2P: &no, Finalizers: votes, VoteLog: log, HTTP: api})
	return n
}

// serveAndClose has a node serve until the test or what it returns ends that, and closes the node.
func serveAndClose(t *testing.T, n *Node, s Services) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx, s) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := errors.Join(<-ended, n.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(stop)
	return stop
}

// spare is the number of a node whose finalizer no quorum needs, but for that of the node which makes
// blocks.
func (n *finalNode) spare(t *testing.T) int {
	t.Helper()
	sum := uint64(0)
	for _, f := range n.policy.Finalizers {
		sum += f.Weight
	}
	for _, f := range n.policy.Finalizers {
		if i := int(f.Description[0] - 'a'); i > 0 && sum-f.Weight >= n.policy.Threshold {
			return i
		}
	}
	t.Fatalf("all of %+v are needed", n.policy)
	return 0
}

// times are those of the blocks that were made since the node serves.
func (n *finalNode) times() []time.Duration {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(n.finality), func(d time.Duration) bool { return d > time.Minute })
}

// checkFinalizerInfo holds what a node tells of finalizers against its chain.
func checkFinalizerInfo(t *testing.T, address string, n *finalNode) {
	t.Helper()
	resp, err := http.Post("http://"+address+"/v1/chain/get_finalizer_info", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var info struct {
		Active *struct {
			Threshold  uint64
			Finalizers []struct {
				Description string
				PublicKey   string `json:"public_key"`
			}
		} `json:"active_finalizer_policy"`
		Pending any `json:"pending_finalizer_policy"`
		Votes   []struct {
			Description string
			PublicKey   string `json:"public_key"`
			Strong      bool   `json:"is_vote_strong"`
			Generation  uint32 `json:"finalizer_policy_generation"`
			ID          string `json:"voted_for_block_id"`
			Num         uint32 `json:"voted_for_block_num"`
			Time        string `json:"voted_for_block_timestamp"`
		} `json:"last_tracked_votes"`
	}
	body, err := io.ReadAll(resp.Body)
	if err == nil {
		err = json.Unmarshal(body, &info)
	}
	if err != nil || resp.StatusCode != http.StatusOK || info.Active == nil {
		t.Fatalf("%d %s: %v", resp.StatusCode, body, err)
	}
	if len(info.Active.Finalizers) != len(n.policy.Finalizers) || info.Active.Threshold != n.policy.Threshold {
		t.Errorf("the finalizers are %s", body)
	}
	head, voted := headNum(t, address), 0
	for i, v := range info.Votes {
		if v.Generation != n.policy.Generation || v.Num > head || v.Num+20 < head || len(v.ID) != 64 ||
			len(v.Time) != len("2026-01-02T03:04:05.500") {
			t.Errorf("a vote is %+v at block %d", v, head)
		}
		if i > 0 && info.Votes[i-1].Description > v.Description {
			t.Errorf("the votes are not in the order of descriptions: %s", body)
		}
		if v.Strong {
			voted++
		}
	}
	if voted == 0 {
		t.Errorf("no strong vote is known: %s", body)
	}
}

// order sends an operator's order to a node, and returns the status of the answer.
func order(t *testing.T, address, call, body string) int {
	t.Helper()
	resp, err := http.Post("http://"+address+"/v1/producer/"+call, "application/json", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode
}

// headNum is the number of a node's head, as its API tells.
func headNum(t *testing.T, address string) (num uint32) {
	t.Helper()
	resp, err := http.Post("http://"+address+"/v1/chain/get_info", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var info struct {
		Head uint32 `json:"head_block_num"`
	}
	if err := json.NewDecoder(resp.Body).Decode(&info); err != nil {
		t.Fatal(err)
	}
	return info.Head
}

// checkPauseAtBlock has a node that follows others stand still at a block, and go on.
func checkPauseAtBlock(t *testing.T, address string) {
	t.Helper()
	if is := order(t, address, "pause_at_block", `{"block_num":1}`); is != http.StatusInternalServerError {
		t.Errorf("a pause in the past is answered %d", is)
	}
	reaches := func(num uint32) bool {
		for end := time.Now().Add(time.Minute); headNum(t, address) < num; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				return false
			}
		}
		return true
	}
	is, num := 0, uint32(0)
	// the order may come when the block is there
	for lead := uint32(6); lead < 100 && is != http.StatusCreated; lead *= 2 {
		num = headNum(t, address) + lead
		is = order(t, address, "pause_at_block", fmt.Sprintf(`{"block_num":%d}`, num))
	}
	if is != http.StatusCreated || !reaches(num) {
		t.Fatalf("pause_at_block is answered %d, the head is %d of %d", is, headNum(t, address), num)
	}
	time.Sleep(3 * time.Second)
	if is := headNum(t, address); is != num {
		t.Errorf("the node stands at block %d, and not at %d", is, num)
	}
	if is := order(t, address, "resume", ""); is != http.StatusCreated || !reaches(num+8) {
		t.Errorf("resume is answered %d, the head is %d", is, headNum(t, address))
	}
}

// checkVoteLines waits until a log has what is to be said.
func checkVoteLines(t *testing.T, log *buffer, of string, want []string) {
	t.Helper()
	for _, line := range want {
		re := regexp.MustCompile(line)
		for end := time.Now().Add(time.Minute); !re.MatchString(log.String()); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("nothing like %s is said of %s: %.3000s", line, of, log.String())
			}
		}
	}
}

// Finalizers of several nodes vote over peers: blocks become irreversible on each node, soon, and no
// more when so many finalizers are gone that there is no quorum.
func TestFinalizersOfSeveralNodesAgreeOverPeers(t *testing.T) {
	t.Parallel() // waits for blocks
	const count = 4
	p := finalPeers(t, count)
	at, err := freeport.Addresses(2 * count)
	if err != nil {
		t.Fatal(err)
	}
	var nodes []*finalNode
	for i := range count {
		nodes = append(nodes, startFinal(t, p, i, at))
	}
	for i, n := range nodes {
		for end := time.Now().Add(3 * time.Minute); len(n.times()) < 8; time.Sleep(20 * time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("node %d: %d blocks became irreversible in three minutes", i, len(n.times()))
			}
		}
	}
	for i, n := range nodes {
		list := n.times()
		slices.Sort(list)
		t.Logf("node %d: from a block's slot until it is irreversible %v at the median, %v at most",
			i, list[len(list)/2], list[len(list)-1])
		if list[len(list)/2] > 10*time.Second {
			t.Errorf("node %d: half of the blocks took %v and more to become irreversible", i, list[len(list)/2])
		}
	}
	for i := range count {
		checkFinalizerInfo(t, at[count+i], nodes[i])
	}
	spare := nodes[0].spare(t)
	checkPauseAtBlock(t, at[count+spare])
	nodes[spare].stop()
	name := string(rune('a' + spare))
	checkVoteLines(t, &nodes[0].votes, "its absence", []string{
		`msg="Block [0-9a-f]{16}\.\.\. #[0-9]+ @ [-0-9T:.]{23} produced by [a-z0-9]+, latency: -?[0-9]+ms has no ` +
			`votes for block #[0-9]+ from finalizers: ([a-d],)*` + name + `(,[a-d])*"\n`,
		`msg="Local finalizer ` + name + ` did not vote in block [0-9]+ : [0-9a-f]{16} for block [0-9]+" as=others\n`,
	})
	// On a busy machine the own finalizer may be late for some of the blocks.
	if text := nodes[0].votes.String(); strings.Count(text, "Local finalizer a") > len(nodes[0].times())/2 {
		t.Errorf("an own finalizer is said to be missing: %s", text)
	}
	for _, n := range nodes[1:] {
		n.stop()
	}
	checkVoteLines(t, &nodes[0].votes, "the absence of all others", []string{
		`has no qc, claim: \{\\"block_num\\":[0-9]+,\\"is_strong_qc\\":(true|false)\}"\n`,
	})
	// What was voted still counts.
	if !standsStill(3*time.Second, func() uint32 { return uint32(len(nodes[0].times())) }) {
		t.Error("blocks become irreversible with one finalizer of four")
	}
	// Nobody else votes any more, so that its producer pauses.
	if !standsStill(2*time.Second, func() uint32 { return headNum(t, at[count]) }) {
		t.Error("blocks are made without a vote of others")
	}
}

// standsStill waits until a number has been the same for so long. It is false if the number goes on and on.
func standsStill(least time.Duration, number func() uint32) bool {
	was, since := number(), time.Now()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if is := number(); is != was {
			was, since = is, time.Now()
		} else if time.Since(since) >= least {
			return true
		}
	}
	return false
}
