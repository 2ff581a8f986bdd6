package execute

import (
	"time"

	"tarn/antelope/feature"
	"tarn/antelope/types"
)

// surroundings answers what contracts ask about the block, the transaction and the node
// ([intrinsic.Surroundings]).
type surroundings struct{ *action }

// Transaction implements intrinsic.Surroundings.
func (s surroundings) Transaction() *types.Transaction { return s.trx.trx }

// PackedTransaction implements intrinsic.Surroundings.
func (s surroundings) PackedTransaction() []byte { return s.trx.packed }

// ContextFreeData implements intrinsic.Surroundings.
func (s surroundings) ContextFreeData(i uint32) ([]byte, bool) {
	if uint64(i) >= uint64(len(s.trx.cfd)) {
		return nil, false
	}
	return s.trx.cfd[i], true
}

// BlockTime implements intrinsic.Surroundings.
func (s surroundings) BlockTime() types.TimePoint { return s.e.block.time() }

// BlockNum implements intrinsic.Surroundings.
func (s surroundings) BlockNum() uint32 { return s.e.head.BlockNum + 1 }

// PublicationTime implements intrinsic.Surroundings.
func (s surroundings) PublicationTime() types.TimePoint { return s.trx.published }

// FeatureActivated implements intrinsic.Surroundings.
func (s surroundings) FeatureActivated(digest types.Checksum256) bool {
	return s.e.block.featureActivated(digest)
}

// ActiveProducers implements intrinsic.Surroundings.
func (s surroundings) ActiveProducers() []types.Name {
	list := s.e.block.header.ActiveSchedule.Producers
	names := make([]types.Name, len(list))
	for i := range list {
		names[i] = list[i].Producer
	}
	return names
}

// KeyTypes implements intrinsic.Surroundings.
func (s surroundings) KeyTypes() (int, error) {
	p, err := s.e.state.Protocol.Get()
	if err != nil {
		return 0, err
	}
	return int(p.KeyTypes), nil
}

// Spring implements intrinsic.Surroundings.
func (s surroundings) Spring() bool { return s.e.active(feature.Savanna) }

// MaxSignatureSize implements intrinsic.Surroundings.
func (s surroundings) MaxSignatureSize() uint32 { return s.e.opt.MaxVariableSignature }

// Print implements intrinsic.Surroundings.
func (s surroundings) Print(text []byte) {
	s.console = append(s.console, s.trx.memory.print(text)...)
}

// CheckTime implements intrinsic.Surroundings.
func (s surroundings) CheckTime() error { return s.trx.checktime() }

// CheckTimeFor implements intrinsic.Surroundings.
func (s surroundings) CheckTimeFor(work time.Duration) error { return s.trx.timer.checkFor(work) }
