package state

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// What rows look like in the store: the fields in order, little-endian. A key of
// several fields that a row repeats stands there as in the key, big-endian.

var accountCodec = codec[types.Name, Account]{
	name: "account", key: nameKey, parse: parseName, hash: hashName,
	id: func(v *Account) *uint64 { return &v.ID },
	encode: func(b []byte, v *Account) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = serial.AppendUint64(b, uint64(v.Name))
		return serial.AppendUint32(b, uint32(v.Created))
	},
	decode: func(r *serial.Reader, v *Account) {
		v.ID = r.Uint64()
		v.Name = types.Name(r.Uint64())
		v.Created = types.BlockTimestamp(r.Uint32())
	},
}

var metadataCodec = codec[types.Name, AccountMetadata]{
	name: "account_metadata", key: nameKey, parse: parseName, hash: hashName,
	id: func(v *AccountMetadata) *uint64 { return &v.ID },
	encode: func(b []byte, v *AccountMetadata) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = serial.AppendUint64(b, uint64(v.Name))
		b = serial.AppendUint64(b, v.RecvSequence)
		b = serial.AppendUint64(b, v.AuthSequence)
		b = serial.AppendUint64(b, v.CodeSequence)
		b = serial.AppendUint64(b, v.ABISequence)
		b = append(b, v.CodeHash[:]...)
		b = serial.AppendInt64(b, int64(v.LastCodeUpdate))
		b = serial.AppendUint32(b, v.Flags)
		return append(b, v.VMType, v.VMVersion)
	},
	decode: func(r *serial.Reader, v *AccountMetadata) {
		v.ID = r.Uint64()
		v.Name = types.Name(r.Uint64())
		v.RecvSequence = r.Uint64()
		v.AuthSequence = r.Uint64()
		v.CodeSequence = r.Uint64()
		v.ABISequence = r.Uint64()
		r.Copy(v.CodeHash[:])
		v.LastCodeUpdate = types.TimePoint(r.Int64())
		v.Flags = r.Uint32()
		v.VMType, v.VMVersion = r.Uint8(), r.Uint8()
	},
}

var ramCorrectionCodec = codec[types.Name, RAMCorrection]{
	name: "account_ram_correction", key: nameKey, parse: parseName, hash: hashName,
	id: func(v *RAMCorrection) *uint64 { return &v.ID },
	encode: func(b []byte, v *RAMCorrection) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = serial.AppendUint64(b, uint64(v.Name))
		return serial.AppendUint64(b, v.Correction)
	},
	decode: func(r *serial.Reader, v *RAMCorrection) {
		v.ID = r.Uint64()
		v.Name = types.Name(r.Uint64())
		v.Correction = r.Uint64()
	},
}

var codeCodec = codec[CodeKey, Code]{
	name: "code", key: codeKey, parse: parseCodeKey, hash: hashCode,
	id: func(v *Code) *uint64 { return &v.ID },
	encode: func(b []byte, v *Code) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = codeKey(b, v.Key)
		b = serial.AppendUint64(b, v.RefCount)
		return serial.AppendUint32(b, v.FirstBlockUsed)
	},
	decode: func(r *serial.Reader, v *Code) {
		v.ID = r.Uint64()
		r.Copy(v.Key.Hash[:])
		v.Key.VMType, v.Key.VMVersion = r.Uint8(), r.Uint8()
		v.RefCount = r.Uint64()
		v.FirstBlockUsed = r.Uint32()
	},
}

var contractTableCodec = codec[TableKey, ContractTable]{
	name: "contract_table", key: tableKey, parse: parseTableKey, hash: hashTable,
	id: func(v *ContractTable) *uint64 { return &v.ID },
	encode: func(b []byte, v *ContractTable) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = tableKey(b, v.Key)
		b = serial.AppendUint64(b, uint64(v.Payer))
		return serial.AppendUint32(b, v.Count)
	},
	decode: func(r *serial.Reader, v *ContractTable) {
		v.ID = r.Uint64()
		if k := r.Raw(24); k != nil {
			v.Key = parseTableKey(k)
		}
		v.Payer = types.Name(r.Uint64())
		v.Count = r.Uint32()
	},
}

var permissionCodec = codec[PermissionKey, Permission]{
	name: "permission", key: permissionKey, parse: parsePermissionKey, hash: hashPermission,
	id: func(v *Permission) *uint64 { return &v.ID },
	encode: func(b []byte, v *Permission) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = permissionKey(b, v.Key)
		b = serial.AppendUint64(b, uint64(v.Parent))
		b = serial.AppendInt64(b, int64(v.LastUpdated))
		b = serial.AppendInt64(b, int64(v.LastUsed))
		return v.Authority.Append(b)
	},
	decode: func(r *serial.Reader, v *Permission) {
		v.ID = r.Uint64()
		if k := r.Raw(16); k != nil {
			v.Key = parsePermissionKey(k)
		}
		v.Parent = types.Name(r.Uint64())
		v.LastUpdated = types.TimePoint(r.Int64())
		v.LastUsed = types.TimePoint(r.Int64())
		v.Authority.Read(r)
	},
}

var linkCodec = codec[LinkKey, PermissionLink]{
	name: "permission_link", key: linkKey, parse: parseLinkKey, hash: hashLink,
	id: func(v *PermissionLink) *uint64 { return &v.ID },
	encode: func(b []byte, v *PermissionLink) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = linkKey(b, v.Key)
		return serial.AppendUint64(b, uint64(v.Required))
	},
	decode: func(r *serial.Reader, v *PermissionLink) {
		v.ID = r.Uint64()
		if k := r.Raw(24); k != nil {
			v.Key = parseLinkKey(k)
		}
		v.Required = types.Name(r.Uint64())
	},
}

func limitsCodec(name string) codec[types.Name, ResourceLimits] {
	return codec[types.Name, ResourceLimits]{
		name: name, key: nameKey, parse: parseName, hash: hashName,
		id: func(v *ResourceLimits) *uint64 { return &v.ID },
		encode: func(b []byte, v *ResourceLimits) []byte {
			b = serial.AppendUint64(b, v.ID)
			b = serial.AppendUint64(b, uint64(v.Owner))
			b = serial.AppendInt64(b, v.NetWeight)
			b = serial.AppendInt64(b, v.CPUWeight)
			return serial.AppendInt64(b, v.RAMBytes)
		},
		decode: func(r *serial.Reader, v *ResourceLimits) {
			v.ID = r.Uint64()
			v.Owner = types.Name(r.Uint64())
			v.NetWeight, v.CPUWeight, v.RAMBytes = r.Int64(), r.Int64(), r.Int64()
		},
	}
}

// Append appends the accumulator as snapshots have it.
func (u Usage) Append(b []byte) []byte {
	b = serial.AppendUint32(b, u.LastOrdinal)
	b = serial.AppendUint64(b, u.ValueEx)
	return serial.AppendUint64(b, u.Consumed)
}

// Read decodes an accumulator.
func (u *Usage) Read(r *serial.Reader) {
	u.LastOrdinal, u.ValueEx, u.Consumed = r.Uint32(), r.Uint64(), r.Uint64()
}

var usageCodec = codec[types.Name, ResourceUsage]{
	name: "resource_usage", key: nameKey, parse: parseName, hash: hashName,
	id: func(v *ResourceUsage) *uint64 { return &v.ID },
	encode: func(b []byte, v *ResourceUsage) []byte {
		b = serial.AppendUint64(b, v.ID)
		b = serial.AppendUint64(b, uint64(v.Owner))
		return serial.AppendUint64(v.CPU.Append(v.Net.Append(b)), v.RAM)
	},
	decode: func(r *serial.Reader, v *ResourceUsage) {
		v.ID = r.Uint64()
		v.Owner = types.Name(r.Uint64())
		v.Net.Read(r)
		v.CPU.Read(r)
		v.RAM = r.Uint64()
	},
}

var globalCodec = singleton("global_property", func(b []byte, v *GlobalProperty) []byte { return v.Append(b) },
	func(r *serial.Reader, v *GlobalProperty) { v.Read(r) })

// Append appends the row as snapshots of version 5 and 6 have it.
func (v GlobalProperty) Append(b []byte) []byte { return v.append(b, true) }

// AppendWithoutKV appends the row as snapshots have it from version 8 on.
func (v GlobalProperty) AppendWithoutKV(b []byte) []byte { return v.append(b, false) }

func (v GlobalProperty) append(b []byte, kv bool) []byte {
	b = serial.AppendBool(b, v.ProposedScheduleBlock != nil)
	if v.ProposedScheduleBlock != nil {
		b = serial.AppendUint32(b, *v.ProposedScheduleBlock)
	}
	b = v.ProposedSchedule.Append(b)
	b = v.Configuration.Append(b)
	b = append(b, v.ChainID[:]...)
	if kv {
		b = serial.AppendUint32(b, v.KV.MaxKeySize)
		b = serial.AppendUint32(b, v.KV.MaxValueSize)
		b = serial.AppendUint32(b, v.KV.MaxIterators)
	}
	return v.Wasm.Append(b)
}

// Read decodes a row of a snapshot of version 5 or 6.
func (v *GlobalProperty) Read(r *serial.Reader) { v.read(r, true) }

// ReadWithoutKV decodes a row of a snapshot from version 8 on.
func (v *GlobalProperty) ReadWithoutKV(r *serial.Reader) { v.read(r, false) }

func (v *GlobalProperty) read(r *serial.Reader, kv bool) {
	if r.Bool() {
		v.ProposedScheduleBlock = new(r.Uint32())
	}
	v.ProposedSchedule.Read(r)
	v.Configuration.Read(r)
	r.Copy(v.ChainID[:])
	if kv {
		v.KV = KVConfig{r.Uint32(), r.Uint32(), r.Uint32()}
	}
	v.Wasm.Read(r)
}

var protocolCodec = singleton("protocol_state", func(b []byte, v *ProtocolState) []byte { return v.Append(b) },
	func(r *serial.Reader, v *ProtocolState) { v.Read(r) })

// Append appends the row as snapshots have it.
func (v ProtocolState) Append(b []byte) []byte {
	b = serial.AppendCount(b, len(v.Activated))
	for i := range v.Activated {
		b = append(b, v.Activated[i].Digest[:]...)
		b = serial.AppendUint32(b, v.Activated[i].Block)
	}
	b = serial.AppendCount(b, len(v.Preactivated))
	for i := range v.Preactivated {
		b = append(b, v.Preactivated[i][:]...)
	}
	b = serial.AppendCount(b, len(v.Intrinsics))
	for _, n := range v.Intrinsics {
		b = serial.AppendString(b, n)
	}
	return serial.AppendUint32(b, v.KeyTypes)
}

// Read decodes a row of a snapshot.
func (v *ProtocolState) Read(r *serial.Reader) {
	v.Activated = make([]ActivatedFeature, r.Count(36))
	for i := range v.Activated {
		r.Copy(v.Activated[i].Digest[:])
		v.Activated[i].Block = r.Uint32()
	}
	v.Preactivated = make([]types.Checksum256, r.Count(32))
	for i := range v.Preactivated {
		r.Copy(v.Preactivated[i][:])
	}
	v.Intrinsics = make([]string, r.Count(1))
	for i := range v.Intrinsics {
		v.Intrinsics[i] = r.String()
	}
	v.KeyTypes = r.Uint32()
}

var dynamicCodec = singleton("dynamic_global_property",
	func(b []byte, v *DynamicGlobal) []byte { return serial.AppendUint64(b, v.ActionSequence) },
	func(r *serial.Reader, v *DynamicGlobal) { v.ActionSequence = r.Uint64() })

var resourceConfigCodec = singleton("resource_limits_config",
	func(b []byte, v *ResourceConfig) []byte { return v.Append(b) },
	func(r *serial.Reader, v *ResourceConfig) { v.Read(r) })

// Append appends the row as snapshots have it.
func (v ResourceConfig) Append(b []byte) []byte {
	b = v.Net.append(v.CPU.append(b))
	b = serial.AppendUint32(b, v.AccountCPUWindow)
	return serial.AppendUint32(b, v.AccountNetWindow)
}

// Read decodes a row of a snapshot.
func (v *ResourceConfig) Read(r *serial.Reader) {
	v.CPU.read(r)
	v.Net.read(r)
	v.AccountCPUWindow, v.AccountNetWindow = r.Uint32(), r.Uint32()
}

func (e *ElasticLimit) append(b []byte) []byte {
	b = serial.AppendUint64(b, e.Target)
	b = serial.AppendUint64(b, e.Max)
	b = serial.AppendUint32(b, e.Periods)
	b = serial.AppendUint32(b, e.MaxMultiplier)
	for _, q := range [...]Ratio{e.Contract, e.Expand} {
		b = serial.AppendUint64(serial.AppendUint64(b, q.Numerator), q.Denominator)
	}
	return b
}

func (e *ElasticLimit) read(r *serial.Reader) {
	e.Target, e.Max = r.Uint64(), r.Uint64()
	e.Periods, e.MaxMultiplier = r.Uint32(), r.Uint32()
	e.Contract = Ratio{r.Uint64(), r.Uint64()}
	e.Expand = Ratio{r.Uint64(), r.Uint64()}
}

var resourceStateCodec = singleton("resource_limits_state",
	func(b []byte, v *ResourceState) []byte { return v.Append(b) },
	func(r *serial.Reader, v *ResourceState) { v.Read(r) })

// Append appends the row as snapshots have it.
func (v ResourceState) Append(b []byte) []byte {
	b = v.AverageBlockCPU.Append(v.AverageBlockNet.Append(b))
	for _, n := range [...]uint64{v.PendingNet, v.PendingCPU, v.TotalNetWeight, v.TotalCPUWeight, v.TotalRAM,
		v.VirtualNet, v.VirtualCPU} {
		b = serial.AppendUint64(b, n)
	}
	return b
}

// Read decodes a row of a snapshot.
func (v *ResourceState) Read(r *serial.Reader) {
	v.AverageBlockNet.Read(r)
	v.AverageBlockCPU.Read(r)
	v.PendingNet, v.PendingCPU = r.Uint64(), r.Uint64()
	v.TotalNetWeight, v.TotalCPUWeight, v.TotalRAM = r.Uint64(), r.Uint64(), r.Uint64()
	v.VirtualNet, v.VirtualCPU = r.Uint64(), r.Uint64()
}
