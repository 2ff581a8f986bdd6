package chain

import (
	"fmt"

	"tarn/opera/state"
)

// Check compares everything with everything: the state's flat rows with its tries, code
// with its hashes, and the logs with their checksums. What is wrong goes to report, which
// may be called often; an error says that the check could not go on. It is the writer's, and
// takes long.
func (c *Chain) Check(report func(error)) (state.Counted, error) {
	// The trie of the last blocks may still be under way.
	err := c.roots.Settle()
	if err == nil {
		err = c.roots.Collect(c.store)
	}
	if err == nil {
		err = c.store.Publish()
	}
	if err != nil {
		return state.Counted{}, fmt.Errorf("finish the tries: %w", err)
	}
	counted, err := c.state.Check(c.store, report)
	if err != nil {
		return counted, fmt.Errorf("check the state: %w", err)
	}
	if err := c.options.History.Verify(report); err != nil {
		return counted, fmt.Errorf("check the history: %w", err)
	}
	return counted, nil
}
