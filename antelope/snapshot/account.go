package snapshot

import (
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// accountRow is account_object.
type accountRow struct {
	name    types.Name
	created types.BlockTimestamp
	abi     []byte
}

func (r *accountRow) Append(b []byte) []byte {
	return serial.AppendBytes(r.created.Append(r.name.Append(b)), r.abi)
}

func (r *accountRow) Read(s *serial.Reader) {
	r.name.Read(s)
	r.created.Read(s)
	r.abi = s.Bytes()
}

func (r *accountRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("name", r.name)
		d.textField("creation_date", r.created)
		d.base64Field("abi", r.abi)
	})
	return d.b
}

// metadataRow is account_metadata_object.
type metadataRow struct{ state.AccountMetadata }

func (r *metadataRow) Append(b []byte) []byte {
	b = r.Name.Append(b)
	for _, n := range [...]uint64{r.RecvSequence, r.AuthSequence, r.CodeSequence, r.ABISequence} {
		b = serial.AppendUint64(b, n)
	}
	b = r.LastCodeUpdate.Append(append(b, r.CodeHash[:]...))
	return append(serial.AppendUint32(b, r.Flags), r.VMType, r.VMVersion)
}

func (r *metadataRow) Read(s *serial.Reader) {
	r.Name.Read(s)
	r.RecvSequence, r.AuthSequence = s.Uint64(), s.Uint64()
	r.CodeSequence, r.ABISequence = s.Uint64(), s.Uint64()
	r.CodeHash.Read(s)
	r.LastCodeUpdate.Read(s)
	r.Flags = s.Uint32()
	r.VMType, r.VMVersion = s.Uint8(), s.Uint8()
}

func (r *metadataRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("name", r.Name)
		d.unsignedField("recv_sequence", r.RecvSequence)
		d.unsignedField("auth_sequence", r.AuthSequence)
		d.unsignedField("code_sequence", r.CodeSequence)
		d.unsignedField("abi_sequence", r.ABISequence)
		d.digestField("code_hash", &r.CodeHash)
		d.textField("last_code_update", r.LastCodeUpdate)
		d.unsignedField("flags", uint64(r.Flags))
		d.unsignedField("vm_type", uint64(r.VMType))
		d.unsignedField("vm_version", uint64(r.VMVersion))
	})
	return d.b
}

// correctionRow is account_ram_correction_object.
type correctionRow struct{ state.RAMCorrection }

func (r *correctionRow) Append(b []byte) []byte {
	return serial.AppendUint64(r.Name.Append(b), r.Correction)
}

func (r *correctionRow) Read(s *serial.Reader) {
	r.Name.Read(s)
	r.Correction = s.Uint64()
}

func (r *correctionRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("name", r.Name)
		d.unsignedField("ram_correction", r.Correction)
	})
	return d.b
}

// codeRow is code_object.
type codeRow struct {
	state.Code
	bytes []byte
}

func (r *codeRow) Append(b []byte) []byte {
	b = serial.AppendBytes(append(b, r.Key.Hash[:]...), r.bytes)
	b = serial.AppendUint32(serial.AppendUint64(b, r.RefCount), r.FirstBlockUsed)
	return append(b, r.Key.VMType, r.Key.VMVersion)
}

func (r *codeRow) Read(s *serial.Reader) {
	r.Key.Hash.Read(s)
	r.bytes = s.Bytes()
	r.RefCount = s.Uint64()
	r.FirstBlockUsed = s.Uint32()
	r.Key.VMType, r.Key.VMVersion = s.Uint8(), s.Uint8()
}

func (r *codeRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.digestField("code_hash", &r.Key.Hash)
		d.base64Field("code", r.bytes)
		d.unsignedField("code_ref_count", r.RefCount)
		d.unsignedField("first_block_used", uint64(r.FirstBlockUsed))
		d.unsignedField("vm_type", uint64(r.Key.VMType))
		d.unsignedField("vm_version", uint64(r.Key.VMVersion))
	})
	return d.b
}

// permissionRow is snapshot_permission_object.
type permissionRow struct{ state.Permission }

func (r *permissionRow) Append(b []byte) []byte {
	b = r.Key.Name.Append(r.Key.Owner.Append(r.Parent.Append(b)))
	return r.Authority.Append(r.LastUsed.Append(r.LastUpdated.Append(b)))
}

func (r *permissionRow) Read(s *serial.Reader) {
	r.Parent.Read(s)
	r.Key.Owner.Read(s)
	r.Key.Name.Read(s)
	r.LastUpdated.Read(s)
	r.LastUsed.Read(s)
	r.Authority.Read(s)
}

func (r *permissionRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("parent", r.Parent)
		d.textField("owner", r.Key.Owner)
		d.textField("name", r.Key.Name)
		d.textField("last_updated", r.LastUpdated)
		d.textField("last_used", r.LastUsed)
		d.authority("auth", &r.Authority)
	})
	return d.b
}

// linkRow is permission_link_object.
type linkRow struct{ state.PermissionLink }

func (r *linkRow) Append(b []byte) []byte {
	return r.Required.Append(r.Key.Action.Append(r.Key.Code.Append(r.Key.Account.Append(b))))
}

func (r *linkRow) Read(s *serial.Reader) {
	r.Key.Account.Read(s)
	r.Key.Code.Read(s)
	r.Key.Action.Read(s)
	r.Required.Read(s)
}

func (r *linkRow) AppendJSON(b []byte) []byte {
	d := document{b: b}
	d.object("", func() {
		d.textField("account", r.Key.Account)
		d.textField("code", r.Key.Code)
		d.textField("message_type", r.Key.Action)
		d.textField("required_permission", r.Required)
	})
	return d.b
}
