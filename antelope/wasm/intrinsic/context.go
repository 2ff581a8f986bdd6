package intrinsic

import (
	"time"

	"tarn/antelope/types"
)

// Apply is what the host functions know of the receiver's run that they are called
// from: the value of [wasm.Call.Context], always by pointer. The chain fills one
// before every run of a contract's code (an action has a run per receiver) and may
// reuse it for the next; nothing of it changes during a run. One goroutine uses it.
type Apply struct {
	Chain Context

	Receiver    types.Name // whose code is running
	Privileged  bool       // the receiver was privileged when the run began
	ContextFree bool       // the action is a context-free one
	ReadOnly    bool       // the transaction is a read-only one
	Speculative bool       // the block is being produced or guessed, not validated (Leap: is_speculative_block)
	Console     bool       // what contracts print is kept (contracts-console)

	Data []byte // the action's data, never changed by a host function

	scratch []byte // what is packed or printed before it is copied on
	fuel    uint64 // until the next look at the clock
	ender   ender  // the call that is being served
	checker func() // what check returns
}

// CodedError is an exception with the error code that the action's trace shows.
// Every other exception of the chain shows GenericErrorCode, and exceptions that are
// not the chain's (kinds without [exception.ChainException] at the root) none
// (Leap: controller::convert_exception_to_error_code).
type CodedError struct {
	Code uint64
	Err  error // an *exception.Error
}

// Error is the exception's text.
func (e *CodedError) Error() string { return e.Err.Error() }

// Unwrap returns the exception.
func (e *CodedError) Unwrap() error { return e.Err }

// Codes of failures that a contract may not use (Leap: system_error_code).
const (
	GenericErrorCode    uint64 = 10_000_000_000_000_000_000
	RestrictedErrorCode uint64 = 10_000_000_000_000_000_001
)

// Context is what the chain does for a running contract (Leap: apply_context and what is
// behind it), as one answerer for each kind of question. A host function calls it only with
// arguments that nodeos would have accepted so far: the function's own checks (context-free,
// privileged, bounds, decoding, size limits) are done, in nodeos' order. What a comment
// calls "refuses" is left to the chain.
//
// Every error ends the contract's run with that error as it is: an
// *exception.Error for what nodeos throws, anything else for failures of this
// node (storage), which must not look like the contract's.
//
// Byte slices passed in are borrowed until the method returns: they are the
// contract's memory. Byte slices that methods return are read before the next call
// and never changed.
type Context struct {
	Authorizer
	Primary
	Secondary
	Sender
	Permissions
	Privileges
	Surroundings
}

// Authorizer tells who allowed the action and passes it on (Leap: apply_context.cpp).
type Authorizer interface {
	// RequireAuth refuses with MissingAuth, "missing authority of ACCOUNT", unless
	// the action's authorization names the actor.
	RequireAuth(account types.Name) error

	// RequireAuth2 refuses with MissingAuth, "missing authority of
	// ACCOUNT/PERMISSION", unless the action's authorization has exactly this level.
	RequireAuth2(account, permission types.Name) error

	// HasAuth tells whether the action's authorization names the actor.
	HasAuth(account types.Name) bool

	// RequireRecipient queues a notification, once for each account. The account
	// need not exist here: that fails when the notification runs.
	RequireRecipient(account types.Name) error

	// IsAccount tells whether the account exists.
	IsAccount(account types.Name) (bool, error)

	// CodeOf describes an account's code. An account without code, or none at all,
	// has zero hash, type and version; none at all has sequence 0 too.
	CodeOf(account types.Name) (Code, error)
}

// Code is what get_code_hash tells of an account.
type Code struct {
	Sequence  uint64
	Hash      types.Checksum256
	VMType    uint8
	VMVersion uint8
}

// Primary is the contract tables' primary index. Row iterators count from 0 in the
// order in which the run (with its notifications) first touches rows; table end
// iterators count down from -2; -1 means no table, or nothing before the first row.
//
// An iterator is checked in this order (Leap: iterator_cache::get): -1 is
// InvalidTableIterator "invalid iterator"; other negatives are
// TableOperationNotPermitted "dereference of end iterator"; beyond the last is
// InvalidTableIterator "iterator out of range"; a removed row's is
// TableOperationNotPermitted "dereference of deleted object".
//
// Methods that return a row's primary key too: it means something only if the
// iterator is not negative, and is not read otherwise.
type Primary interface {
	// StoreI64 creates a row of the receiver's. It refuses: a read-only transaction
	// (TableOperationNotPermitted, "cannot store a db record when executing a
	// readonly transaction"); the payer 0 (InvalidTablePayer, "must specify a valid
	// account to pay for new record"), though after the table was created and
	// charged; a key that exists (nodeos: a uniqueness error of chainbase, a
	// std::exception).
	StoreI64(scope, table, payer types.Name, id uint64, data []byte) (itr int32, err error)

	// UpdateI64 replaces a row's data, and its payer unless that is 0. It refuses:
	// a read-only transaction ("cannot update a db record when executing a readonly
	// transaction"), a bad iterator, a row of another contract's
	// (TableAccessViolation, "db access violation"), in this order.
	UpdateI64(itr int32, payer types.Name, data []byte) error

	// RemoveI64 removes a row, and its table with the last one. It refuses like
	// UpdateI64 ("cannot remove a db record when ...").
	RemoveI64(itr int32) error

	// GetI64 returns a row's data. It refuses a bad iterator.
	GetI64(itr int32) (data []byte, err error)

	// NextI64 goes to the row after: the table's end iterator at the last; -1 from
	// any iterator below -1. It refuses a bad iterator.
	NextI64(itr int32) (next int32, primary uint64, err error)

	// PreviousI64 goes to the row before: -1 at the first; from an end iterator to
	// the last row, or -1 in an empty table. It refuses a bad iterator, and an end
	// iterator of no table (InvalidTableIterator, "not a valid end iterator").
	PreviousI64(itr int32) (previous int32, primary uint64, err error)

	// FindI64 finds the row: the table's end iterator if it is missing, -1 if the
	// table is.
	FindI64(code, scope, table types.Name, id uint64) (int32, error)

	// LowerBoundI64 finds the first row not before id; misses are FindI64's.
	LowerBoundI64(code, scope, table types.Name, id uint64) (int32, error)

	// UpperBoundI64 finds the first row after id; misses are FindI64's.
	UpperBoundI64(code, scope, table types.Name, id uint64) (int32, error)

	// EndI64 returns the table's end iterator, -1 if there is no such table.
	EndI64(code, scope, table types.Name) (int32, error)
}

// Secondary is the contract tables' five secondary indices, each with iterators of
// its own, numbered and refused like those of [Primary], with the same messages.
// Keys are never NaN, except those that a row already holds.
type Secondary interface {
	// SecondaryStore creates an entry of the receiver's. It refuses like StoreI64,
	// but a payer of 0 before the table is created.
	SecondaryStore(index Index, scope, table, payer types.Name, id uint64, key SecondaryKey) (itr int32, err error)

	// SecondaryUpdate replaces an entry's key, and its payer unless that is 0. It
	// refuses like UpdateI64.
	SecondaryUpdate(index Index, itr int32, payer types.Name, key SecondaryKey) error

	// SecondaryRemove removes an entry. It refuses like RemoveI64.
	SecondaryRemove(index Index, itr int32) error

	// SecondaryNext moves to the next entry in the order of the keys, and of primary keys
	// among equal ones. It returns and refuses like NextI64.
	SecondaryNext(index Index, itr int32) (next int32, primary uint64, err error)
	// SecondaryPrevious moves to the entry before, in the same order. It returns and refuses
	// like PreviousI64.
	SecondaryPrevious(index Index, itr int32) (previous int32, primary uint64, err error)

	// SecondaryFind finds the first entry whose key equals key, as numbers: -0 is 0.
	// Misses are FindI64's.
	SecondaryFind(index Index, code, scope, table types.Name, key SecondaryKey) (itr int32, primary uint64, err error)

	// SecondaryFindPrimary finds the entry of a primary key and returns its key,
	// which means something only if the iterator is not negative.
	SecondaryFindPrimary(index Index, code, scope, table types.Name, primary uint64) (itr int32,
		key SecondaryKey, err error)

	// SecondaryLowerBound finds the first entry whose key is key or above. primary and found
	// mean something only if the iterator is not negative.
	SecondaryLowerBound(index Index, code, scope, table types.Name, key SecondaryKey) (itr int32, primary uint64,
		found SecondaryKey, err error)
	// SecondaryUpperBound finds the first entry whose key is above key. primary and found mean
	// something only if the iterator is not negative.
	SecondaryUpperBound(index Index, code, scope, table types.Name, key SecondaryKey) (itr int32, primary uint64,
		found SecondaryKey, err error)

	// SecondaryEnd returns the table's end iterator in this index, -1 if there is no
	// such table.
	SecondaryEnd(index Index, code, scope, table types.Name) (int32, error)
}

// Sender queues actions and transactions. Values passed in are the chain's to keep.
type Sender interface {
	// SendInline queues an action, after the checks of apply_context::execute_inline
	// (account, actors and permissions exist; the receiver's eosio.code may act for
	// them). Its data is smaller than MaxInlineActionSize, encoded.
	SendInline(action types.Action) error

	// SendContextFreeInline queues a context-free action. It refuses with
	// ActionValidate a missing account ("inline action's code account ACCOUNT does
	// not exist") and an authorization ("context-free actions cannot have
	// authorizations").
	SendContextFreeInline(action types.Action) error

	// SendDeferred schedules a transaction of the receiver's; nothing once
	// DISABLE_DEFERRED_TRXS_STAGE_1 is active. It refuses a read-only transaction
	// and whatever apply_context::schedule_deferred_transaction does.
	SendDeferred(id types.Uint128, payer types.Name, trx *types.Transaction, replace bool) error

	// CancelDeferred tells whether it cancelled the receiver's transaction with this
	// id; false once DISABLE_DEFERRED_TRXS_STAGE_1 is active. It refuses a read-only
	// transaction (Transaction, "cannot cancel a deferred transaction from within a
	// readonly transaction").
	CancelDeferred(id types.Uint128) (bool, error)

	// SetReturnValue keeps a copy of the action's return value. Its length was
	// checked.
	SetReturnValue(value []byte)

	// SenderOf is the receiver of the action that sent this one inline, 0 if none
	// did (Leap: apply_context::get_sender).
	SenderOf() types.Name
}

// Permissions answers questions about authority.
type Permissions interface {
	// CheckTransactionAuthorization fails with an exception derived from
	// Authorization, which the contract sees as false, unless keys and levels,
	// both ascending and without duplicates, satisfy what the actions declare
	// after delay microseconds. Other exceptions end the run. CheckTime is called
	// meanwhile; unused keys are allowed (Leap: authorization_manager::check_authorization).
	CheckTransactionAuthorization(actions []types.Action, keys []types.PublicKey, levels []types.PermissionLevel,
		delay int64) error

	// CheckPermissionAuthorization is the same for one permission of an account.
	CheckPermissionAuthorization(account, permission types.Name, keys []types.PublicKey, levels []types.PermissionLevel,
		delay int64) error

	// PermissionLastUsed refuses a missing permission like
	// authorization_manager::get_permission.
	PermissionLastUsed(account, permission types.Name) (types.TimePoint, error)

	// AccountCreation returns when an account was created; false if it does not
	// exist.
	AccountCreation(account types.Name) (types.TimePoint, bool, error)
}

// Privileges is what privileged contracts do. Changes are never asked for in a
// read-only transaction.
type Privileges interface {
	// PreactivateFeature refuses like controller::preactivate_feature.
	PreactivateFeature(digest types.Checksum256) error

	// SetResourceLimits sets an account's limits, each -1 or more, to be effective at
	// the end of the block, except that less RAM is checked at the transaction's end
	// (Leap: resource_limits_manager::set_account_limits).
	SetResourceLimits(account types.Name, ram, net, cpu int64) error

	// ResourceLimits returns an account's limits, pending ones if there are any.
	ResourceLimits(account types.Name) (ram, net, cpu int64, err error)

	// SetProposedProducers proposes a schedule, which was checked but for what
	// depends on the schedules there are; it returns the version that it will have,
	// -1 if it was not proposed (Leap: controller::set_proposed_producers).
	SetProposedProducers(producers []types.ProducerAuthority) (int64, error)

	// MostProducers is how many producers a schedule may have.
	MostProducers() int

	// SetFinalizers proposes finalizers, which were checked, in place of those that the
	// transaction has proposed before. The generation is not set (Spring:
	// transaction_context::set_proposed_finalizers).
	SetFinalizers(*types.FinalizerPolicy)

	// ChainConfig returns the chain's configuration, to be copied before the next
	// call.
	ChainConfig() *types.ChainConfig

	// SetChainConfig replaces it; the new one was validated.
	SetChainConfig(config types.ChainConfig) error

	// WasmConfig returns the limits of contracts, to be copied before the next call.
	WasmConfig() *types.WasmConfig

	// SetWasmConfig replaces them; the new ones were validated.
	SetWasmConfig(config types.WasmConfig) error

	// IsPrivileged refuses an account that does not exist. (nodeos: a
	// std::out_of_range of chainbase.)
	IsPrivileged(account types.Name) (bool, error)

	// SetPrivileged refuses an account that does not exist, the same way.
	SetPrivileged(account types.Name, privileged bool) error

	// EmptyScheduleAllowed tells that DISALLOW_EMPTY_PRODUCER_SCHEDULE is not active.
	EmptyScheduleAllowed() bool

	// ReturnValueConfigured tells that ACTION_RETURN_VALUE is active, so that the
	// configuration has its last field.
	ReturnValueConfigured() bool
}

// Surroundings is the block, the transaction and the node around the action.
type Surroundings interface {
	// Transaction returns the transaction that is being executed, unchanged.
	Transaction() *types.Transaction

	// PackedTransaction is its encoding, without signatures or context-free data
	// and never compressed. The chain encodes it once.
	PackedTransaction() []byte

	// ContextFreeData returns an entry of the transaction's context-free data; false
	// beyond the last.
	ContextFreeData(index uint32) ([]byte, bool)

	// BlockTime is the time of the block under way.
	BlockTime() types.TimePoint
	// BlockNum is the number of the block under way: one above the head's.
	BlockNum() uint32

	// PublicationTime is when the transaction was published: its block's time, or
	// for a deferred one the time of the block that scheduled it.
	PublicationTime() types.TimePoint

	// FeatureActivated tells whether the protocol feature is active.
	FeatureActivated(digest types.Checksum256) bool

	// ActiveProducers returns the accounts of the active schedule, in its order.
	ActiveProducers() []types.Name

	// KeyTypes is how many types of keys the protocol allows, 2 or 3.
	KeyTypes() (int, error)

	// Spring tells whether signatures are read as by Spring: [crypto.RecoverSpring].
	Spring() bool

	// MaxSignatureSize limits the variable part of a signature that is recovered
	// while producing (maximum-variable-signature-length).
	MaxSignatureSize() uint32

	// Print adds to the action's console output: what a contract prints, with Apply.Console, and
	// what a host function says by itself.
	Print(text []byte)

	// CheckTime fails when the transaction may not go on (Leap:
	// transaction_context::checktime). Long host functions call it.
	CheckTime() error

	// CheckTimeFor fails when the transaction may not go on for so long. It is asked
	// before work that cannot be stopped.
	CheckTimeFor(work time.Duration) error
}
