package types_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

func TestReferenceBlockLogsDecodeAndEncodeToTheSameBytes(t *testing.T) {
	for _, c := range []struct{ name, chainID, lastID string }{
		{
			"leap-snapshots/blocks.log",
			"90d8c7436017001e64891e8b6b7eb0060baeb350048eb52d2cdb594fdbc2617d",
			"00000003ad205c959e2af857e2cc621d00a63c3df2b82d38392d5dd162b1c511",
		},
		{"leap-snapshots/prod_sched/blocks.log", "", "00000005dd38165230d1217f"},
	} {
		t.Run(c.name, func(t *testing.T) {
			log := refdata.Read(t, c.name)
			r := serial.NewReader(log)
			if v := r.Uint32(); v != 2 {
				t.Fatalf("version %d", v)
			}
			if first := r.Uint32(); first != 1 {
				t.Fatalf("first block %d", first)
			}
			from := r.Offset()
			var g types.Genesis
			g.Read(r)
			if got := g.Append(nil); !bytes.Equal(got, log[from:r.Offset()]) {
				t.Fatalf("genesis is encoded as %x", got)
			}
			if got := g.ChainID().String(); c.chainID != "" && got != c.chainID {
				t.Errorf("chain id %s", got)
			}
			if totem := r.Uint64(); totem != 1<<64-1 {
				t.Fatalf("totem %x", totem)
			}
			var last types.Checksum256
			for num := uint32(1); r.Len() > 0; num++ {
				last = checkLogBlock(t, r, log, num, last)
			}
			if err := r.Err(); err != nil {
				t.Fatal(err)
			}
			if got := last.String(); got[:len(c.lastID)] != c.lastID {
				t.Errorf("id of the last block is %s", got)
			}
		})
	}
}

func checkLogBlock(
	t *testing.T, r *serial.Reader, log []byte, num uint32, previous types.Checksum256,
) types.Checksum256 {
	t.Helper()
	from := r.Offset()
	var b types.SignedBlock
	b.Read(r)
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	if got := b.Append(nil); !bytes.Equal(got, log[from:r.Offset()]) {
		t.Fatalf("block %d is encoded as %x", num, got)
	}
	if pos := r.Uint64(); pos != uint64(from) {
		t.Fatalf("block %d says that it is at %d", num, pos)
	}
	if b.BlockNum() != num || b.Previous != previous {
		t.Fatalf("block %d has number %d, previous %s", num, b.BlockNum(), b.Previous)
	}
	if _, err := b.BlockHeader.ExtractExtensions(); err != nil {
		t.Errorf("block %d: %v", num, err)
	}
	if _, err := b.ExtractExtensions(); err != nil {
		t.Errorf("block %d: %v", num, err)
	}
	checkTransactionRoot(t, &b)
	return b.ID()
}

// checkTransactionRoot computes the merkle root of the receipts' digests.
func checkTransactionRoot(t *testing.T, b *types.SignedBlock) {
	t.Helper()
	var level []types.Checksum256
	for i := range b.Transactions {
		level = append(level, b.Transactions[i].Digest())
		if p := b.Transactions[i].Packed; p != nil {
			trx, cfd, err := p.Unpack()
			if err != nil {
				t.Errorf("block %d: %v", b.BlockNum(), err)
				continue
			}
			again, err := types.Pack(trx, p.Signatures, cfd, types.CompressionNone)
			if err != nil {
				t.Error(err)
			}
			if p.Compression == types.CompressionNone && !bytes.Equal(again.Append(nil), p.Append(nil)) {
				t.Errorf("transaction %s is packed otherwise", trx.ID())
			}
		}
	}
	for len(level) > 1 {
		if len(level)%2 == 1 {
			level = append(level, level[len(level)-1])
		}
		for i := range len(level) / 2 {
			left, right := level[2*i], level[2*i+1]
			left[0] &= 0x7f
			right[0] |= 0x80
			level[i] = types.Hash(append(left[:], right[:]...))
		}
		level = level[:len(level)/2]
	}
	var root types.Checksum256
	if len(level) == 1 {
		root = level[0]
	}
	if root != b.TransactionMRoot {
		t.Errorf("block %d has transaction root %s, want %s", b.BlockNum(), root, b.TransactionMRoot)
	}
}

func TestBlockIDsBeginWithTheNumber(t *testing.T) {
	var h types.BlockHeader
	binary.BigEndian.PutUint32(h.Previous[:], 41)
	if id := h.ID(); types.BlockNum(id) != 42 || h.BlockNum() != 42 {
		t.Errorf("id %s", id)
	}
}
