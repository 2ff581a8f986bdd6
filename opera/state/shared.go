package state

import (
	"fmt"

	"tarn/store"
)

// Shared are the tables whose rows are alike on all nodes that have executed the same blocks: accounts, slots and
// codes. Their names are the same, whichever set of tables is the state. Nodes, roots and what waits for them are each
// node's own.
func (t *Tables) Shared() []store.TableInfo {
	return []store.TableInfo{
		{ID: t.accounts, Name: "opera.account"}, {ID: t.slots, Name: "opera.slot"}, {ID: t.code, Name: "opera.code"},
	}
}

// IsCode tells whether a table is that of codes.
func (t *Tables) IsCode(of store.Table) bool { return of == t.code }

// EachCode calls each for the rows of the codes that a block may have brought, until an error. The state may have had
// them already.
func (t *Tables) EachCode(c *Changes, each func(of store.Table, hash, code []byte) error) error {
	for i := range c.Codes {
		if err := each(t.code, c.Codes[i].Hash[:], c.Codes[i].Bytes); err != nil {
			return err
		}
	}
	return nil
}

// Entry returns what the archive has of a block, as [Archive.AppendEntry] takes it.
func (a *Archive) Entry(number uint64) ([]byte, error) {
	entry, err := a.log.Read(number, nil)
	if err != nil {
		return nil, fmt.Errorf("read what block %d replaced: %w", number, err)
	}
	return entry, nil
}

// AppendEntry is [Archive.Append] of what another archive has of the block. What is no entry is refused.
func (a *Archive) AppendEntry(number uint64, entry []byte) error {
	if next := a.log.Next(); number != next {
		return fmt.Errorf("archive block %d: the next one is %d", number, next)
	}
	if err := CheckEntry(entry); err != nil {
		return fmt.Errorf("archive block %d: %w", number, err)
	}
	if _, err := a.log.Append(entry); err != nil {
		return fmt.Errorf("archive block %d: %w", number, err)
	}
	return a.index.Add(number, entry)
}

// CheckEntry tells whether bytes are an archive's entry.
func CheckEntry(entry []byte) error {
	_, err := decodeValues(entry)
	return err
}
