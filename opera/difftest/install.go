// Package difftest asks a real go-opera: it starts its networks on this machine, has
// them make blocks, and takes from them what our own node has to come to.
//
// It owns the processes that it starts and their folders. It is a tool of tests:
// nothing of go-opera is linked, and what is judged is the caller's business.
package difftest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// version of go-opera that is the judge.
const version = "v1.1.3-rc.5"

// module builds go-opera by itself: it needs a go-ethereum that nothing else may be
// linked with.
const module = `module opera

go 1.26

require github.com/Fantom-foundation/go-opera ` + version + `

replace github.com/ethereum/go-ethereum => github.com/Fantom-foundation/go-ethereum v1.10.8-ftm-rc12

replace github.com/dvyukov/go-fuzz => github.com/guzenok/go-fuzz v0.0.0-20210201043429-a8e90a2a4f88
`

// ErrNoPeer means that no go-opera can be had on this machine; what wraps it says why.
// Tests skip with it.
var ErrNoPeer = errors.New("no go-opera to compare with")

// Peer is a go-opera that can be started.
type Peer struct {
	program string
}

// Judge is Find for tests: they start a go-opera only if TARN_OPERA is set, for that takes
// minutes. Errors wrap [ErrNoPeer] if they shall not.
func Judge(ctx context.Context) (*Peer, error) {
	if os.Getenv("TARN_OPERA") == "" {
		return nil, fmt.Errorf(
			"%w: TARN_OPERA is not set; \"build\" builds one into the user's cache folder if none is there", ErrNoPeer)
	}
	return Find(ctx)
}

// Find returns the go-opera in the user's cache folder. TARN_OPERA may name another
// program, be "off", or be "build": then it is built if it is not there, from the Go
// module proxy, which takes minutes once. Errors wrap [ErrNoPeer] if there is none.
func Find(ctx context.Context) (*Peer, error) {
	from := os.Getenv("TARN_OPERA")
	if from == "off" {
		return nil, fmt.Errorf("%w: TARN_OPERA=off", ErrNoPeer)
	}
	if from != "" && from != "build" {
		if !executable(from) {
			return nil, fmt.Errorf("%w: TARN_OPERA=%s is no program", ErrNoPeer, from)
		}
		return &Peer{program: from}, nil
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPeer, err)
	}
	program := filepath.Join(cache, "tarn", "go-opera-"+version, "opera")
	if executable(program) {
		return &Peer{program: program}, nil
	}
	if from != "build" {
		return nil, fmt.Errorf("%w: none is built yet; TARN_OPERA=build builds one, or TARN_OPERA names one", ErrNoPeer)
	}
	if err := build(ctx, program); err != nil {
		return nil, fmt.Errorf("%w: build it: %w", ErrNoPeer, err)
	}
	return &Peer{program: program}, nil
}

// At returns a program that takes go-opera's flags, such as ours under the name opera, to be
// started in its place.
func At(program string) *Peer { return &Peer{program: program} }

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// build makes the program, which appears as a whole or not at all.
func build(ctx context.Context, program string) error {
	folder := filepath.Dir(program)
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	work, err := os.MkdirTemp(folder, ".building-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	if err := os.WriteFile(filepath.Join(work, "go.mod"), []byte(module), 0o644); err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-ldflags", "-checklinkname=0 -s -w",
		"-o", "opera", "github.com/Fantom-foundation/go-opera/cmd/opera")
	cmd.Dir = work
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=", "CGO_ENABLED=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, lastLine(out))
	}
	return os.Rename(filepath.Join(work, "opera"), program)
}

func lastLine(out []byte) string {
	s := strings.TrimSpace(string(bytes.TrimSpace(out)))
	return s[strings.LastIndexByte(s, '\n')+1:]
}
