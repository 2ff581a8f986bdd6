package blocklog

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"sync"

	"tarn/antelope/consensus"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/store/vfs/torntail"
)

// linkBytes is how much of a packed block has the id of the block before.
const linkBytes = previousOffset + 32

// damaged says that what is at an offset of a log is not the block that it should be.
func damaged(num uint32, at int64, path, format string, args ...any) error {
	return &torntail.Damage{
		Path: path, Offset: at, Detail: fmt.Sprintf("block %d is damaged: ", num) + fmt.Sprintf(format, args...),
		Remedy: servedRemedy,
	}
}

// servedRemedy is what helps where a block is damaged that is read while the node runs, or at a replay.
const servedRemedy = "Stop the node. Restore the file from a copy; or, if it is blocks.log, start once with " +
	"--hard-replay-blockchain, which keeps the blocks before the damage, and peers send the others"

// checker compares blocks that are read from a log with what they should be.
type checker struct{ log *Log }

// check returns an error unless the blocks of a span are what they should be: each has the id
// that the next one, or the head, names, and the transactions that its header names. The
// producer's signature and the block's extensions are in no hash of another block: they are those
// that were appended if the block was appended here.
func (c checker) check(sp *span) error {
	if sp.path == "" { // it was appended, and is in memory
		return nil
	}
	var records []byte // on the disk, of the span's blocks
	for i := range len(sp.positions) - 1 {
		b, num := sp.block(i), sp.first+uint32(i)
		sum, ok, err := c.known(sp, i)
		if err != nil {
			return err
		}
		if ok {
			continue
		}
		id, err := c.checkBlock(sp, i, b)
		if err != nil {
			return err
		}
		if records == nil {
			records = c.log.stored.read(sp.first, len(sp.positions)-1)
		}
		if c.log.stored.refutes(records[i*sumBytes:][:sumBytes], num, &id, sum) {
			return damaged(num, sp.positions[i], sp.path, "%s", unlike(c.log.stored.path))
		}
		c.log.sums.set(num, sum)
	}
	return nil
}

// checkUnnamed returns an error if a block of a span is certainly not what was appended in what no hash of another
// block covers: in what else it is, whoever executes it finds out.
func (c checker) checkUnnamed(sp *span) error {
	if sp.path == "" {
		return nil
	}
	b, num := sp.block(0), sp.first
	sum, ok, err := c.known(sp, 0)
	if ok || err != nil {
		return err
	}
	record := c.log.stored.read(num, 1)
	if binary.LittleEndian.Uint64(record) == 0 {
		return nil
	}
	x := inspectors.Get().(*inspector) //nolint:forcetypeassert // it holds nothing else
	defer inspectors.Put(x)
	h, err := x.header(b)
	if named, was := recorded(record, &h.id); err == nil && named && was != sum {
		return damaged(num, sp.positions[0], sp.path, "%s", unlike(c.log.stored.path))
	}
	return nil
}

// known returns the checksum of a block; ok tells whether it is what was appended or read there before. It is an error
// if it is something else.
func (c checker) known(sp *span, i int) (sum uint32, ok bool, err error) {
	num := sp.first + uint32(i)
	sum = crc32.Checksum(sp.block(i), castagnoli)
	known, ok := c.log.sums.get(num)
	if ok && known != sum {
		return sum, false, damaged(num, sp.positions[i], sp.path, "it is not what was appended or read there before")
	}
	return sum, ok, nil
}

// unlike says that only the checksum of a block in a file tells it from what was appended.
func unlike(path string) string {
	return fmt.Sprintf("its producer's signature or its extensions are not those that were appended, as %s tells "+
		"(if another program has made the log anew since, remove that file)", path)
}

// checkBlock returns the block's id if that and the transactions are what they should be.
func (c checker) checkBlock(sp *span, i int, b []byte) (types.Checksum256, error) {
	num := sp.first + uint32(i)
	id, next, err := c.nameOf(sp, i)
	if err != nil {
		return types.Checksum256{}, err
	}
	x := inspectors.Get().(*inspector) //nolint:forcetypeassert // it holds nothing else
	defer inspectors.Put(x)
	is, err := x.inspect(b)
	if err != nil || id != nil && is.id != *id {
		is, err = inspectSlowly(b)
	}
	if err != nil {
		return is.id, damaged(num, sp.positions[i], sp.path, "%v", err)
	}
	if id == nil || is.id == *id {
		return is.id, nil
	}
	if next && c.misnames(num+1) { // the block that names another one is the one that is damaged
		return is.id, nil
	}
	return is.id, damaged(num, sp.positions[i], sp.path, "its id is %s, and the next block, or the head, names %s",
		is.id, id)
}

// nameOf returns the id that something else than a block itself says that the block has: the
// next block, or whoever appended it. It is nil if nothing does.
func (c checker) nameOf(sp *span, i int) (id *types.Checksum256, next bool, err error) {
	if i+2 < len(sp.positions) {
		return previousOf(sp.block(i + 1)), true, nil
	}
	num := sp.first + uint32(i)
	if sp.next != nil && binary.BigEndian.Uint32(sp.next[previousOffset:]) == num {
		return previousOf(sp.next), true, nil
	}
	c.log.mu.RLock()
	head := c.log.head
	c.log.mu.RUnlock()
	if num >= head.num {
		if num > head.num || head.id.IsZero() {
			return nil, false, nil
		}
		return &head.id, false, nil
	}
	after, err := c.log.span(num+1, num+1, 0)
	if errors.Is(err, ErrNotFound) { // a gap between partitions
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("check block %d, whose id the next block has: %w", num, err)
	}
	return previousOf(after.data), true, nil
}

func previousOf(b []byte) *types.Checksum256 {
	id := new(types.Checksum256)
	copy(id[:], b[previousOffset:linkBytes])
	return id
}

// misnames tells whether a block is certainly not what it should be, by what names it.
func (c checker) misnames(num uint32) bool {
	sp, err := c.log.span(num, num, 0)
	if err != nil || sp.path == "" {
		return err != nil
	}
	id, _, err := c.nameOf(&sp, 0)
	if err != nil || id == nil {
		return false
	}
	is, err := decodeLink(sp.block(0))
	return err != nil || is.id != *id
}

// inspector reads packed blocks without unpacking them, in memory that it uses again.
type inspector struct {
	reader serial.Reader
	room   []byte
	leaves []types.Checksum256
}

var inspectors = sync.Pool{New: func() any { return new(inspector) }}

// inspected is what a packed block is found to be.
type inspected struct {
	link
	size    int // bytes of the block
	unnamed int // bytes that no hash of another block covers: the signature, the extensions, a count
}

// inspect returns the link of a packed block. It is an error if the block cannot be read, or its
// header names other transactions.
func (x *inspector) inspect(b []byte) (link, error) {
	is, err := x.first(b)
	if err == nil && is.size != len(b) {
		err = x.reader.End()
	}
	return is.link, err
}

// header is what a packed block's header says.
type header struct {
	link
	transactions types.Checksum256 // the root of their receipts
	proper       bool              // it follows Savanna's rules, whose tree is another
}

// header reads the header that a packed block begins with.
func (x *inspector) header(b []byte) (header, error) {
	r := &x.reader
	r.Reset(b)
	var h header
	r.Raw(linkBytes)
	h.transactions.Read(r)
	r.Raw(32) // the actions' root
	h.proper = r.Uint32() == types.ProperSchedule
	if r.Bool() {
		new(types.LegacySchedule).Read(r)
	}
	skipExtensions(r)
	if r.Err() != nil {
		return header{}, r.Err()
	}
	h.link = link{id: sha256.Sum256(b[:r.Offset()]), previous: *previousOf(b)}
	h.num = types.BlockNum(h.previous) + 1
	binary.BigEndian.PutUint32(h.id[:], h.num)
	return h, nil
}

// first inspects the block that b begins with.
func (x *inspector) first(b []byte) (inspected, error) {
	h, err := x.header(b)
	if err != nil {
		return inspected{}, err
	}
	r := &x.reader
	head := r.Offset()
	var signature types.Signature
	signature.Read(r)
	n := r.Count(1)
	x.leaves = x.leaves[:0]
	from := r.Offset()
	for ; n > 0 && r.Err() == nil; n-- {
		x.leaves = append(x.leaves, x.receipt(b))
	}
	receipts := r.Offset() - from
	skipExtensions(r)
	if r.Err() != nil {
		return inspected{}, r.Err()
	}
	is := inspected{link: h.link, size: r.Offset(), unnamed: r.Offset() - head - receipts}
	return is, checkRoot(h.transactions, x.leaves, h.proper)
}

// checkRoot returns an error unless a header's root is that of receipts; proper says that the block follows
// Savanna's rules, whose tree is another.
func checkRoot(root types.Checksum256, leaves []types.Checksum256, proper bool) error {
	rootOf := consensus.MerkleRoot
	if proper {
		rootOf = finality.Root
	}
	if is := rootOf(leaves); is != root {
		return fmt.Errorf("its header names the transactions %s, and it has %s", root, is)
	}
	return nil
}

// receipt reads the next receipt of a packed block, and returns its digest.
func (x *inspector) receipt(b []byte) types.Checksum256 {
	r, from := &x.reader, x.reader.Offset()
	r.Raw(1 + 4)
	r.Varuint32()
	x.room = append(x.room[:0], b[from:r.Offset()]...)
	var id types.Checksum256
	switch kind := r.Varuint32(); kind {
	case 0:
		id.Read(r)
	case 1:
		id = x.digestPacked(b)
	default: // it is in no hash
		r.Fail(fmt.Errorf("a receipt of kind %d", kind))
	}
	x.room = append(x.room, id[:]...)
	return sha256.Sum256(x.room)
}

// digestPacked reads a packed transaction, and returns its digest. room holds what comes before.
func (x *inspector) digestPacked(b []byte) types.Checksum256 {
	r, from, keep := &x.reader, x.reader.Offset(), len(x.room)
	var signature types.Signature
	for n := r.Count(1); n > 0 && r.Err() == nil; n-- {
		signature.Read(r)
	}
	at := r.Offset()
	r.Raw(1) // whether it is compressed
	data := r.Offset()
	r.Bytes()
	trx := r.Offset()
	r.Bytes()
	if r.Err() != nil {
		return types.Checksum256{}
	}
	x.room = append(append(x.room, b[from:at]...), b[data:trx]...)
	prunable := sha256.Sum256(x.room[keep:])
	x.room = append(append(append(x.room[:keep], b[at]), b[trx:r.Offset()]...), prunable[:]...)
	digest := sha256.Sum256(x.room[keep:])
	x.room = x.room[:keep]
	return digest
}

func skipExtensions(r *serial.Reader) {
	for n := r.Count(3); n > 0 && r.Err() == nil; n-- {
		r.Uint16()
		r.Bytes()
	}
}

// inspectSlowly is inspect for blocks whose numbers are not written as short as they can be: hashes
// are of what is written so.
func inspectSlowly(b []byte) (link, error) {
	block, err := decodeBlock(b)
	if err != nil {
		return link{}, fmt.Errorf("it cannot be decoded: %w", err)
	}
	return linkOf(&block.BlockHeader), checkNames(block)
}

// checkNames returns an error unless a block's header names the transactions that the block has.
func checkNames(block *types.SignedBlock) error {
	leaves := make([]types.Checksum256, len(block.Transactions))
	for i := range leaves {
		leaves[i] = block.Transactions[i].Digest()
	}
	return checkRoot(block.TransactionMRoot, leaves, block.IsProper())
}
