package rpc

import (
	"encoding/binary"

	"tarn/antelope/consensus"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// blockName is how a block is asked for.
type blockName struct {
	text string
	num  *uint32
	id   types.Checksum256
}

func (q blocks) block() (n blockName, err error) {
	n.text = q.text("block_num_or_id", "")
	return n, q.end()
}

// checkSize fails if the name of a block is too short or too long (Leap: get_raw_block).
func (n *blockName) checkSize() error {
	if n.text == "" || len(n.text) > 64 {
		return exception.New(exception.BlockIDType,
			"Invalid Block number or ID, must be greater than 0 and less than 65 characters")
	}
	return nil
}

// parse tells whether the name is a number or an id.
func (n *blockName) parse() error {
	if v, err := variant.Of(n.text).AsUint64(); err == nil {
		num := uint32(v) // what is above is dropped, as by nodeos
		n.num = &num
		return nil
	}
	id, err := checksumOf(variant.Of(n.text))
	if err != nil && !exception.Is(err, exception.ChainException) {
		return exception.Wrap(exception.BlockIDType, err, "Invalid block ID: ${block_num_or_id}",
			"block_num_or_id", n.text)
	}
	n.id = id
	return err
}

// number returns the number of the block that was asked for.
func (n *blockName) number() uint32 {
	if n.num != nil {
		return *n.num
	}
	return types.BlockNum(n.id)
}

// best returns the end of the branch that the node shows (Leap: controller_impl,
// fork_head).
func (a *API) best(f *consensus.ForkDatabase) *consensus.BlockState {
	if a.Irreversible {
		return f.PendingHead()
	}
	return f.Head()
}

// reversible returns a block above the last irreversible one, nil if there is none.
func (a *API) reversible(n *blockName) *consensus.BlockState {
	f := a.Chain.Fork()
	if n.num == nil {
		return f.Block(n.id)
	}
	return f.SearchOnBranch(a.best(f).ID, *n.num)
}

// fetch returns a block, nil if the node does not have it (Leap:
// controller::fetch_block_by_number, fetch_block_by_id).
func (q blocks) fetch(n *blockName) (*types.SignedBlock, error) {
	if b := q.api.reversible(n); b != nil && b.Block != nil {
		return b.Block, nil
	}
	b, err := q.api.Blocks.Read(n.number())
	if err != nil || b == nil || n.num == nil && b.ID() != n.id {
		q.older = b == nil && q.api.before(n.number())
		return nil, err
	}
	return b, nil
}

// before tells whether a block is older than all that the node has, and another one is asked for it.
func (a *API) before(num uint32) bool { return a.Older != nil && num < a.earliest(a.Chain.Fork()) }

// find returns the block that was asked for.
func (q blocks) find() (*types.SignedBlock, error) {
	n, err := q.block()
	if err == nil {
		err = n.checkSize()
	}
	if err == nil {
		err = n.parse()
	}
	if err != nil {
		return nil, err
	}
	b, err := q.fetch(&n)
	if err != nil {
		return nil, err
	}
	if b == nil {
		return nil, exception.New(exception.UnknownBlock, "Could not find block: ${block}", "block", n.text)
	}
	return b, nil
}

func (q blocks) getRawBlock(b []byte) ([]byte, error) {
	block, err := q.find()
	if err != nil {
		return b, err
	}
	return block.AppendJSON(b), nil
}

// refPrefix is what transactions refer to a block with.
func refPrefix(id types.Checksum256) uint64 {
	return uint64(binary.LittleEndian.Uint32(id[8:]))
}

func (q blocks) getBlock(b []byte) ([]byte, error) {
	block, err := q.find()
	if err != nil {
		return b, err
	}
	v, err := q.api.Chain.View()
	if err != nil {
		return b, err
	}
	defer v.Close()
	b, err = q.api.contents(v).AppendBlock(b, block)
	if err != nil {
		return b, err
	}
	id := block.ID()
	o := object(b[:len(b)-1]).json("id", id).uint("block_num", uint64(block.BlockNum()))
	return append(o.uint("ref_block_prefix", refPrefix(id)), '}'), nil
}

func (q blocks) getBlockInfo(b []byte) ([]byte, error) {
	num := q.uint32("block_num", 0)
	if err := q.end(); err != nil {
		return b, err
	}
	block, err := q.fetch(&blockName{num: &num})
	if err != nil {
		return b, err
	}
	if block == nil {
		return b, exception.New(exception.UnknownBlock, "Could not find block: ${block}", "block", num)
	}
	id := block.ID()
	o := object(append(b, '{')).uint("block_num", uint64(num)).uint("ref_block_num", uint64(uint16(num))).json("id", id)
	o = o.json("timestamp", block.Timestamp).name("producer", block.Producer).uint("confirmed", uint64(block.Confirmed))
	o = o.json("previous", block.Previous).json("transaction_mroot", block.TransactionMRoot).
		json("action_mroot", block.ActionMRoot)
	o = o.uint("schedule_version", uint64(block.ScheduleVersion)).json("producer_signature", block.ProducerSignature)
	return append(o.uint("ref_block_prefix", refPrefix(id)), '}'), nil
}

func (q blocks) getBlockHeader(b []byte) ([]byte, error) {
	extensions := q.boolean("include_extensions", false)
	n, err := q.block()
	if err == nil {
		err = n.checkSize()
	}
	if err == nil {
		err = n.parse()
	}
	if err != nil {
		return b, err
	}
	var header *types.SignedBlockHeader
	var block *types.SignedBlock
	if extensions {
		if block, err = q.fetch(&n); block != nil {
			header = &block.SignedBlockHeader
		}
	} else {
		header, err = q.fetchHeader(&n)
	}
	if err != nil {
		return b, err
	}
	if header == nil {
		return b, exception.New(exception.UnknownBlock, "Could not find block header: ${block}", "block", n.text)
	}
	o := object(append(b, '{')).json("id", header.ID()).json("signed_block_header", header)
	if block != nil {
		o = list(o, "block_extensions", block.Extensions)
	}
	return append(o, '}'), nil
}

// fetchHeader returns the header of a block, nil if the node does not have it.
func (q blocks) fetchHeader(n *blockName) (*types.SignedBlockHeader, error) {
	if b := q.api.reversible(n); b != nil {
		return &b.Header, nil
	}
	h, err := q.api.Blocks.ReadHeader(n.number())
	if err != nil || h == nil || n.num == nil && h.ID() != n.id {
		q.older = h == nil && q.api.before(n.number())
		return nil, err
	}
	return h, nil
}

func (q blocks) getBlockHeaderState(b []byte) ([]byte, error) {
	n, err := q.block()
	if err == nil {
		err = n.parse()
	}
	if err != nil {
		return b, err
	}
	if q.api.best(q.api.Chain.Fork()).IsActive(q.api.Features, feature.Savanna) { // so it is a Spring that is asked
		return q.shownHeader(b, &n)
	}
	s := q.api.reversible(&n)
	if s == nil {
		return b, exception.New(exception.UnknownBlock, "Could not find reversible block: ${block}", "block", n.text)
	}
	return appendHeaderState(b, s.HeaderState), nil
}

// shownHeader is what is shown as the header state of any block on a chain where SAVANNA is active. The form
// is that of the rules before, and all is empty that the block itself does not say (Spring:
// get_block_header_state).
func (q blocks) shownHeader(b []byte, n *blockName) ([]byte, error) {
	block, err := q.fetch(n)
	if err != nil {
		return b, err
	}
	if block == nil {
		return b, exception.New(exception.UnknownBlock, "Could not find block: ${block}", "block", n.text)
	}
	extensions, err := block.ExtractExtensions()
	if err != nil {
		return b, err
	}
	shown := &consensus.HeaderState{ID: block.ID(), Header: block.SignedBlockHeader,
		AdditionalSignatures: extensions.Signatures}
	shown.BlockNum, shown.ActiveSchedule, shown.Authority = block.BlockNum(), new(types.ProducerSchedule),
		new(types.BlockSigningAuthority)
	shown.Pending.Schedule = new(types.ProducerSchedule)
	return appendHeaderState(b, shown), nil
}

// appendHeaderState appends a header state (Leap: FC_REFLECT of block_header_state).
func appendHeaderState(b []byte, s *consensus.HeaderState) []byte {
	o := object(append(b, '{')).uint("block_num", uint64(s.BlockNum))
	o = o.uint("dpos_proposed_irreversible_blocknum", uint64(s.ProposedIrreversible))
	o = o.uint("dpos_irreversible_blocknum", uint64(s.Irreversible)).json("active_schedule", s.ActiveSchedule)
	o = append(variant.AppendKey(o, "blockroot_merkle"), '{')
	o = append(list(o, "_active_nodes", s.BlockrootMerkle.Nodes()).uint("_node_count", s.BlockrootMerkle.Count()), '}')
	pairs := func(o object, key string, m consensus.ProducerBlocks) object {
		return variant.AppendList(variant.AppendKey(o, key), m, func(b []byte, p *consensus.ProducerBlock) []byte {
			b = append(p.Producer.AppendJSON(append(b, '[')), ',')
			return append(variant.AppendUint64(b, uint64(p.Block)), ']')
		})
	}
	o = pairs(o, "producer_to_last_produced", s.LastProduced)
	o = pairs(o, "producer_to_last_implied_irb", s.LastImpliedIRB)
	o = o.json("valid_block_signing_authority", s.Authority)
	o = variant.AppendList(variant.AppendKey(o, "confirm_count"), s.ConfirmCount, func(b []byte, c *uint8) []byte {
		return variant.AppendUint64(b, uint64(*c))
	})
	o = o.json("id", s.ID).json("header", s.Header)
	o = object(append(variant.AppendKey(o, "pending_schedule"), '{')).uint("schedule_lib_num", uint64(s.Pending.LIBNum))
	o = append(o.json("schedule_hash", s.Pending.Hash).json("schedule", s.Pending.Schedule), '}')
	if o = variant.AppendKey(o, "activated_protocol_features"); s.Activated == nil {
		o = append(o, "null"...)
	} else {
		o = append(list(append(o, '{'), "protocol_features", s.Activated.Digests()), '}')
	}
	o = list(o, "additional_signatures", s.AdditionalSignatures)
	return append(o, '}')
}
