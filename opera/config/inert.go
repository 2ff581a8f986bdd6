package config

// inert says of values that can be set, are not the default, and change nothing or less than in
// go-opera, what happens instead: name and consequence of each.
func (c *Config) inert() [][2]string {
	var said [][2]string
	for _, v := range []struct {
		set           bool
		name, instead string
	}{
		{!c.Opera.TxIndex, "Opera.TxIndex = false", "transactions are always found by their hashes"},
		{!c.Opera.RPCBlockExt, "Opera.RPCBlockExt = false", "blocks always have receiptsRoot and logsBloom, which are read with the block"},
		{c.Emitter.PrevBlockVotesFile.Path != "", "Emitter.PrevBlockVotesFile.Path", "the chain knows the validator's last votes"},
		{c.Emitter.PrevEpochVoteFile.Path != "", "Emitter.PrevEpochVoteFile.Path", "the chain knows the validator's last votes"},
		{c.Emitter.PrevEmittedEventFile.SyncMode, "Emitter.PrevEmittedEventFile.SyncMode",
			"the journal is always on the disk before an event is sent"},
		{c.Run.Export.Mode == "full", "--export.evm.mode full",
			"there is no snapshot to add; what was hashed is exported, as with ext-mpt"},
	} {
		if v.set {
			said = append(said, [2]string{v.name, v.instead})
		}
	}
	return said
}
