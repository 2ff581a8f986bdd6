package feature

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// maxFile bounds the size of a file of the directory.
const maxFile = 1 << 20

// Load reads the features that a node recognises from the JSON files of its
// protocol_features directory. Builtins without a file get their defaults, and
// with populate a file BUILTIN-<NAME>.json, in a directory that is created if need
// be; without populate they are recognised but disabled. Files that are no feature
// are reported and ignored. The log gets nodeos' lines (Leap:
// initialize_protocol_features).
func Load(dir string, populate bool, log *slog.Logger) (*Set, error) {
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
		return nil, exception.New(exception.Plugin, "Path to protocol-features is not a directory: %s", dir)
	}
	l := loader{
		dir: dir, populate: populate, log: log, set: NewSet(),
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
			return exception.New(exception.Plugin, "Builtin protocol feature '%s' was already included from a previous_file", f.Codename)
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
		l.log.Info(fmt.Sprintf("Recognized builtin protocol feature '%s' (with digest of '%x') but support for it is not enabled", f.Codename, d[:]))
		return
	}
	var how string
	switch unlimited := f.EarliestActivation == 0; {
	case f.PreactivationRequired && unlimited:
		how = "with preactivation required"
	case f.PreactivationRequired:
		how = "with preactivation required and with an earliest allowed activation time of " + f.EarliestActivation.String()
	case unlimited:
		how = "without activation restrictions"
	default:
		how = "without preactivation required but with an earliest allowed activation time of " + f.EarliestActivation.String()
	}
	l.log.Info(fmt.Sprintf("Support for builtin protocol feature '%s' (with digest of '%x') is enabled %s", f.Codename, d[:], how))
}

// write saves a default. Only a name that is taken is an error: the feature does
// not depend on the file.
func (l *loader) write(f *Feature) error {
	path := filepath.Join(l.dir, "BUILTIN-"+f.Codename.String()+".json")
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, fs.ErrExist) {
		return exception.New(exception.Plugin,
			"Could not save builtin protocol feature with codename '%s' because a file at the following path already exists: %s", f.Codename, path)
	}
	if err == nil {
		_, err = file.Write(f.file())
		err = errors.Join(err, file.Close())
	}
	if err != nil {
		l.log.Error(fmt.Sprintf("Error occurred while writing default specification for builtin protocol feature '%s' (with digest of '%x') to: %s",
			f.Codename, f.Digest[:], path), "error", err)
		return nil
	}
	l.log.Info(fmt.Sprintf("Saved default specification for builtin protocol feature '%s' (with digest of '%x') to: %s", f.Codename, f.Digest[:], path))
	return nil
}

// file is the content of f's file, to the byte what nodeos writes.
func (f *Feature) file() []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"protocol_feature_type\": \"builtin\",\n  \"dependencies\": [")
	for i := range f.Dependencies {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    \"%x\"", f.Dependencies[i][:])
	}
	if len(f.Dependencies) > 0 {
		b.WriteString("\n  ")
	}
	fmt.Fprintf(&b, "],\n  \"description_digest\": \"%x\",\n", f.Description[:])
	fmt.Fprintf(&b, "  \"subjective_restrictions\": {\n    \"earliest_allowed_activation_time\": \"%s\",\n", f.EarliestActivation)
	fmt.Fprintf(&b, "    \"preactivation_required\": %v,\n    \"enabled\": %v\n  },\n", f.PreactivationRequired, f.Enabled)
	fmt.Fprintf(&b, "  \"builtin_feature_codename\": \"%s\"\n}", f.Codename)
	return b.Bytes()
}

func readFile(path string) (Feature, error) {
	file, err := os.Open(path)
	if err != nil {
		return Feature{}, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Feature{}, err
	}
	if len(b) > maxFile {
		return Feature{}, fmt.Errorf("file of more than %d bytes", maxFile)
	}
	return parseFile(b)
}

// parseFile reads what file writes. As in nodeos a field that is missing has the
// zero value, and fields that nobody knows are ignored.
func parseFile(b []byte) (Feature, error) {
	var v struct {
		Type         string   `json:"protocol_feature_type"`
		Dependencies []digest `json:"dependencies"`
		Description  digest   `json:"description_digest"`
		Codename     string   `json:"builtin_feature_codename"`
		Restrictions struct {
			Earliest      moment `json:"earliest_allowed_activation_time"`
			Preactivation truth  `json:"preactivation_required"`
			Enabled       truth  `json:"enabled"`
		} `json:"subjective_restrictions"`
	}
	if err := variant.Unmarshal(b, &v); err != nil {
		return Feature{}, err
	}
	if v.Type != "builtin" {
		return Feature{}, exception.New(exception.ProtocolFeatureValidation, "Unsupported protocol feature type: %s", v.Type)
	}
	c, ok := parseCodename(v.Codename)
	if !ok {
		return Feature{}, exception.New(exception.ProtocolFeatureValidation, "Unsupported builtin protocol feature codename: %s", v.Codename)
	}
	f := Feature{Codename: c, Description: types.Checksum256(v.Description), Restrictions: Restrictions{
		EarliestActivation:    types.TimePoint(v.Restrictions.Earliest),
		PreactivationRequired: bool(v.Restrictions.Preactivation),
		Enabled:               bool(v.Restrictions.Enabled),
	}}
	for _, d := range v.Dependencies {
		f.Dependencies = append(f.Dependencies, types.Checksum256(d))
	}
	slices.SortFunc(f.Dependencies, types.Checksum256.Compare)
	f.Dependencies = slices.Compact(f.Dependencies)
	return f, nil
}

// digest is a digest in hexadecimal; what is missing of it is zero, as in nodeos.
type digest types.Checksum256

// UnmarshalJSON implements json.Unmarshaler.
func (d *digest) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	c, err := types.ParseChecksum256(s)
	*d = digest(c)
	return err
}

// moment is a time in ISO 8601.
type moment types.TimePoint

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t, err := types.ParseTimePoint(s)
	*m = moment(t)
	return err
}

// truth is what nodeos takes for a bool: one, a number, or the word.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *truth) UnmarshalJSON(b []byte) error {
	switch s := string(b); s {
	case "true", `"true"`:
		*t = true
	case "false", `"false"`, "null":
		*t = false
	default:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%s is no bool", s)
		}
		*t = n != 0
	}
	return nil
}
