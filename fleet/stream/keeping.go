package stream

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// snapshotStore keeps the parts of snapshots. Its methods may be called by several goroutines.
type snapshotStore interface {
	// kept is what announcements say of it.
	kept() string
	// put keeps a part, which is not there yet.
	put(ctx context.Context, name string, part []byte) error
	// get is a part of [partBytes] at most. An error wraps [errPartGone] if it is not there, and [fleet.ErrDamaged] if
	// it cannot be one.
	get(ctx context.Context, name string) ([]byte, error)
	// drop deletes the snapshots that are unneeded, by their names.
	drop(ctx context.Context, unneeded func(object string) bool) error
}

// errNoRoom says that a snapshot could not be kept, and what to do.
var errNoRoom = errors.New("there is no room for a snapshot, without which replicas cannot begin: make room where " +
	"snapshots are kept (the disks and limits of the NATS servers, or fleet-folder)")

// noRoomCodes are those of JetStream's answers that say that a limit of storage is reached. The library has no names
// for them.
var noRoomCodes = []jetstream.ErrorCode{10002, 10023, 10047}

// hasNoRoom tells whether something failed as a disk is full, or a limit of what may be kept is reached.
func hasNoRoom(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		return true
	}
	var of *jetstream.APIError
	return errors.As(err, &of) && (slices.Contains(noRoomCodes, of.ErrorCode) ||
		strings.Contains(of.Description, "no space left") || strings.Contains(of.Description, "maximum bytes exceeded"))
}

// errPartGone says that a part of a snapshot is not there.
var errPartGone = errors.New("it is not there")

// The places where a fleet keeps its snapshots, as announcements say them.
const (
	keptByServers = ""
	keptInFolder  = "folder"
)

// place names where snapshots are kept.
func place(kept string) string {
	if kept == keptByServers {
		return "the object store of the NATS servers"
	}
	return "a folder"
}

// errFolder says what a folder of snapshots may be.
var errFolder = errors.New("an absolute path is expected, or for a replica a URL (http or https)")

// OverHTTP tells whether snapshots are read from a URL, where nobody can write them.
func (o *Options) OverHTTP() bool { return strings.Contains(o.Folder, "://") }

func (o *Options) validateFolder() error {
	if !o.OverHTTP() {
		if o.Folder != "" && !filepath.IsAbs(o.Folder) {
			return fmt.Errorf("the folder of snapshots %q: %w", o.Folder, errFolder)
		}
		return nil
	}
	u, err := url.Parse(o.Folder)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" ||
		u.Fragment != "") {
		err = errFolder
	}
	if err != nil {
		return fmt.Errorf("the folder of snapshots: %w", err)
	}
	return nil
}

// store is where the snapshots of a fleet with these rooms are.
func (o *Options) store(r *rooms) snapshotStore {
	switch {
	case o.OverHTTP():
		u, err := url.Parse(o.Folder)
		if err != nil { // the options are valid
			u = &url.URL{}
		}
		return webFolder{u.JoinPath(o.Name)}
	case o.Folder != "":
		return snapshotFolder{filepath.Join(o.Folder, o.Name)}
	}
	return objectStore{r.objects, r.objectStream}
}

// objectStore is that of the NATS servers. Both are nil where the fleet has none.
type objectStore struct {
	objects jetstream.ObjectStore
	stream  jetstream.Stream
}

func (objectStore) kept() string { return keptByServers }

func (s objectStore) put(ctx context.Context, name string, part []byte) error {
	_, err := s.objects.Put(ctx, jetstream.ObjectMeta{Name: name}, bytes.NewReader(part))
	return err
}

func (s objectStore) get(ctx context.Context, name string) ([]byte, error) {
	if s.objects == nil {
		return nil, errPartGone
	}
	object, err := s.objects.Get(ctx, name)
	if errors.Is(err, jetstream.ErrObjectNotFound) {
		err = fmt.Errorf("%w: %w", errPartGone, err)
	}
	if err != nil {
		return nil, err
	}
	defer object.Close() //nolint:errcheck // it was read
	return readPart(object)
}

// readPart reads a part that is not larger than parts are.
func readPart(r io.Reader) ([]byte, error) {
	part, err := io.ReadAll(io.LimitReader(r, partBytes+1))
	if err == nil && len(part) > partBytes {
		err = fmt.Errorf("%w: it has more than %d bytes", fleet.ErrDamaged, partBytes)
	}
	return part, err
}

// drop leaves nothing of a deleted object, as a marker would be that the library leaves.
func (s objectStore) drop(ctx context.Context, unneeded func(string) bool) error {
	list, err := s.objects.List(ctx)
	if errors.Is(err, jetstream.ErrNoObjectsFound) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list snapshots: %w", err)
	}
	for _, o := range list {
		if object, _, _ := strings.Cut(o.Name, "/"); !unneeded(object) {
			continue
		}
		for _, subject := range []string{"C." + o.NUID, "M." + base64.URLEncoding.EncodeToString([]byte(o.Name))} {
			if err := s.stream.Purge(ctx, jetstream.WithPurgeSubject("$O."+o.Bucket+"."+subject)); err != nil {
				return fmt.Errorf("delete object %s: %w", o.Name, err)
			}
		}
	}
	return nil
}
