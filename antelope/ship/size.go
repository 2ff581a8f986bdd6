package ship

import (
	"tarn/antelope/chain"
	"tarn/antelope/state"
)

// changeBytes is about what a changed row takes in memory, in bytes, without its value.
const changeBytes = 250

// sizeOf is about how much memory a block takes while it waits.
func sizeOf(x *chain.Executed) int64 {
	n := x.TracesSize()
	if c := x.Changes; c != nil {
		n += int64(len(c.Metadata)+len(c.Tables)+len(c.Permissions)+len(c.Links)+len(c.Limits)+len(c.Usages)+len(c.Deferred)) * changeBytes
		for i := range c.Rows {
			for _, r := range [...]*state.ContractRow{c.Rows[i].Old, c.Rows[i].New} {
				if r != nil {
					n += changeBytes + int64(len(r.Value))
				}
			}
		}
		for i := range c.Indices {
			n += int64(len(c.Indices[i])) * 2 * changeBytes
		}
		for i := range c.Codes {
			if c.Codes[i].New != nil {
				n += int64(len(*c.Codes[i].New))
			}
		}
		for i := range c.Accounts {
			n += changeBytes + int64(len(c.Accounts[i].New.ABI))
		}
	}
	return n
}
