package stream

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"

	"tarn/store/vfs"
)

// snapshotFolder keeps snapshots in a folder of its path, each in a folder of its own, which has the parts as files.
type snapshotFolder struct{ path string }

// snapshotName is how snapshots are named: nothing else in the folder is touched.
var snapshotName = regexp.MustCompile(`^[0-9a-f]{16}-[0-9]+-[0-9a-f]{16}$`)

func (snapshotFolder) kept() string { return keptInFolder }

func (f snapshotFolder) put(_ context.Context, name string, part []byte) error {
	path := filepath.Join(f.path, filepath.FromSlash(name))
	if err := vfs.MkdirAll(vfs.OS, filepath.Dir(path)); err != nil {
		return err
	}
	return vfs.WriteDurably(vfs.OS, path, part)
}

func (f snapshotFolder) get(_ context.Context, name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(f.path, filepath.FromSlash(name)))
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("%w: %w", errPartGone, err)
	}
	if err != nil {
		return nil, err
	}
	defer file.Close() //nolint:errcheck // it was read
	return readPart(file)
}

func (f snapshotFolder) drop(_ context.Context, unneeded func(string) bool) error {
	list, err := os.ReadDir(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, e := range list {
		if !e.IsDir() || !snapshotName.MatchString(e.Name()) || !unneeded(e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(f.path, e.Name())); err != nil {
			return fmt.Errorf("delete a snapshot: %w", err)
		}
	}
	return nil
}

// webFolder is such a folder that a web server shows at a URL. It is only read.
type webFolder struct{ url *url.URL }

func (webFolder) kept() string { return keptInFolder }

func (f webFolder) get(ctx context.Context, name string) ([]byte, error) {
	at := f.url.JoinPath(name)
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, err
	}
	a, err := http.DefaultClient.Do(q)
	if err != nil {
		return nil, err
	}
	defer a.Body.Close() //nolint:errcheck // it was read
	switch a.StatusCode {
	case http.StatusOK:
		return readPart(a.Body)
	case http.StatusNotFound, http.StatusGone:
		return nil, fmt.Errorf("%w: %s answers %q", errPartGone, at.Redacted(), a.Status)
	}
	return nil, fmt.Errorf("%s answers %q", at.Redacted(), a.Status)
}

func (f webFolder) put(context.Context, string, []byte) error     { return f.onlyRead() }
func (f webFolder) drop(context.Context, func(string) bool) error { return f.onlyRead() }
func (f webFolder) onlyRead() error {
	return fmt.Errorf("%s: %w", f.url.Redacted(), errors.ErrUnsupported)
}
