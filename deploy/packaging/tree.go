package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"tarn/cmd/tarn/commandtree"
)

// entry is one file of the tree, or a link if it has a target.
type entry struct {
	name   string // from the root, without the first slash
	mode   fs.FileMode
	data   []byte
	target string
}

// files is a tree of what is installed on one architecture.
type files struct {
	version, arch, maintainer string
	at                        time.Time
	entries                   []entry
}

func (t *files) add(name string, mode fs.FileMode, data []byte) {
	t.entries = append(t.entries, entry{name: name, mode: mode, data: data})
}

// tree builds the program, and puts all that goes with it in its place.
func (o *order) tree(arch string) (*files, error) {
	t := &files{version: o.version, arch: arch, maintainer: o.maintainer, at: o.at}
	binary, err := build(arch)
	if err != nil {
		return nil, err
	}
	t.add("usr/bin/tarn", 0o755, binary)
	for _, p := range commandtree.Programs() {
		t.entries = append(t.entries, entry{name: "usr/lib/tarn/" + p, target: "../../bin/tarn"})
	}
	root := commandtree.Command(o.version)
	t.manuals(root)
	if err := t.completions(root); err != nil {
		return nil, err
	}
	err = t.sources()
	slices.SortFunc(t.entries, func(a, b entry) int { return cmp.Compare(a.name, b.name) })
	return t, err
}

// build is the program for an architecture. The same sources give the same bytes wherever
// they lie.
func build(arch string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "tarn-package")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	name := filepath.Join(dir, "tarn")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -buildid=", "-o", name, "./cmd/tarn")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch, "GOAMD64=v1",
		"GOARM64=v8.0", "GOFLAGS=")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("build tarn for %s: %w", arch, err)
	}
	return os.ReadFile(name)
}

// manuals adds a page for each command.
func (t *files) manuals(c *cobra.Command) {
	c.InitDefaultHelpFlag()
	t.add("usr/share/man/man1/"+pageName(c)+".1.gz", 0o644, gzipData(manual(c, t.version, t.at)))
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			t.manuals(sub)
		}
	}
}

// shell is where a shell looks for completions.
type shell struct {
	name, dir, before, after string // dir's file for a program is before, its name, after
	generate                 func(c *cobra.Command, b *bytes.Buffer) error
}

func shells() []shell {
	return []shell{
		{"bash", "usr/share/bash-completion/completions", "", "",
			func(c *cobra.Command, b *bytes.Buffer) error { return c.GenBashCompletionV2(b, true) }},
		{"zsh", "usr/share/zsh/vendor-completions", "_", "",
			func(c *cobra.Command, b *bytes.Buffer) error { return c.GenZshCompletion(b) }},
		{"fish", "usr/share/fish/vendor_completions.d", "", ".fish",
			func(c *cobra.Command, b *bytes.Buffer) error { return c.GenFishCompletion(b, true) }},
	}
}

// completions adds tarn's where shells look for them, and those of the programs that it
// stands in for where alternatives link to them.
func (t *files) completions(root *cobra.Command) error {
	for _, s := range shells() {
		for _, p := range append([]string{root.Name()}, commandtree.Programs()...) {
			var b bytes.Buffer
			if err := s.generate(&cobra.Command{Use: p}, &b); err != nil {
				return fmt.Errorf("completions of %s for %s: %w", p, s.name, err)
			}
			name := path.Join("usr/share/tarn/completions", s.name, p)
			if p == root.Name() {
				name = path.Join(s.dir, s.before+p+s.after)
			}
			t.add(name, 0o644, b.Bytes())
		}
	}
	return nil
}

// sources adds what lies in the sources: units, boards, documents.
func (t *files) sources() error {
	for _, unit := range []string{"nodeos", "opera"} {
		data, err := os.ReadFile("deploy/" + unit + ".service")
		if err != nil {
			return err
		}
		// Whatever /usr/bin/nodeos links to, the unit runs this package's program.
		data = bytes.ReplaceAll(data, []byte("ExecStart=/usr/local/bin/"), []byte("ExecStart=/usr/lib/tarn/"))
		at := bytes.Index(data, []byte("[Unit]")) // before it are steps that the package does
		t.add("usr/lib/systemd/system/"+unit+".service", 0o644, data[max(at, 0):])
	}
	for from, to := range map[string]string{
		"deploy/packaging/config.ini": "etc/nodeos/config.ini",
		"deploy/packaging/opera":      "etc/default/opera",
		"CHANGELOG.md":                "usr/share/doc/tarn/CHANGELOG.md",
		"README.md":                   "usr/share/doc/tarn/README.md",
	} {
		data, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		t.add(to, 0o644, data)
	}
	for from, to := range map[string]string{"deploy/grafana": "usr/share/tarn/grafana",
		"deploy/prometheus": "usr/share/tarn/prometheus", "docs": "usr/share/doc/tarn/docs"} {
		if err := t.folder(from, to); err != nil {
			return err
		}
	}
	return nil
}

// folder adds all files below one of the sources.
func (t *files) folder(from, to string) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err == nil {
			t.add(path.Join(to, strings.TrimPrefix(filepath.ToSlash(name), from)), 0o644, data)
		}
		return err
	})
}

// gzipData is gzip's, with no name and no time in it.
func gzipData(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level exists
	w.Write(data)                                         // to memory
	w.Close()
	return b.Bytes()
}
