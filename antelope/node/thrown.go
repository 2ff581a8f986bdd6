package node

import (
	"fmt"
	"strings"

	"tarn/antelope/admintypes"
	"tarn/antelope/blocklog"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/resourcemonitor"
	"tarn/antelope/types"
)

// thrown is an error that nodeos throws as an exception: operators and clients know its code and
// name, which stand before what the parts below say.
type thrown struct {
	text  string
	first *exception.Error
	from  error
}

// Error implements error.
func (e *thrown) Error() string { return e.text }

// Unwrap returns the first exception, and the error as it came.
func (e *thrown) Unwrap() []error { return []error{e.first, e.from} }

// throw gives an error the exception of nodeos that stands for it. Each of several that are joined
// has its own.
func throw(err error) error {
	if first := standsFor(err); first != nil {
		return &thrown{labelText(err), first, err}
	}
	return err
}

// standsFor is the first exception that stands for an error, or for one of those that it wraps;
// nil if there is none, or if it was found before.
func standsFor(err error) *exception.Error {
	if x := exceptionOf(err); x != nil {
		return x
	}
	switch e := err.(type) {
	case *thrown:
	case interface{ Unwrap() []error }:
		for _, inner := range e.Unwrap() {
			if x := standsFor(inner); x != nil {
				return x
			}
		}
	case interface{ Unwrap() error }:
		if inner := e.Unwrap(); inner != nil {
			return standsFor(inner)
		}
	}
	return nil
}

// labelText is the text of an error behind the code and the name of its exception, line by line if
// several are joined.
func labelText(err error) string {
	if e, ok := err.(interface{ Unwrap() []error }); ok {
		var plain, texts []string
		for _, inner := range e.Unwrap() {
			plain, texts = append(plain, inner.Error()), append(texts, labelText(inner))
		}
		if strings.Join(plain, "\n") == err.Error() {
			return strings.Join(texts, "\n")
		}
	}
	x := standsFor(err)
	if x == nil {
		return err.Error()
	}
	return fmt.Sprintf("%d %s: %s: %v", x.Kind.Code, x.Kind.Name, x.Kind.What, err)
}

// exceptionOf is what nodeos throws in place of an error; nil if that is none of its own.
func exceptionOf(err error) *exception.Error {
	switch e := err.(type) {
	case *blocklog.Error:
		kind := map[blocklog.Fault]*exception.Kind{
			blocklog.Unsupported: exception.BlockLogUnsupportedVersion, blocklog.NotNext: exception.BlockLogAppendFail,
			blocklog.Missing: exception.BlockLogNotFound, blocklog.InTheWay: exception.BlockLogBackupDirExist,
			blocklog.BadOption: exception.PluginConfig,
		}[e.Fault]
		if kind == nil {
			kind = exception.BlockLog
		}
		return exception.New(kind, e.Text)
	case *admintypes.BadOption:
		return exception.New(exception.PluginConfig, e.Text)
	case *feature.FolderError:
		return exception.New(exception.Plugin, e.Text)
	case *resourcemonitor.Error:
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
