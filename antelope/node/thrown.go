package node

import (
	"strings"

	"tarn/antelope/blocklog"
	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/space"
	"tarn/antelope/types"
)

// thrown is an error in which what the parts below say has the codes and names that nodeos
// has for it: operators and clients know those.
type thrown struct {
	text  string
	first *exception.Error
	from  error
}

// Error implements error.
func (e *thrown) Error() string { return e.text }

// Unwrap returns the first exception, and the error as it came.
func (e *thrown) Unwrap() []error { return []error{e.first, e.from} }

// throw gives an error the exceptions of nodeos, wherever in it the errors are that stand for
// them.
func throw(err error) error {
	if err == nil {
		return nil
	}
	out := &thrown{from: err}
	rest := err.Error()
	var walk func(error)
	walk = func(e error) {
		if x := exceptionOf(e); x != nil {
			if before, after, ok := strings.Cut(rest, e.Error()); ok {
				out.text, rest = out.text+before+x.Error(), after
			}
			if out.first == nil {
				out.first = x
			}
			return
		}
		switch e := e.(type) {
		case *thrown: // once is enough
		case interface{ Unwrap() []error }:
			for _, e := range e.Unwrap() {
				walk(e)
			}
		case interface{ Unwrap() error }:
			if inner := e.Unwrap(); inner != nil {
				walk(inner)
			}
		}
	}
	walk(err)
	if out.first == nil {
		return err
	}
	out.text += rest
	return out
}

// exceptionOf is what nodeos throws in place of an error; nil if that is none of its own.
func exceptionOf(err error) *exception.Error {
	switch e := err.(type) {
	case *blocklog.Error:
		kind := map[blocklog.Fault]*exception.Kind{
			blocklog.Unsupported: exception.BlockLogUnsupportedVersion, blocklog.NotNext: exception.BlockLogAppendFail,
			blocklog.Missing: exception.BlockLogNotFound, blocklog.InTheWay: exception.BlockLogBackupDirExist, blocklog.BadOption: exception.PluginConfig,
		}[e.Fault]
		if kind == nil {
			kind = exception.BlockLog
		}
		return exception.New(kind, e.Text)
	case *control.BadOption:
		return exception.New(exception.PluginConfig, e.Text)
	case *feature.FolderError:
		return exception.New(exception.Plugin, e.Text)
	case *space.Error:
		return exception.Wrap(exception.PluginConfig, e.Err, "Unable to get space info for ${path}", "path", e.Path)
	}
	return nil
}

// blocks is the block log as the chain sees it, whose clients may see what it says.
type blocks struct{ *blocklog.Log }

// Append implements chain.BlockLog.
func (b blocks) Append(num uint32, id types.Checksum256, block []byte) error {
	return throw(b.Log.Append(num, id, block))
}
