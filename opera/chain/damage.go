package chain

import (
	"errors"

	"tarn/appendonly"
	"tarn/store"
)

// Damaged tells whether an error says that the state or the history is not what was written.
func Damaged(err error) bool {
	var inHistory *appendonly.CorruptError
	return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFault) || errors.As(err, &inHistory)
}
