package suite

import (
	"errors"
	"fmt"
	"slices"

	"tarn/bench/procsampler"
	"tarn/bench/record"
)

const megabyte = 1_000_000

// limitable says why no control group can be made, if one is needed.
func limitable(o record.Options) error {
	if !slices.ContainsFunc(wanted(o), func(s Suite) bool { return s.grouped }) {
		return nil
	}
	g, err := procsampler.NewGroup(int64(o.Memory) * megabyte)
	if err != nil {
		return err
	}
	return g.Close()
}

// within runs f while the life's processes begin in a control group, whose memory is less than
// the files that are named, which are put out of the page cache before. The processes end in f.
func within(l *life, what, files string, size int64, f func() error) (err error) {
	limit := int64(l.options.Memory) * megabyte
	if size <= limit {
		return fmt.Errorf("the %s has %d MB, and there are %d MB of memory for it: "+
			"a larger one is made with --accounts or --rows", what, size/megabyte, limit/megabyte)
	}
	if err := evict(files); err != nil {
		return err
	}
	if l.group, err = procsampler.NewGroup(limit); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.group.Close()) }()
	if err := f(); err != nil {
		return fmt.Errorf("with %d MB of memory for a %s of %d MB: %w", limit/megabyte, what, size/megabyte, err)
	}
	return nil
}
