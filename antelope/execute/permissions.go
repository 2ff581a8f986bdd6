package execute

import (
	"tarn/antelope/authority"
	"tarn/antelope/types"
)

// permissions answers what contracts ask about authority ([intrinsic.Permissions]).
type permissions struct{ *action }

// CheckTransactionAuthorization implements intrinsic.Permissions.
func (p permissions) CheckTransactionAuthorization(
	actions []types.Action, keys []types.PublicKey, levels []types.PermissionLevel, delay int64,
) error {
	return p.e.authority.CheckAuthorization(actions, &authority.Check{Keys: keys, Provided: levels, Delay: delay,
		Checktime: p.trx.checktime})
}

// CheckPermissionAuthorization implements intrinsic.Permissions.
func (p permissions) CheckPermissionAuthorization(
	account, permission types.Name, keys []types.PublicKey, levels []types.PermissionLevel, delay int64,
) error {
	return p.e.authority.CheckPermission(types.PermissionLevel{Actor: account, Permission: permission},
		&authority.Check{Keys: keys, Provided: levels, Delay: delay, Checktime: p.trx.checktime})
}

// PermissionLastUsed implements intrinsic.Permissions.
func (p permissions) PermissionLastUsed(account, permission types.Name) (types.TimePoint, error) {
	return p.e.authority.LastUsed(types.PermissionLevel{Actor: account, Permission: permission})
}

// AccountCreation implements intrinsic.Permissions.
func (p permissions) AccountCreation(n types.Name) (types.TimePoint, bool, error) {
	account, err := p.e.state.Accounts.Get(n)
	if err != nil || account == nil {
		return 0, false, err
	}
	return account.Created.TimePoint(), true, nil
}
