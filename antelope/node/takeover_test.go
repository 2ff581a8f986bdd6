package node

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"tarn/antelope/oracle"
)

// What an operator has: one configuration, one data folder, and two programs that
// take turns on them.
func TestNodeosAndThisNodeTakeTurnsOnOneFolder(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a real nodeos")
	}
	peer, err := oracle.Find(t.Context())
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	conf := filepath.Join(dir, "config")
	if err := os.MkdirAll(conf, 0o755); err != nil {
		t.Fatal(err)
	}
	ini := fmt.Sprintf("plugin = eosio::chain_api_plugin\nplugin = eosio::producer_api_plugin\nhttp-server-address = %s\np2p-listen-endpoint = %s\n"+
		"producer-name = eosio\nenable-stale-production = true\nmax-clients = 200\nhttp-validate-host = false\neos-vm-oc-enable = none\n"+
		"resource-monitor-not-shutdown-on-threshold-exceeded = true\n", freeAddress(t), freeAddress(t))
	if err := os.WriteFile(filepath.Join(conf, "config.ini"), []byte(ini), 0o644); err != nil {
		t.Fatal(err)
	}
	args := []string{"--config-dir", conf, "--data-dir", filepath.Join(dir, "data")}
	theirs := func(until string, more ...string) string {
		return runUntil(t, peer.Command(t.Context(), append(args, more...)...), until)
	}
	theirs(" #6 ")
	var log buffer
	if err := run(t.Context(), append(args, "--terminate-at-block", "20"), streams{&log, &log}); err != nil {
		t.Fatal(err, log.String())
	}
	if text := log.String(); !strings.Contains(text, "using genesis state extracted from blocks.log") || !strings.Contains(text, " #20 ") ||
		strings.Contains(text, "Produced block") && strings.Contains(text, " #2 @") {
		t.Errorf("the chain does not go on here: %s", text)
	}
	if text := theirs(" #23 ", "--replay-blockchain"); !strings.Contains(text, "attempting to replay from 2 to 19 blocks") {
		t.Errorf("the chain does not go on there: %s", text)
	}
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// runUntil runs a program until it says something, stops it, and returns all that it
// said.
func runUntil(t *testing.T, cmd *exec.Cmd, until string) string {
	t.Helper()
	var log buffer
	cmd.Stdout, cmd.Stderr = &log, &log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	log.await(t, until)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { cmd.Wait(); close(ended) }() //nolint:errcheck // it is stopped
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	select {
	case <-ended:
	case <-ctx.Done():
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) //nolint:errcheck // the test has failed
		t.Fatalf("it does not end: %s", log.String())
	}
	return log.String()
}
