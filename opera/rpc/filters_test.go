package rpc

import "testing"

// Log filters may have the ends that go-opera lets them have.
func TestFiltersEndWhereGoOperasDo(t *testing.T) {
	c := dial(t, newWorld(t, recordedEvents, Options{}))
	for ends, good := range map[[2]string]bool{
		{"latest", "latest"}: true, {"latest", "pending"}: true, {"pending", "pending"}: true,
		{"pending", "latest"}: false, {"latest", "0x1"}: false, {"pending", "0x1"}: false, {"0x2", "0x1"}: false,
		{"0x1", "0x1"}: true, {"0x1", "latest"}: true, {"0x1", "pending"}: true, {"earliest", "latest"}: true,
		{"finalized", "safe"}: true,
	} {
		var id string
		err := c.Call(&id, "eth_newFilter", object{"fromBlock": ends[0], "toBlock": ends[1]})
		if good && err != nil || !good && (err == nil ||
			err.Error() != "invalid from and to block combination: from > to") {
			t.Errorf("from %s to %s: %v", ends[0], ends[1], err)
		}
	}
}
