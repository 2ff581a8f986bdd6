package p2p_test

import (
	"context"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"tarn/antelope/blocklog"
	"tarn/antelope/p2p"
)

// With TARN_P2P_CHAIN naming a folder with a block log, a nodeos that has it is
// synced from by us and by another nodeos, and we are synced from by nodeos: the
// figures are blocks a second. Ours only looks at headers.
func TestSyncingBesideNodeos(t *testing.T) {
	dir := os.Getenv("TARN_P2P_CHAIN")
	if dir == "" {
		t.Skip("TARN_P2P_CHAIN names no folder with a block log")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	defer cancel()
	data, own := t.TempDir(), t.TempDir()
	must(t, os.MkdirAll(filepath.Join(data, "blocks"), 0o755))
	for _, to := range []string{filepath.Join(data, "blocks"), own} {
		for _, name := range []string{"blocks.log", "blocks.index"} {
			must(t, copyFile(filepath.Join(to, name), filepath.Join(dir, name)))
		}
	}
	genesis, err := blocklog.Tool{Dir: own}.Genesis("")
	must(t, err)
	log, err := blocklog.Open(blocklog.Options{Dir: own})
	must(t, err)
	defer log.Close()
	last, _, _ := log.Head()
	first, err := log.Read(1)
	must(t, err)
	chainID, _ := log.ChainID()

	extra := []string{"--plugin", "eosio::net_plugin", "--p2p-max-nodes-per-host",
		"9", "--read-only-read-window-time-us", "500000"}
	real := startNodeosIn(t, ctx, data, nil, nil, extra...)
	must(t, real.AwaitHead(ctx, last, false))

	begin := time.Now()
	ours := p2p.StartNode(t, p2p.NewFakeChain(chainID, first), func(o *p2p.Options) { o.Peers = []string{real.P2P()} })
	ours.Eventually(t, "the head of nodeos", func() bool { return ours.Head() >= last })
	t.Logf("from nodeos: %.0f blocks a second", float64(last)/time.Since(begin).Seconds())

	for name, address := range map[string]string{"nodeos from us": ours.Address(), "nodeos from nodeos": real.P2P()} {
		begin = time.Now()
		n := startNodeosIn(t, ctx, t.TempDir(), genesis, nil, append(extra, "--p2p-peer-address", address)...)
		t.Logf("%s: it took %v to start", name, time.Since(begin))
		must(t, n.AwaitHead(ctx, last-2, false))
		t.Logf("%s: %d blocks in %v, its start included", name, last, time.Since(begin))
		must(t, n.Stop())
		if keep := os.Getenv("TARN_P2P_KEEP"); keep != "" {
			_ = copyFile(keep+name, n.Dir()+"/nodeos.log")
		}
	}
}

func copyFile(to, from string) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := os.Create(to)
	if err != nil {
		return err
	}
	if _, err := io.Copy(w, r); err != nil {
		return err
	}
	return w.Close()
}
