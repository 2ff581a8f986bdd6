package feature

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Active is the set of features that are active on a branch of headers (Leap:
// protocol_feature_activation_set). It is immutable, so that the header states of
// a branch share one; a nil Active is empty.
type Active struct {
	digests []types.Checksum256 // ascending
}

// NewActive returns the set of these digests.
func NewActive(digests ...types.Checksum256) *Active {
	list := slices.Clone(digests)
	slices.SortFunc(list, types.Checksum256.Compare)
	return &Active{slices.Compact(list)}
}

// Digests returns what is active in ascending order. The slice must not be
// changed.
func (a *Active) Digests() []types.Checksum256 {
	if a == nil {
		return nil
	}
	return a.digests
}

// Has tells whether a feature is active.
func (a *Active) Has(digest types.Checksum256) bool {
	if a == nil {
		return false
	}
	_, found := slices.BinarySearchFunc(a.digests, digest, types.Checksum256.Compare)
	return found
}

// HasSavanna tells whether SAVANNA is active. Its digest is the same for all nodes: that of a builtin is not the
// operator's to choose.
func (a *Active) HasSavanna() bool {
	digest, err := types.ParseChecksum256("cbe0fafc8fcc6cc998395e9b6de6ebd94644467b1b4a97ec126005df07013c52")
	return err == nil && a.Has(digest)
}

// HasBuiltin tells whether the builtin is active under the digest by which s
// recognises it (Leap: block_header_state.cpp is_builtin_activated).
func (a *Active) HasBuiltin(s *Set, c Codename) bool {
	f := s.Builtin(c)
	return f != nil && a.Has(f.Digest)
}

// With returns a with added, none of which may be active or there twice.
func (a *Active) With(added []types.Checksum256) (*Active, error) {
	all := NewActive(slices.Concat(a.Digests(), added)...)
	if len(all.digests) != len(a.Digests())+len(added) {
		return nil, exception.New(exception.InvalidBlockHeaderExtension, "duplication of protocol feature digests")
	}
	return all, nil
}

// Append appends the encoding: the digests as an array.
func (a *Active) Append(b []byte) []byte { return types.AppendChecksums(b, a.Digests()) }

// ReadActive decodes a set; order and repetition do not matter, as in nodeos.
func ReadActive(r *serial.Reader) *Active { return NewActive(types.ReadChecksums(r)...) }
