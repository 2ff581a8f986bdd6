package chain

import (
	"fmt"

	"tarn/opera/state"
)

// Bytes is what progress of a check calls the part that counts bytes.
const Bytes = "bytes of history"

// Check compares everything with everything: the state's flat rows with its tries, code
// with its hashes, and the logs with their checksums. What is wrong goes to report, which
// may be called often; an error says that the check could not go on. Progress, if not nil, is
// told often what is being read, how much of it was, and how much there is, about. It is the
// writer's, and takes long; an error of progress ends it.
func (c *Chain) Check(report func(error), progress func(what string, done, total uint64) error) (state.Counted, error) {
	if progress == nil {
		progress = func(string, uint64, uint64) error { return nil }
	}
	// The trie of the last blocks may still be under way.
	err := c.roots.Settle()
	if err == nil {
		c.roots.Logged(uint64(c.counted.Roots))
		err = c.roots.Collect(c.store)
	}
	if err == nil {
		err = c.store.Publish()
	}
	if err != nil {
		return state.Counted{}, fmt.Errorf("finish the tries: %w", err)
	}
	counted, err := c.state.Check(c.store, report, progress)
	if err != nil {
		return counted, fmt.Errorf("check the state: %w", err)
	}
	var done uint64
	stats := c.options.History.Stats()
	err = c.options.History.Verify(report, func(bytes int64) error {
		done += uint64(bytes)
		return progress(Bytes, done, uint64(stats.Bytes()))
	})
	if err != nil {
		return counted, fmt.Errorf("check the history: %w", err)
	}
	return counted, nil
}
