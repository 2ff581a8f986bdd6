package execute

import (
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Names with a meaning for the chain.
var (
	nameEosio    = types.N("eosio")
	nameNull     = types.N("eosio.null")
	nameProds    = types.N("eosio.prods")
	nameOwner    = types.N("owner")
	nameActive   = types.N("active")
	nameMajor    = types.N("prod.major")
	nameMinor    = types.N("prod.minor")
	nameAny      = types.N("eosio.any")
	nameCode     = types.N("eosio.code")
	nameOnblock  = types.N("onblock")
	nameOnerror  = types.N("onerror")
	nameSetcode  = types.N("setcode")
	reservedName = "eosio."
)

// What rows are billed for, in bytes (Leap: config.hpp, billable_size_v).
const (
	billableAccount  = 2048
	billableTable    = 112
	billableRow      = 112
	billableDeferred = 272
	billableCode     = 10 // times the code's length
)

// billableIndex is the same of secondary indices, by state.Kind.
var billableIndex = [state.Kinds]int64{128, 144, 160, 128, 144}

// transactionIDNetUsage is billed for the receipt of a transaction by its id.
const transactionIDNetUsage = 32

// defaultLeeway is how much longer than the accounts can pay a transaction may run,
// in microseconds.
const defaultLeeway = 31_000
