package types

// PermissionLevel names a permission of an account.
type PermissionLevel struct {
	Actor      Name
	Permission Name
}

// KeyWeight is a key's share in an authority.
type KeyWeight struct {
	Key    PublicKey
	Weight uint16
}

// PermissionLevelWeight is another permission's share in an authority.
type PermissionLevelWeight struct {
	Permission PermissionLevel
	Weight     uint16
}

// WaitWeight is a delay's share in an authority.
type WaitWeight struct {
	WaitSec uint32
	Weight  uint16
}

// Authority is what it takes to act with a permission: shares of at least Threshold.
type Authority struct {
	Threshold uint32
	Keys      []KeyWeight
	Accounts  []PermissionLevelWeight
	Waits     []WaitWeight
}
