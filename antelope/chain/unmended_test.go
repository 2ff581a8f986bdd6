package chain

import (
	"errors"
	"fmt"
	"testing"

	"tarn/antelope/exception"
	"tarn/store"
)

// A node that cannot go back after a bad block must not go on: whoever asks whether a block failed is told that the
// node did.
func TestAFailureToGoBackIsTheNodesOwn(t *testing.T) {
	block := exception.New(exception.BlockValidate, "the block is bad")
	for _, first := range []error{block, fmt.Errorf("block 7: %w", ErrInterrupted)} {
		full := unmended(first, "switching back", fmt.Errorf("pop: %w", store.ErrFull))
		if exception.Of(full) != nil || errors.Is(full, ErrInterrupted) || !errors.Is(full, store.ErrFull) {
			t.Errorf("%v is taken for the block's", full)
		}
		if again := unmended(first, "switching back", block); exception.Of(again) != nil ||
			errors.Is(again, ErrInterrupted) {
			t.Errorf("%v is taken for the block's", again)
		}
	}
}
