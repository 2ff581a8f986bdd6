package feature

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"tarn/antelope/types"
	"tarn/store/vfs"
)

// FolderError is a folder of protocol features that cannot be used. The text is for the
// operator and names the folder, the file or the feature; what nodeos throws for it is the
// node's to say.
type FolderError struct{ Text string }

// Error implements error.
func (e *FolderError) Error() string { return e.Text }

func folderError(format string, args ...any) error {
	return &FolderError{Text: fmt.Sprintf(format, args...)}
}

// Load reads the features that a node recognises from the JSON files of its
// protocol_features directory. Builtins without a file get their defaults, and
// with populate a file BUILTIN-<NAME>.json, in a directory that is created if need
// be; without populate they are recognised but disabled. Files that are no feature
// are reported and ignored. The log gets nodeos' lines (Leap:
// initialize_protocol_features). A folder that cannot be used is a *FolderError.
func Load(dir string, populate bool, log *slog.Logger) (*Set, error) {
	return load(vfs.OS, dir, populate, log)
}

// load writes by way of disk.
func load(disk vfs.FS, dir string, populate bool, log *slog.Logger) (*Set, error) {
	switch info, err := os.Stat(dir); {
	case errors.Is(err, fs.ErrNotExist):
		if populate {
			if err := os.MkdirAll(dir, 0o777); err != nil {
				return nil, fmt.Errorf("create the protocol features directory: %w", err)
			}
		}
	case err != nil:
		return nil, fmt.Errorf("look for the protocol features directory: %w", err)
	case !info.IsDir():
		return nil, folderError("Path to protocol-features is not a directory: %s", dir)
	}
	l := loader{
		disk: disk, dir: dir, populate: populate, log: log, set: NewSet(),
		found: map[types.Checksum256]Feature{}, files: map[Codename]string{},
		visited: map[Codename]types.Checksum256{},
	}
	if err := l.read(); err != nil {
		return nil, err
	}
	for _, d := range slices.SortedFunc(maps.Keys(l.found), types.Checksum256.Compare) {
		if err := l.add(d); err != nil {
			return nil, err
		}
	}
	for _, c := range Codenames() {
		if l.files[c] == "" {
			if _, err := l.addMissing(c); err != nil {
				return nil, err
			}
		}
	}
	return l.set, nil
}

// loader is the state of Load.
type loader struct {
	disk     vfs.FS
	dir      string
	populate bool
	log      *slog.Logger
	set      *Set

	found   map[types.Checksum256]Feature  // from files, until they are added
	files   map[Codename]string            // where each came from
	visited map[Codename]types.Checksum256 // what was added
}

// read finds the features in files.
func (l *loader) read() error {
	entries, err := os.ReadDir(l.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list the protocol features directory: %w", err)
	}
	for _, e := range entries {
		path := filepath.Join(l.dir, e.Name())
		if info, err := os.Stat(path); err != nil || !info.Mode().IsRegular() || filepath.Ext(path) != ".json" {
			continue
		}
		f, err := readFile(path)
		if err != nil {
			l.log.Warn(fmt.Sprintf("problem encountered while reading '%s':\n%v", path, err))
			continue
		}
		if l.files[f.Codename] != "" {
			return folderError("Builtin protocol feature '%s' was already included from a previous_file", f.Codename)
		}
		l.files[f.Codename] = path
		l.found[f.digest()] = f
	}
	return nil
}

// add recognises a feature from a file, after those from files that it needs.
func (l *loader) add(d types.Checksum256) error {
	f, waiting := l.found[d]
	if !waiting {
		return nil
	}
	delete(l.found, d)
	l.visited[f.Codename] = d
	for _, need := range f.Dependencies {
		if err := l.add(need); err != nil {
			return err
		}
	}
	if _, err := l.set.Add(f); err != nil {
		return err
	}
	l.report(f, d)
	return nil
}

// addMissing recognises a builtin that no file describes, after those that it
// needs.
func (l *loader) addMissing(c Codename) (types.Checksum256, error) {
	if d, done := l.visited[c]; done {
		return d, nil
	}
	f, err := standard(c, l.addMissing)
	if err != nil {
		return types.Checksum256{}, err
	}
	f.Enabled = l.populate
	added, err := l.set.Add(f)
	if err != nil {
		return types.Checksum256{}, err
	}
	l.visited[c] = added.Digest
	l.report(f, added.Digest)
	if l.populate {
		err = l.write(added)
	}
	return added.Digest, err
}

func (l *loader) report(f Feature, d types.Checksum256) {
	if !f.Enabled {
		l.log.Info(fmt.Sprintf(
			"Recognized builtin protocol feature '%s' (with digest of '%x') but support for it is not enabled",
			f.Codename, d[:]))
		return
	}
	var how string
	switch unlimited := f.EarliestActivation == 0; {
	case f.PreactivationRequired && unlimited:
		how = "with preactivation required"
	case f.PreactivationRequired:
		how = "with preactivation required and with an earliest allowed activation time of " +
			f.EarliestActivation.String()
	case unlimited:
		how = "without activation restrictions"
	default:
		how = "without preactivation required but with an earliest allowed activation time of " +
			f.EarliestActivation.String()
	}
	l.log.Info(fmt.Sprintf("Support for builtin protocol feature '%s' (with digest of '%x') is enabled %s",
		f.Codename, d[:], how))
}

// write saves a default. Only a name that is taken is an error: the feature does
// not depend on the file. No part of one ever has the name, which the next start would take for
// somebody else's.
func (l *loader) write(f *Feature) error {
	path := filepath.Join(l.dir, "BUILTIN-"+f.Codename.String()+".json")
	taken, err := l.disk.Exists(path)
	if taken {
		return folderError(
			"Could not save builtin protocol feature with codename '%s' because a file at the following path "+
				"already exists: %s", f.Codename, path)
	}
	if err == nil {
		err = vfs.WriteDurably(l.disk, path, f.file())
	}
	if err != nil {
		l.log.Error(fmt.Sprintf(
			"Error occurred while writing default specification for builtin protocol feature '%s' (with digest of "+
				"'%x') to: %s",
			f.Codename, f.Digest[:], path), "error", err)
		return nil
	}
	l.log.Info(fmt.Sprintf("Saved default specification for builtin protocol feature '%s' (with digest of '%x') to: %s",
		f.Codename, f.Digest[:], path))
	return nil
}
