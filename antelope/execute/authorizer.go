package execute

import (
	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// RequireAuth implements intrinsic.Authorizer.
func (a *action) RequireAuth(account types.Name) error {
	if a.HasAuth(account) {
		return nil
	}
	return exception.New(exception.MissingAuth, "missing authority of ${account}", "account", account)
}

// RequireAuth2 implements intrinsic.Authorizer.
func (a *action) RequireAuth2(account, permission types.Name) error {
	for _, l := range a.act.Authorization {
		if l.Actor == account && l.Permission == permission {
			return nil
		}
	}
	return exception.New(exception.MissingAuth, "missing authority of ${account}/${permission}",
		"account", account, "permission", permission)
}

// HasAuth implements intrinsic.Authorizer.
func (a *action) HasAuth(account types.Name) bool {
	for i := range a.act.Authorization {
		if a.act.Authorization[i].Actor == account {
			return true
		}
	}
	return false
}

// RequireRecipient implements intrinsic.Authorizer.
func (a *action) RequireRecipient(account types.Name) error {
	a.env.Charge(uint64(len(a.notified)))
	for i := range a.notified {
		if a.notified[i].receiver == account {
			return nil
		}
	}
	ordinal, err := a.schedule(*a.act, account, false, 0)
	if err != nil {
		return err
	}
	a.notified = append(a.notified, notification{account, ordinal})
	if d := a.deepMind(); d != nil {
		d.RequireRecipient()
	}
	return nil
}

// IsAccount implements intrinsic.Authorizer. An account and its metadata are made
// together and stay for ever: the metadata is asked because a notification of the
// account, which mostly follows, needs it anyway.
func (a *action) IsAccount(n types.Name) (bool, error) {
	m, err := a.e.state.Metadata.Get(n)
	return m != nil, err
}

// CodeOf implements intrinsic.Authorizer.
func (a *action) CodeOf(n types.Name) (intrinsic.Code, error) {
	m, err := a.e.state.Metadata.Get(n)
	if err != nil || m == nil {
		return intrinsic.Code{}, err
	}
	if m.CodeHash.IsZero() {
		return intrinsic.Code{Sequence: m.CodeSequence}, nil
	}
	return intrinsic.Code{Sequence: m.CodeSequence, Hash: m.CodeHash, VMType: m.VMType, VMVersion: m.VMVersion}, nil
}
