// Package logcatalog keeps the files of a log that lies in parts: the parts' names, which of them there
// are ([Catalog]), how they are moved, replaced and let go of so that a crash loses none, and who
// has them open. The block log and the state history are such logs; traces lie in files of their own, and
// have from here where files are ([FS]).
//
// It never reads or writes what is in a log: which blocks a part has its name tells, or the log that
// it is of. It never decides which blocks are needed, nor when a part ends.
//
// # What a crash leaves
//
//  1. What is moved must be durable. It is whole under one of its names, or under both: then it was
//     being copied to another file system.
//  2. A log goes before its index, which its owner makes again if it is missing or does not fit.
//  3. A name is durable before the old one is used for another file. A process that was killed between
//     the two leaves that to the next one: [OpenCatalog] begins with it.
//  4. A part that is let go of leaves the catalog first. What is left of it then comes back with the
//     next start.
package logcatalog

import (
	"errors"
	"os"

	"tarn/store/vfs"
)

// FS is where the files are.
type FS interface {
	vfs.FS
	// List returns the names of the files in a directory, in no order; none if
	// there is no such directory.
	List(dir string) ([]string, error)
}

// OS is the machine's own file system.
var OS FS = osFS{vfs.OS}

type osFS struct{ vfs.FS }

// Through is the machine's own file system, whose files are opened through fs: a layer over
// vfs.OS.
func Through(fs vfs.FS) FS { return osFS{fs} }

func (osFS) List(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names, err
}
