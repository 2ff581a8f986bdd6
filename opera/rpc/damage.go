package rpc

import (
	"errors"
	"io/fs"
	"os"
	"syscall"

	"github.com/ethereum/go-ethereum/log"
)

// What clients get in place of errors of the node's files, which are the operator's and name paths.
var (
	errDamaged = errors.New("files of this node are damaged; ask its operator")
	errFiles   = errors.New("the node cannot use one of its files; its log says which")
	errFull    = errors.New("a disk of the node is full; its log says which")
)

// public is what clients get of an error of the chain, or of the pool.
func (s *Service) public(err error) error { return Public(err, s.options.Damaged) }

// Public is what strangers get of an error. Those of the node's own files go to the log; damaged, which may be nil, tells
// whether an error is one of damage, and lets the operator know.
func Public(err error, damaged func(error) bool) error {
	switch {
	case err == nil:
		return nil
	case damaged != nil && damaged(err):
		return errDamaged
	case !errors.As(err, new(*fs.PathError)) && !errors.As(err, new(*os.LinkError)):
		return err
	}
	log.Error("A request failed because of the node's files", "err", err)
	if errors.Is(err, syscall.ENOSPC) {
		return errFull
	}
	return errFiles
}
