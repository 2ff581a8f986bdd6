package clienttest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis/fakenet"
)

// cast runs lines on both nodes, and compares what was said and what is printed.
func (s *sides) cast(t *testing.T, ctx context.Context) {
	program := filepath.Join(npm(t, ctx), "@foundry-rs", "cast-linux-amd64", "bin", "cast")
	if out, err := exec.CommandContext(ctx, program, "--version").CombinedOutput(); err != nil {
		t.Skipf("no cast: %v: %.300s", err, out)
	}
	rich, err := fakenet.Key(1)
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("exhibit/exhibit.json")
	if err != nil {
		t.Fatal(err)
	}
	var contract struct{ Bytecode string }
	if err := json.Unmarshal(code, &contract); err != nil {
		t.Fatal(err)
	}
	alice, err := crypto.ToECDSA(crypto.Keccak256([]byte("cast alice")))
	if err != nil {
		t.Fatal(err)
	}
	at := crypto.CreateAddress(crypto.PubkeyToAddress(alice.PublicKey), 1)
	words := strings.NewReplacer(
		"RICH", hexutil.Encode(crypto.FromECDSA(rich)), "ALICEKEY", hexutil.Encode(crypto.FromECDSA(alice)),
		"ALICE", crypto.PubkeyToAddress(alice.PublicKey).Hex(),
		"BOB", "0x00000000000000000000000000000000000b0b01",
		"EXHIBIT", at.Hex(), "CODE", contract.Bytecode+strings.Repeat("0", 60)+"1000")
	run := &typist{program: program, words: words}
	var out [2][]string
	var recorders [2]*recorder
	var wg sync.WaitGroup
	for i, of := range []*side{s.ours, s.real} {
		recorders[i] = record(t, of)
		wg.Go(func() { out[i] = run.lines(t, ctx, of.name, recorders[i]) })
	}
	wg.Wait()
	compared := compareCalls(t, recorders[0].exchanges(t), recorders[1].exchanges(t))
	for i := range castLines {
		for _, d := range differences("said", maskHashes(out[0][i]), maskHashes(out[1][i])) {
			t.Errorf("cast %s prints %s", castLines[i], d)
		}
	}
	t.Logf("%d exchanges with go-opera by %d lines, %d compared", len(recorders[1].exchanges(t)),
		len(castLines), compared)
	s.asked = append(s.asked, recorders[1].exchanges(t)...)
}

// typist types lines.
type typist struct {
	program string
	words   *strings.Replacer
}

// lines types all lines and returns what is printed.
func (y *typist) lines(t *testing.T, ctx context.Context, name string, r *recorder) (printed []string) {
	hash := ""
	for _, line := range castLines {
		r.begin(line)
		want, refused := strings.CutPrefix(line, "!")
		args := strings.Split(strings.ReplaceAll(y.words.Replace(want), "HASH", hash), "|")
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		cmd := exec.CommandContext(ctx, y.program, args...)
		cmd.Env = append(os.Environ(), "ETH_RPC_URL="+r.URL, "NO_PROXY=127.0.0.1", "NO_COLOR=1",
			"FOUNDRY_DISABLE_NIGHTLY_WARNING=1")
		var out, errs bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &errs
		err := errors.Join(cmd.Run(), ctx.Err())
		cancel()
		if (err != nil) != refused {
			t.Errorf("%s: cast %s: %v: %.900s%.900s", name, line, err, out.String(), errs.String())
		}
		for _, l := range strings.Split(out.String(), "\n") {
			if of, ok := strings.CutPrefix(l, "transactionHash"); ok {
				hash = strings.TrimSpace(of)
			}
		}
		printed = append(printed, out.String()+errs.String())
	}
	return printed
}

// maskHashes is what cast prints without what differs for the masks' reasons.
func maskHashes(printed string) string {
	if _, err := leaves(printed); err == nil {
		return printed // members have masks
	}
	for _, m := range printedMasks {
		printed = m.pattern.ReplaceAllString(printed, m.with)
	}
	return printed
}
