package wire

import (
	"encoding/binary"

	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// The rows of the tables, each a variant's number and the fields.

func version(b []byte, n byte) []byte { return append(b, n) }

func appendAccount(b []byte, a *state.AccountABI) []byte {
	b = a.Created.Append(a.Name.Append(version(b, 0)))
	return serial.AppendBytes(b, a.ABI)
}

func appendMetadata(b []byte, a *state.AccountMetadata) []byte {
	b = serial.AppendBool(a.Name.Append(version(b, 0)), a.Privileged())
	b = a.LastCodeUpdate.Append(b)
	if a.CodeHash.IsZero() {
		return serial.AppendBool(b, false)
	}
	return a.CodeHash.Append(append(serial.AppendBool(b, true), a.VMType, a.VMVersion))
}

func appendCode(b []byte, k state.CodeKey, code []byte) []byte {
	return serial.AppendBytes(k.Hash.Append(append(version(b, 0), k.VMType, k.VMVersion)), code)
}

func appendTableKey(b []byte, k state.TableKey) []byte {
	return k.Table.Append(k.Scope.Append(k.Code.Append(version(b, 0))))
}

func appendTable(b []byte, t *state.ContractTable) []byte {
	return t.Payer.Append(appendTableKey(b, t.Key))
}

func appendRow(b []byte, k state.RowKey, r *state.ContractRow) []byte {
	b = serial.AppendUint64(appendTableKey(b, k.TableKey), k.Primary)
	return serial.AppendBytes(r.Payer.Append(b), r.Value)
}

// appendIndexRow appends a row of a secondary index. A key of 256 bits is two numbers
// of 128, which go out with their bytes reversed, so that it reads as a checksum.
func appendIndexRow(b []byte, kind state.Kind, t state.TableKey, r *state.IndexRow) []byte {
	b = serial.AppendUint64(appendTableKey(b, t), r.Primary)
	b = r.Payer.Append(b)
	if kind != state.Index256 {
		return r.Secondary.Append(b, kind)
	}
	for _, i := range [...]int{1, 0, 3, 2} {
		b = binary.BigEndian.AppendUint64(b, r.Secondary.Words[i])
	}
	return b
}

func appendGlobal(b []byte, g *state.GlobalProperty) []byte {
	b = serial.AppendBool(version(b, 1), g.ProposedScheduleBlock != nil)
	if g.ProposedScheduleBlock != nil {
		b = serial.AppendUint32(b, *g.ProposedScheduleBlock)
	}
	b = appendSchedule(b, &g.ProposedSchedule)
	b = g.Configuration.Append(version(b, 1))
	b = g.ChainID.Append(b)
	return g.Wasm.Append(version(b, 0))
}

// appendSchedule appends a schedule as nodeos has it in its state, where a WebAuthn key
// is a string with its length. Everywhere else it is shown without (Leap:
// serialization.hpp packs shared_block_signing_authority as it is).
func appendSchedule(b []byte, s *types.ProducerSchedule) []byte {
	b = serial.AppendCount(serial.AppendUint32(b, s.Version), len(s.Producers))
	for i := range s.Producers {
		p := &s.Producers[i]
		b = serial.AppendUint32(version(p.Producer.Append(b), 0), p.Authority.Threshold)
		b = serial.AppendCount(b, len(p.Authority.Keys))
		for j := range p.Authority.Keys {
			k := &p.Authority.Keys[j]
			if key := k.Key.Append(nil); k.Key.Type == types.WebAuthn {
				b = serial.AppendBytes(append(b, key[0]), key[1:])
			} else {
				b = append(b, key...)
			}
			b = serial.AppendUint16(b, k.Weight)
		}
	}
	return b
}

func appendDeferred(b []byte, d *state.Deferred) []byte {
	b = d.SenderID.Append(d.Sender.Append(version(b, 0)))
	b = d.TrxID.Append(d.Payer.Append(b))
	return serial.AppendBytes(b, d.Packed)
}

func appendProtocol(b []byte, p *state.ProtocolState) []byte {
	b = serial.AppendCount(version(b, 0), len(p.Activated))
	for _, f := range p.Activated {
		b = serial.AppendUint32(f.Digest.Append(version(b, 0)), f.Block)
	}
	return b
}

func appendPermission(b []byte, p *state.Permission) []byte {
	b = p.Key.Name.Append(p.Key.Owner.Append(version(b, 0)))
	b = p.LastUpdated.Append(p.Parent.Append(b))
	return p.Authority.Append(b)
}

func appendLink(b []byte, l *state.PermissionLink) []byte {
	b = l.Key.Code.Append(l.Key.Account.Append(version(b, 0)))
	return l.Required.Append(l.Key.Action.Append(b))
}

func appendLimits(b []byte, l *state.ResourceLimits) []byte {
	b = l.Owner.Append(version(b, 0))
	for _, v := range [...]int64{l.NetWeight, l.CPUWeight, l.RAMBytes} {
		b = serial.AppendInt64(b, v)
	}
	return b
}

func appendAccumulator(b []byte, u *state.Usage) []byte {
	b = serial.AppendUint32(version(b, 0), u.LastOrdinal)
	return serial.AppendUint64(serial.AppendUint64(b, u.ValueEx), u.Consumed)
}

func appendUsage(b []byte, u *state.ResourceUsage) []byte {
	b = appendAccumulator(u.Owner.Append(version(b, 0)), &u.Net)
	return serial.AppendUint64(appendAccumulator(b, &u.CPU), u.RAM)
}

func appendResourceState(b []byte, s *state.ResourceState) []byte {
	b = appendAccumulator(version(b, 0), &s.AverageBlockNet)
	b = appendAccumulator(b, &s.AverageBlockCPU)
	for _, v := range [...]uint64{s.TotalNetWeight, s.TotalCPUWeight, s.TotalRAM, s.VirtualNet, s.VirtualCPU} {
		b = serial.AppendUint64(b, v)
	}
	return b
}

func appendRatio(b []byte, r state.Ratio) []byte {
	return serial.AppendUint64(serial.AppendUint64(version(b, 0), r.Numerator), r.Denominator)
}

func appendElasticLimit(b []byte, e *state.ElasticLimit) []byte {
	b = serial.AppendUint64(serial.AppendUint64(version(b, 0), e.Target), e.Max)
	b = serial.AppendUint32(serial.AppendUint32(b, e.Periods), e.MaxMultiplier)
	return appendRatio(appendRatio(b, e.Contract), e.Expand)
}

func appendResourceConfig(b []byte, c *state.ResourceConfig) []byte {
	b = appendElasticLimit(appendElasticLimit(version(b, 0), &c.CPU), &c.Net)
	return serial.AppendUint32(serial.AppendUint32(b, c.AccountCPUWindow), c.AccountNetWindow)
}
