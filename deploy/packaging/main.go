// Command packaging makes what is installed: of each architecture a Debian package and an
// archive, and the checksums of all. The same commit and version give the same bytes, given
// the same Go and dpkg. It asks git and go, and dpkg-deb for the Debian packages.
package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "package: "+err.Error())
		os.Exit(1)
	}
}

// order is what was asked for.
type order struct {
	out      string // the folder of what is made
	version  string
	archs    []string
	debian   bool
	archives bool
	at       time.Time // of the commit: the time of all files

	maintainer string // of the Debian packages, with an address
}

func run(args []string) error {
	o := order{}
	f := flag.NewFlagSet("package", flag.ExitOnError)
	f.StringVar(&o.out, "out", "dist", "folder of what is made")
	f.StringVar(&o.version, "version", "",
		"version of the packages; the tag of the commit, or 0~ and its time, if not given")
	archs := f.String("arch", "amd64,arm64", "architectures, as Go names them")
	f.StringVar(&o.maintainer, "maintainer", "The Tarn authors <tarn@localhost>",
		"who answers for the Debian packages, with an address")
	f.BoolVar(&o.debian, "deb", true, "make Debian packages")
	f.BoolVar(&o.archives, "archive", true, "make archives")
	if err := f.Parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q; -help lists the options", f.Arg(0))
	}
	o.archs = strings.Split(*archs, ",")
	if err := o.settle(); err != nil {
		return err
	}
	files, err := o.make()
	if err != nil {
		return err
	}
	return sums(o.out, files)
}

var maintainerForm = regexp.MustCompile(`^[^<>\n]+ <[^<>@\s]+@[^<>@\s]+>$`)

var versionForm = regexp.MustCompile(`^[0-9][0-9A-Za-z.+~]*$`)

// settle finds time and version, and refuses what cannot be made, before anything is.
func (o *order) settle() error {
	if o.debian {
		if _, err := exec.LookPath("dpkg-deb"); err != nil {
			return errors.New("there is no dpkg-deb, which makes the Debian packages; -deb=false leaves them out")
		}
	}
	for _, a := range o.archs {
		if a != "amd64" && a != "arm64" {
			return fmt.Errorf("architecture %q: amd64 and arm64 can be made", a)
		}
	}
	if err := o.date(); err != nil {
		return err
	}
	if o.version == "" {
		tag, err := output("git", "describe", "--tags", "--exact-match", "--match", "v[0-9]*")
		o.version = strings.TrimPrefix(tag, "v")
		if err != nil {
			o.version = "0~" + o.at.UTC().Format("20060102.150405")
		}
	}
	if !versionForm.MatchString(o.version) {
		return fmt.Errorf("version %q: a digit, then digits, letters, and . + ~ are allowed", o.version)
	}
	if !maintainerForm.MatchString(o.maintainer) {
		return fmt.Errorf("maintainer %q: a name and an address, such as \"A Name <name@example.org>\"", o.maintainer)
	}
	return os.MkdirAll(o.out, 0o755)
}

// date is SOURCE_DATE_EPOCH's, or the commit's.
func (o *order) date() error {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		var err error
		if text, err = output("git", "log", "-1", "--format=%ct"); err != nil {
			return fmt.Errorf("no commit tells the time of the files; set SOURCE_DATE_EPOCH: %w", err)
		}
	}
	seconds, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("time of the files: %w", err)
	}
	o.at = time.Unix(seconds, 0)
	return nil
}

// make makes all and returns the names of the files.
func (o *order) make() ([]string, error) {
	var made []string
	for _, arch := range o.archs {
		t, err := o.tree(arch)
		if err != nil {
			return nil, err
		}
		if o.archives {
			name := fmt.Sprintf("tarn_%s_linux_%s.tar.gz", o.version, arch)
			if err := t.archive(filepath.Join(o.out, name), strings.TrimSuffix(name, ".tar.gz")); err != nil {
				return nil, err
			}
			made = append(made, name)
		}
		if o.debian {
			name := fmt.Sprintf("tarn_%s_%s.deb", o.version, arch)
			if err := t.debian(filepath.Join(o.out, name)); err != nil {
				return nil, err
			}
			made = append(made, name)
		}
	}
	return made, nil
}

// sums writes SHA256SUMS, as sha256sum -c reads it.
func sums(dir string, files []string) error {
	var b strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "%x  %s\n", sha256.Sum256(data), name)
	}
	fmt.Print(b.String())
	return os.WriteFile(filepath.Join(dir, "SHA256SUMS"), []byte(b.String()), 0o644)
}

// output is what a command prints, without the last newline.
func output(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}
