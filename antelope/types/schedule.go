package types

import (
	"math"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// ProducerRepetitions is how many blocks a producer makes in a row (Leap: config.hpp).
const ProducerRepetitions = 12

// Append appends the name and the key.
func (p LegacyProducerKey) Append(b []byte) []byte { return p.Key.Append(p.Producer.Append(b)) }

// Read reads the name and the key.
func (p *LegacyProducerKey) Read(r *serial.Reader) {
	p.Producer.Read(r)
	p.Key.Read(r)
}

// Append appends the version and the producers.
func (s LegacySchedule) Append(b []byte) []byte {
	b = serial.AppendCount(serial.AppendUint32(b, s.Version), len(s.Producers))
	for i := range s.Producers {
		b = s.Producers[i].Append(b)
	}
	return b
}

// Read reads the version and the producers.
func (s *LegacySchedule) Read(r *serial.Reader) {
	*s = LegacySchedule{Version: r.Uint32()}
	if n := r.Count(8 + 34); n > 0 {
		s.Producers = make([]LegacyProducerKey, n)
		for i := range s.Producers {
			s.Producers[i].Read(r)
		}
	}
}

// Hash returns the hash of the encoding.
func (s *LegacySchedule) Hash() Checksum256 { return Hash(s.Append(nil)) }

// Equal tells whether two schedules are the same, versions too.
func (s *LegacySchedule) Equal(o *LegacySchedule) bool {
	return s.Version == o.Version && slices.Equal(s.Producers, o.Producers)
}

// Upgrade returns the schedule in its present form: one key of weight 1 each.
func (s *LegacySchedule) Upgrade() ProducerSchedule {
	out := ProducerSchedule{Version: s.Version}
	for _, p := range s.Producers {
		out.Producers = append(out.Producers, ProducerAuthority{
			Producer:  p.Producer,
			Authority: BlockSigningAuthority{Threshold: 1, Keys: []KeyWeight{{Key: p.Key, Weight: 1}}},
		})
	}
	return out
}

// Append appends the index of the variant (0), the threshold and the keys.
func (a BlockSigningAuthority) Append(b []byte) []byte {
	return appendKeyWeights(serial.AppendUint32(append(b, 0), a.Threshold), a.Keys)
}

// Read reads the index of the variant, which must be 0, the threshold and the keys.
func (a *BlockSigningAuthority) Read(r *serial.Reader) {
	if r.Varuint32() != 0 {
		r.Fail(exception.New(exception.FCAssert, "Provided index out of range for variant."))
	}
	*a = BlockSigningAuthority{Threshold: r.Uint32(), Keys: readKeyWeights(r)}
}

// Equal tells whether two authorities are the same.
func (a BlockSigningAuthority) Equal(o BlockSigningAuthority) bool {
	return a.Threshold == o.Threshold && slices.Equal(a.Keys, o.Keys)
}

// KeysSatisfyAndRelevant tells whether keys, each of which is presented once,
// reach the threshold, and how many of them the authority knows (Leap:
// producer_schedule.hpp). All are of use if that is all of them.
func (a BlockSigningAuthority) KeysSatisfyAndRelevant(keys []PublicKey) (satisfied bool, relevant int) {
	var total uint32
	for i := range a.Keys {
		if !slices.Contains(keys, a.Keys[i].Key) {
			continue
		}
		relevant++
		if total < a.Threshold {
			total += min(math.MaxUint32-total, uint32(a.Keys[i].Weight))
		}
	}
	return total >= a.Threshold, relevant
}

// Append appends the name and the authority.
func (p ProducerAuthority) Append(b []byte) []byte { return p.Authority.Append(p.Producer.Append(b)) }

// Read reads the name and the authority.
func (p *ProducerAuthority) Read(r *serial.Reader) {
	p.Producer.Read(r)
	p.Authority.Read(r)
}

// Equal tells whether name and authority are the same.
func (p ProducerAuthority) Equal(o ProducerAuthority) bool {
	return p.Producer == o.Producer && p.Authority.Equal(o.Authority)
}

// Append appends the version and the producers.
func (s ProducerSchedule) Append(b []byte) []byte {
	b = serial.AppendCount(serial.AppendUint32(b, s.Version), len(s.Producers))
	for i := range s.Producers {
		b = s.Producers[i].Append(b)
	}
	return b
}

// Read reads the version and the producers.
func (s *ProducerSchedule) Read(r *serial.Reader) {
	*s = ProducerSchedule{Version: r.Uint32()}
	if n := r.Count(8 + 1 + 4 + 1); n > 0 {
		s.Producers = make([]ProducerAuthority, n)
		for i := range s.Producers {
			s.Producers[i].Read(r)
		}
	}
}

// Hash returns the hash of the encoding.
func (s *ProducerSchedule) Hash() Checksum256 { return Hash(s.Append(nil)) }

// Equal tells whether two schedules are the same, versions too.
func (s *ProducerSchedule) Equal(o *ProducerSchedule) bool {
	return s.Version == o.Version && slices.EqualFunc(s.Producers, o.Producers, ProducerAuthority.Equal)
}

// Legacy returns the schedule in its old form; it fails if an authority is more
// than one key. (Leap: controller.cpp, producer_authority_schedule to legacy.)
func (s *ProducerSchedule) Legacy() (LegacySchedule, bool) {
	out := LegacySchedule{Version: s.Version}
	for _, p := range s.Producers {
		if len(p.Authority.Keys) != 1 {
			return LegacySchedule{}, false
		}
		out.Producers = append(out.Producers, LegacyProducerKey{Producer: p.Producer, Key: p.Authority.Keys[0].Key})
	}
	return out, true
}
