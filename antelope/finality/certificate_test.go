package finality

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// blockState is the row of a snapshot of version 8 that has the head's state.
func blockState(t *testing.T, snapshot []byte) (*State, Validation) {
	t.Helper()
	const section = "eosio::chain::block_state\x00"
	at := bytes.Index(snapshot, []byte(section))
	if at < 0 {
		t.Fatal("the snapshot has no block state")
	}
	r := serial.NewReader(snapshot[at+len(section):])
	if legacy, savanna := r.Bool(), r.Bool(); legacy || !savanna {
		t.Fatalf("legacy %t, Savanna %t", legacy, savanna)
	}
	var s State
	s.Read(r)
	var v Validation
	if r.Bool() {
		v.Read(r)
	}
	if err := r.Err(); err != nil {
		t.Fatal(err)
	}
	return &s, v
}

// logBlocks are the blocks of a log, from one on, by their positions in its index.
func logBlocks(t *testing.T, dir string, from uint32) (list []*types.SignedBlock) {
	t.Helper()
	log, index := refdata.Read(t, dir+"/blocks.log"), refdata.Read(t, dir+"/blocks.index")
	for i := int(from-1) * 8; i < len(index); i += 8 {
		b := new(types.SignedBlock)
		r := serial.NewReader(log[binary.LittleEndian.Uint64(index[i:]):])
		if b.Read(r); r.Err() != nil {
			t.Fatal(r.Err())
		}
		list = append(list, b)
	}
	return list
}

// certificate is what a block brings, nil for none.
func certificate(t *testing.T, b *types.SignedBlock) *types.QuorumCertificate {
	t.Helper()
	for _, x := range b.Extensions {
		if x.Type != types.BlockQuorumCert {
			continue
		}
		qc := new(types.QuorumCertificate)
		if err := types.Decode(x.Data, qc); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(qc.Append(nil), x.Data) {
			t.Errorf("the certificate of block %d is encoded otherwise", b.BlockNum())
		}
		return qc
	}
	return nil
}

// From a snapshot that Spring wrote its next blocks follow, with certificates of one policy and of
// two, whose signatures are real.
func TestSpringsCertificatesAreVerified(t *testing.T) {
	const dir = "savanna/consensus_blockchain"
	s, v := blockState(t, refdata.Read(t, dir+"/snapshot.gz"))
	if s.Num() != 10 || !bytes.Equal(s.Append(nil), mustAppend(t, s)) {
		t.Fatalf("the snapshot is of block %d", s.Num())
	}
	digests := map[uint32]string{
		8: "2d264561700ac32c2b5c935671652fbd156ff1e2763b2022c18ba8d28d365999",
		9: "e11ec0879fe791c6f0ddf651d22769819898d1e290aca7d2dd8a5444dc1d6420",
	}
	for num, want := range digests {
		if r := s.Core.Ref(num); r == nil || r.Finality.String() != want {
			t.Errorf("block %d is remembered as %+v, want %s", num, r, want)
		}
	}
	fresh, dual, generation := 0, 0, uint32(0)
	for _, b := range logBlocks(t, dir, 11) {
		h := &b.BlockHeader
		e, features := extensions(t, h)
		qc := certificate(t, b)
		isNew, err := CheckClaim(h.BlockNum(), s.Core.Claim(), e.Claim, qc)
		if err != nil || isNew != (qc != nil) {
			t.Fatalf("block %d: new %t, %v", h.BlockNum(), isNew, err)
		}
		if isNew {
			p, ok := s.PoliciesOf(qc.Block)
			if !ok {
				t.Fatalf("the finalizers of block %d are not known", qc.Block)
			}
			if err := p.Check(qc); err != nil {
				t.Errorf("block %d: %v", h.BlockNum(), err)
			}
			if err := p.Verify(qc); err != nil {
				t.Errorf("block %d: %v", h.BlockNum(), err)
			}
			p.Finality[0] ^= 1
			if err := p.Verify(qc); !exception.Is(err, exception.InvalidQCSignature) {
				t.Errorf("block %d: the signature is one of another block: %v", h.BlockNum(), err)
			}
			fresh++
			if qc.Pending != nil {
				dual++
			}
		}
		if root, ok := v.RootFor(s, e.Claim); ok && root != h.ActionMRoot {
			t.Errorf("block %d commits to %s, want %s", h.BlockNum(), h.ActionMRoot, root)
		}
		n, err := s.Next(h, &e, features)
		if err != nil {
			t.Fatalf("block %d: %v", h.BlockNum(), err)
		}
		if n.Finalizers.Generation > generation {
			generation = n.Finalizers.Generation
		}
		s = n
		v = Validation{} // what blocks did is not in the log
	}
	if s.Num() != 16 || fresh < 4 || dual == 0 || generation != 2 {
		t.Errorf("block %d, %d certificates, %d of two policies, generation %d", s.Num(), fresh, dual, generation)
	}
	if got := s.Digest().String(); got != "af638e6a88590573dd3f8ec79107a4688450398d6877024c10eb4e3e228a55a6" {
		t.Errorf("the finality digest of block 16 is %s", got)
	}
}

// mustAppend is the encoding of what the encoding is read as.
func mustAppend(t *testing.T, s *State) []byte {
	t.Helper()
	var again State
	if err := types.Decode(s.Append(nil), &again); err != nil {
		t.Fatal(err)
	}
	return again.Append(nil)
}
