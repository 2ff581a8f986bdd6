package consensus

import (
	"bytes"
	"encoding/binary"
	"slices"
	"testing"

	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// section returns the rows of a section of a snapshot.
func section(t *testing.T, snapshot []byte, name string) []byte {
	t.Helper()
	for b := snapshot[8:]; ; {
		size := binary.LittleEndian.Uint64(b)
		if size == 1<<64-1 {
			t.Fatalf("no section %s", name)
		}
		b = b[8:]
		content := b[8:size]
		if end := bytes.IndexByte(content, 0); string(content[:end]) == name {
			return content[end+1:]
		}
		b = b[size:]
	}
}

// logBlocks returns the genesis and the blocks of a log of version 2.
func logBlocks(t *testing.T, log []byte) (*types.Genesis, []*types.SignedBlock) {
	t.Helper()
	r := serial.NewReader(log)
	if version, first := r.Uint32(), r.Uint32(); version != 2 || first != 1 {
		t.Fatalf("version %d, first block %d", version, first)
	}
	var g types.Genesis
	g.Read(r)
	r.Uint64()
	var blocks []*types.SignedBlock
	for r.Len() > 0 {
		b := new(types.SignedBlock)
		b.Read(r)
		r.Uint64()
		blocks = append(blocks, b)
	}
	if r.Err() != nil {
		t.Fatal(r.Err())
	}
	return &g, blocks
}

// recoverKey is what the chain gives to this package.
func recoverKey(s types.Signature, d types.Checksum256) (types.PublicKey, error) {
	return crypto.Recover(s, d, true)
}

// signer signs with these keys.
func signer(keys ...crypto.PrivateKey) Signer {
	return func(d types.Checksum256) (list []types.Signature, err error) {
		for _, k := range keys {
			s, err := k.Sign(d)
			if err != nil {
				return nil, err
			}
			list = append(list, s)
		}
		return list, nil
	}
}

func builtinSet(t *testing.T) *feature.Set {
	t.Helper()
	s, err := feature.Builtins()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestReferenceHeadersLeadToTheHeaderStatesOfTheSnapshots(t *testing.T) {
	for _, c := range []struct {
		log       string
		snapshots map[string]bool // and whether they are of version 2
	}{
		{"leap-snapshots/blocks.log", map[string]bool{
			"snap_v2.bin.gz": true, "snap_v3.bin.gz": false, "snap_v4.bin.gz": false, "snap_v5.bin.gz": false,
			"snap_v6.bin.gz": false,
		}},
		{"leap-snapshots/prod_sched/blocks.log", map[string]bool{"snap_v2_prod_sched.bin.gz": true}},
	} {
		g, blocks := logBlocks(t, refdata.Read(t, c.log))
		s := Genesis(g)
		if s.ID != blocks[0].ID() {
			t.Fatalf("%s: genesis has id %s, want %s", c.log, s.ID, blocks[0].ID())
		}
		var verified []*HeaderState
		for _, b := range blocks[1:] {
			next, err := NewBlockState(s, b, builtinSet(t), recoverKey)
			if err != nil {
				t.Fatalf("%s: block %d: %v", c.log, b.BlockNum(), err)
			}
			checkForgery(t, s, b)
			s = next.HeaderState
			verified = append(verified, s)
		}
		for name, legacy := range c.snapshots {
			packed := section(t, refdata.Read(t, "leap-snapshots/"+name), "eosio::chain::block_state")
			var want HeaderState
			r := serial.NewReader(packed)
			if legacy {
				want.ReadV2(r)
			} else {
				want.Read(r)
			}
			if err := r.End(); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			if !legacy && !bytes.Equal(want.Append(nil), packed) {
				t.Errorf("%s: does not survive decoding", name)
			}
			i := slices.IndexFunc(verified, func(v *HeaderState) bool { return v.BlockNum == want.BlockNum })
			if i < 0 {
				t.Fatalf("%s: block %d is not in the log", name, want.BlockNum)
			}
			if got, want := verified[i].Append(nil), want.Append(nil); !bytes.Equal(got, want) {
				t.Errorf("%s: header state of block %d\n%x\nwant\n%x", name, verified[i].BlockNum, got, want)
			}
		}
	}
}

// checkForgery makes sure that the signature of b counts.
func checkForgery(t *testing.T, prev *HeaderState, b *types.SignedBlock) {
	t.Helper()
	forged := *b
	forged.TransactionMRoot[0] ^= 1
	if _, err := NewBlockState(prev, &forged, builtinSet(t), recoverKey); !exception.Is(err,
		exception.WrongSigningKey) {
		t.Errorf("a header that was changed after it had been signed: %v", err)
	}
	if _, err := NewBlockState(prev, &forged, builtinSet(t), nil); err != nil {
		t.Errorf("a trusted header: %v", err)
	}
}
