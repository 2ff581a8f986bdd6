package types

import (
	"bytes"
	"errors"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// The data of the actions that the system account's contract does not handle
// alone: the chain itself does (Leap: contract_types.hpp).
type (
	// NewAccount is the data of newaccount.
	NewAccount struct {
		Creator Name
		Name    Name
		Owner   Authority
		Active  Authority
	}

	// SetCode is the data of setcode. No code removes the contract.
	SetCode struct {
		Account   Name
		VMType    uint8
		VMVersion uint8
		Code      []byte
	}

	// SetABI is the data of setabi.
	SetABI struct {
		Account Name
		ABI     []byte
	}

	// UpdateAuth is the data of updateauth, which makes or changes a permission.
	UpdateAuth struct {
		Account    Name
		Permission Name
		Parent     Name
		Authority  Authority
	}

	// DeleteAuth is the data of deleteauth.
	DeleteAuth struct {
		Account    Name
		Permission Name
	}

	// LinkAuth is the data of linkauth: what Requirement is to be enough for. An
	// empty Action is every action of Code.
	LinkAuth struct {
		Account     Name
		Code        Name
		Action      Name
		Requirement Name
	}

	// UnlinkAuth is the data of unlinkauth.
	UnlinkAuth struct {
		Account Name
		Code    Name
		Action  Name
	}

	// CancelDelay is the data of canceldelay.
	CancelDelay struct {
		CancelingAuth PermissionLevel
		TrxID         Checksum256
	}

	// OnError is the data of onerror, which tells a sender that its deferred
	// transaction failed.
	OnError struct {
		SenderID Uint128
		SentTrx  []byte
	}
)

// ReadAction decodes the data of an action into v. Like nodeos it does not mind
// bytes that follow (Leap: action::data_as).
func ReadAction(data []byte, v interface{ Read(*serial.Reader) }) error {
	r := serial.NewReader(data)
	v.Read(r)
	err := r.Err()
	if err == nil || exception.Of(err) != nil {
		return err
	}
	if errors.Is(err, serial.ErrShort) {
		return exception.New(exception.FCOutOfRange, "${method} datastream of length ${len} over by ${over}",
			"method", "read", "len", len(data), "over", 1-(len(data)-r.Offset()))
	}
	return exception.Wrap(exception.FCAssert, err, "the action's data")
}

// AppendJSON appends an object.
func (v NewAccount) AppendJSON(b []byte) []byte {
	return openObject(b).json("creator", v.Creator).json("name", v.Name).json("owner", v.Owner).json("active",
		v.Active).close()
}

// AppendJSON appends an object.
func (v LinkAuth) AppendJSON(b []byte) []byte {
	return openObject(b).json("account", v.Account).json("code", v.Code).json("type", v.Action).json("requirement",
		v.Requirement).close()
}

// Append appends the names and both authorities.
func (v NewAccount) Append(b []byte) []byte {
	return v.Active.Append(v.Owner.Append(v.Name.Append(v.Creator.Append(b))))
}

// Read reads the names and both authorities.
func (v *NewAccount) Read(r *serial.Reader) {
	v.Creator.Read(r)
	v.Name.Read(r)
	v.Owner.Read(r)
	v.Active.Read(r)
}

// Append appends the account, the two numbers and the code.
func (v SetCode) Append(b []byte) []byte {
	return serial.AppendBytes(append(v.Account.Append(b), v.VMType, v.VMVersion), v.Code)
}

// Read reads the account, the two numbers and the code.
func (v *SetCode) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.VMType, v.VMVersion = r.Uint8(), r.Uint8()
	v.Code = bytes.Clone(r.Bytes())
}

// Append appends the account and the ABI.
func (v SetABI) Append(b []byte) []byte { return serial.AppendBytes(v.Account.Append(b), v.ABI) }

// Read reads the account and the ABI.
func (v *SetABI) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.ABI = bytes.Clone(r.Bytes())
}

// Append appends the three names and the authority.
func (v UpdateAuth) Append(b []byte) []byte {
	return v.Authority.Append(v.Parent.Append(v.Permission.Append(v.Account.Append(b))))
}

// Read reads the three names and the authority.
func (v *UpdateAuth) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.Permission.Read(r)
	v.Parent.Read(r)
	v.Authority.Read(r)
}

// Append appends the names.
func (v DeleteAuth) Append(b []byte) []byte { return v.Permission.Append(v.Account.Append(b)) }

// Read reads the names.
func (v *DeleteAuth) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.Permission.Read(r)
}

// Append appends the names.
func (v LinkAuth) Append(b []byte) []byte {
	return v.Requirement.Append(v.Action.Append(v.Code.Append(v.Account.Append(b))))
}

// Read reads the names.
func (v *LinkAuth) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.Code.Read(r)
	v.Action.Read(r)
	v.Requirement.Read(r)
}

// Append appends the names.
func (v UnlinkAuth) Append(b []byte) []byte {
	return v.Action.Append(v.Code.Append(v.Account.Append(b)))
}

// Read reads the names.
func (v *UnlinkAuth) Read(r *serial.Reader) {
	v.Account.Read(r)
	v.Code.Read(r)
	v.Action.Read(r)
}

// Append appends the authorization and the transaction's id.
func (v CancelDelay) Append(b []byte) []byte { return append(v.CancelingAuth.Append(b), v.TrxID[:]...) }

// Read reads the authorization and the transaction's id.
func (v *CancelDelay) Read(r *serial.Reader) {
	v.CancelingAuth.Read(r)
	r.Copy(v.TrxID[:])
}

// Append appends the number and the packed transaction.
func (v OnError) Append(b []byte) []byte { return serial.AppendBytes(v.SenderID.Append(b), v.SentTrx) }
