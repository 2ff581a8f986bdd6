package main

import (
	"archive/tar"
	"bytes"
	"crypto/md5"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/template"
	"time"

	"tarn/cmd/tarn/commandtree"
)

// What dpkg runs. They are templates of alternatives.
var (
	//go:embed debian/postinst
	postinst string
	//go:embed debian/prerm
	prerm string
	//go:embed debian/postrm
	postrm string
)

// What Debian's policy asks of a package.
var (
	//go:embed debian/copyright
	copyright string
	//go:embed debian/overrides
	overrides string
)

// alternative is a program of another name that tarn stands in for, and what goes with it.
type alternative struct {
	Name   string
	Slaves []slave
}

// slave is a link that follows its alternative.
type slave struct{ Link, Name, Path string }

// alternatives are those of the tree.
func alternatives() []alternative {
	var all []alternative
	for _, p := range commandtree.Programs() {
		a := alternative{Name: p,
			Slaves: []slave{{"/usr/share/man/man1/" + p + ".1.gz", p + ".1.gz",
				"/usr/share/man/man1/tarn-" + p + ".1.gz"}}}
		for _, s := range shells() {
			a.Slaves = append(a.Slaves, slave{path.Join("/", s.dir, s.before+p+s.after), p + "." + s.name,
				path.Join("/usr/share/tarn/completions", s.name, p)})
		}
		all = append(all, a)
	}
	return all
}

// debian makes a Debian package.
func (t *files) debian(to string) error {
	dir, err := os.MkdirTemp("", "tarn-deb")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // it is / in the package
		return err
	}
	all := *t
	all.entries = slices.Concat(t.entries, t.policy())
	control, err := all.control()
	if err != nil {
		return err
	}
	all.entries = append(all.entries, control...)
	if err := all.write(dir); err != nil {
		return err
	}
	cmd := exec.Command("dpkg-deb", "--root-owner-group", "-Zxz", "--threads-max=1", "--build", dir, to)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOURCE_DATE_EPOCH=%d", t.at.Unix()))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: dpkg-deb: %w: %s", to, err, out)
	}
	return nil
}

// policy are the files that Debian wants in each of its packages: it has the licence's text at one
// place for all, and its form of changes. What lintian says of the program is answered.
func (t *files) policy() []entry {
	return []entry{
		{name: "usr/share/doc/tarn/copyright", mode: 0o644, data: []byte(copyright)},
		{name: "usr/share/doc/tarn/changelog.gz", mode: 0o644, data: gzipData(fmt.Appendf(nil,
			"tarn (%s) unstable; urgency=medium\n\n  * CHANGELOG.md beside this file has the changes.\n\n -- %s  %s\n",
			t.version, t.maintainer, t.at.UTC().Format(time.RFC1123Z)))},
		{name: "usr/share/lintian/overrides/tarn", mode: 0o644, data: []byte(overrides)},
	}
}

// control is what dpkg knows of the package.
func (t *files) control() ([]entry, error) {
	var size int
	var conffiles, md5sums strings.Builder
	for _, e := range t.entries {
		if e.target != "" {
			continue
		}
		size += len(e.data)
		if strings.HasPrefix(e.name, "etc/") {
			fmt.Fprintf(&conffiles, "/%s\n", e.name)
			continue
		}
		fmt.Fprintf(&md5sums, "%x  %s\n", md5.Sum(e.data), e.name)
	}
	control := fmt.Sprintf(`Package: tarn
Version: %s
Architecture: %s
Maintainer: %s
Installed-Size: %d
Depends: passwd
Section: net
Priority: optional
Description: blockchain node that leaves the disk alone
 Runs Antelope chains in the place of nodeos and Opera chains in the place of
 go-opera, on a store that writes each changed page once per checkpoint.
 .
 The programs nodeos, leap-util, spring-util, trace_api_util and opera are
 alternatives. The units nodeos.service and opera.service are installed and not
 enabled.
`, t.version, t.arch, t.maintainer, (size+1023)/1024)
	entries := []entry{
		{name: "DEBIAN/control", mode: 0o644, data: []byte(control)},
		{name: "DEBIAN/conffiles", mode: 0o644, data: []byte(conffiles.String())},
		{name: "DEBIAN/md5sums", mode: 0o644, data: []byte(md5sums.String())},
	}
	for name, text := range map[string]string{"postinst": postinst, "prerm": prerm, "postrm": postrm} {
		script, err := template.New(name).Parse(text)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := script.Execute(&b, alternatives()); err != nil {
			return nil, err
		}
		entries = append(entries, entry{name: "DEBIAN/" + name, mode: 0o755, data: b.Bytes()})
	}
	return entries, nil
}

// write puts the tree below dir. What is newer than the commit dpkg-deb takes for as old.
func (t *files) write(dir string) error {
	for _, e := range t.entries {
		name := filepath.Join(dir, e.name)
		if err := folders(dir, filepath.Dir(e.name)); err != nil {
			return err
		}
		if e.target != "" {
			if err := os.Symlink(e.target, name); err != nil {
				return err
			}
			continue
		}
		if err := os.WriteFile(name, e.data, e.mode); err != nil {
			return err
		}
		if err := os.Chmod(name, e.mode); err != nil { // whatever the umask
			return err
		}
	}
	return nil
}

// folders makes a folder below dir and those above it, with the same rights whatever the umask.
func folders(dir, name string) error {
	for part := range strings.SplitSeq(name, string(filepath.Separator)) {
		dir = filepath.Join(dir, part)
		if err := os.Mkdir(dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := os.Chmod(dir, 0o755); err != nil {
			return err
		}
	}
	return nil
}

// archive writes the tree as a compressed tar, below a folder of that name.
func (t *files) archive(to, folder string) error {
	licence, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, e := range append(slices.Clone(t.entries), entry{name: "LICENSE", mode: 0o644, data: licence}) {
		h := &tar.Header{Name: path.Join(folder, e.name), Mode: int64(e.mode), Size: int64(len(e.data)), ModTime: t.at,
			Typeflag: tar.TypeReg, Uname: "root", Gname: "root", Format: tar.FormatPAX}
		if e.target != "" {
			h.Typeflag, h.Linkname, h.Mode = tar.TypeSymlink, e.target, 0o777
		}
		if err := w.WriteHeader(h); err != nil {
			return fmt.Errorf("%s: %s: %w", to, e.name, err)
		}
		if _, err := w.Write(e.data); err != nil {
			return fmt.Errorf("%s: %s: %w", to, e.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return fmt.Errorf("%s: %w", to, err)
	}
	return os.WriteFile(to, gzipData(b.Bytes()), 0o644)
}
