package consensus

import (
	"tarn/antelope/feature"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// BlockState is a block and the header state after it (Leap: block_state). It is
// immutable; whether the block is valid is the fork database's to know. Block is
// nil only for a root that came from a snapshot or a file.
type BlockState struct {
	*HeaderState
	Block       *types.SignedBlock
	Certificate *types.QuorumCertificate // that a proper block brings; nil for none
}

// NewBlockState checks the header of a block that follows prev, and its certificate, with their
// signatures unless recoverKey is nil.
func NewBlockState(
	prev *HeaderState, block *types.SignedBlock, set *feature.Set, recoverKey Recover,
) (*BlockState, error) {
	x, err := block.ExtractExtensions()
	if err != nil {
		return nil, err
	}
	s, err := prev.Follow(&block.SignedBlockHeader, x.Signatures, set, recoverKey)
	if err != nil {
		return nil, err
	}
	if err := s.checkCertificate(prev, x.Certificate, recoverKey != nil); err != nil {
		return nil, err
	}
	return &BlockState{s, block, x.Certificate}, nil
}

// SignBlock makes the block state of a block that this node produces from p: it
// signs the block, which gets the signatures, and the certificate if there is one.
func SignBlock(
	p *PendingHeader, block *types.SignedBlock, certificate *types.QuorumCertificate, set *feature.Set, sign Signer,
	recoverKey Recover,
) (*BlockState, error) {
	s, err := p.FinishSigned(&block.SignedBlockHeader, set, sign, recoverKey)
	if err != nil {
		return nil, err
	}
	if len(s.AdditionalSignatures) > 0 {
		block.Extensions = block.Extensions.Insert(types.BlockMoreSignatures,
			types.AppendSignatures(nil, s.AdditionalSignatures))
	}
	if certificate != nil {
		block.Extensions = block.Extensions.Insert(types.BlockQuorumCert, certificate.Append(nil))
	}
	return &BlockState{s, block, certificate}, nil
}

// appendBlockState appends an entry of the fork database's file.
func appendBlockState(b []byte, s *BlockState, valid bool) []byte {
	b = s.HeaderState.Append(b)
	if b = serial.AppendBool(b, s.Block != nil); s.Block != nil {
		b = s.Block.Append(b)
	}
	return serial.AppendBool(b, valid)
}

func readBlockState(r *serial.Reader) (s *BlockState, valid bool) {
	s = &BlockState{HeaderState: new(HeaderState)}
	s.HeaderState.Read(r)
	if r.Bool() {
		s.Block = new(types.SignedBlock)
		s.Block.Read(r)
	}
	return s, r.Bool()
}
