package revision

import "tarn/store"

// journal is what the open sessions note for undoing. It drops the records that undo does not need when
// they become many.
type journal struct {
	store.Journal
	condensed int  // its length after it was last condensed
	dropped   bool // records were dropped of what it has
}

const (
	// journalKeep is the size up to which the journal's buffer is kept from one
	// revision to the next.
	journalKeep = 64 << 20

	// condenseFrom is how long the records of a session may become before those that undo
	// does not need are dropped, in bytes.
	condenseFrom = 64 << 20
)

// condense keeps one record of each row from a mark on when the records have doubled, so that a
// row which is changed a thousand times does not take memory a thousand times, and the work
// stays in proportion to the changes.
func (j *journal) condense(mark int) {
	kept := max(0, min(j.condensed, j.Len())-mark)
	if j.Len()-mark > max(condenseFrom, 2*kept) {
		j.CompactFrom(mark)
		j.condensed, j.dropped = j.Len(), true
	}
}

// makeRoom condenses the records from a mark on because there is no memory, and tells whether that
// helped. Records must have grown by a quarter since the last time, so that the work stays in
// proportion.
func (j *journal) makeRoom(mark int) bool {
	length := j.Len()
	if length-j.condensed <= length/4 {
		return false
	}
	j.CompactFrom(mark)
	j.condensed, j.dropped = j.Len(), true
	return j.condensed < length
}

// truncate forgets the records from a mark on.
func (j *journal) truncate(mark int) {
	j.Truncate(mark, journalKeep)
	j.condensed = min(j.condensed, mark)
	j.dropped = j.dropped && mark > 0
}
