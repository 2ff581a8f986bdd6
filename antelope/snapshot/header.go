package snapshot

import (
	"tarn/antelope/consensus"
	"tarn/antelope/serial"
)

// versionRow is chain_snapshot_header.
type versionRow struct{ version uint32 }

func (r *versionRow) Append(b []byte) []byte { return serial.AppendUint32(b, r.version) }

func (r *versionRow) Read(s *serial.Reader) { r.version = s.Uint32() }

func (r *versionRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() { d.unsignedField("version", uint64(r.version)) })
	return d.b
}

// headerRow is block_header_state.
type headerRow struct {
	*consensus.HeaderState
	legacy bool // of version 2, to be read
}

func (r headerRow) Read(s *serial.Reader) {
	if r.legacy {
		r.ReadV2(s)
	} else {
		r.HeaderState.Read(s)
	}
}

func (r headerRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.unsignedField("block_num", uint64(r.BlockNum))
		d.unsignedField("dpos_proposed_irreversible_blocknum", uint64(r.ProposedIrreversible))
		d.unsignedField("dpos_irreversible_blocknum", uint64(r.Irreversible))
		d.schedule("active_schedule", r.ActiveSchedule)
		d.object("blockroot_merkle", func() {
			d.digests("_active_nodes", r.BlockrootMerkle.Nodes())
			d.unsignedField("_node_count", r.BlockrootMerkle.Count())
		})
		d.producerBlocks("producer_to_last_produced", r.LastProduced)
		d.producerBlocks("producer_to_last_implied_irb", r.LastImpliedIRB)
		d.signing("valid_block_signing_authority", r.Authority)
		d.array("confirm_count", len(r.ConfirmCount), func(i int) { d.appendUnsigned(uint64(r.ConfirmCount[i])) })
		d.digestField("id", &r.ID)
		d.header("header", &r.Header)
		d.object("pending_schedule", func() {
			d.unsignedField("schedule_lib_num", uint64(r.Pending.LIBNum))
			d.digestField("schedule_hash", &r.Pending.Hash)
			d.schedule("schedule", r.Pending.Schedule)
		})
		d.appendActivated(r.Activated)
		d.array("additional_signatures", len(r.AdditionalSignatures), func(i int) { d.text(r.AdditionalSignatures[i]) })
	})
	return d.b
}

func (d *document) producerBlocks(name string, m consensus.ProducerBlocks) {
	d.array(name, len(m), func(i int) {
		d.array("", 1, func(int) {
			d.text(m[i].Producer)
			d.appendUnsigned(uint64(m[i].Block))
		})
	})
}
