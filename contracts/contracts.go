// Package contracts holds the contracts that a chain of one's own begins with: boot,
// finalizers and bios for the account eosio, and a token. Their sources (.wat) are in the folders
// beside their modules and ABIs, which deploy with the tools of any Antelope network.
//
// It owns the contracts, and knows nothing of chains.
package contracts

import _ "embed"

// Contract is what is put on an account.
type Contract struct {
	Code []byte // a module of WebAssembly; not to be changed
	ABI  string // JSON
}

//go:embed token/token.wasm
var tokenCode []byte

//go:embed token/token.abi
var tokenABI string

//go:embed boot/boot.wasm
var bootCode []byte

//go:embed boot/boot.abi
var bootABI string

//go:embed finalizers/finalizers.wasm
var finalizersCode []byte

//go:embed finalizers/finalizers.abi
var finalizersABI string

//go:embed bios/bios.wasm
var biosCode []byte

//go:embed bios/bios.abi
var biosABI string

// Token is a token contract in the interface of eosio.token.
func Token() Contract { return Contract{tokenCode, tokenABI} }

// Boot activates protocol features, in the interface of eosio.boot. It needs
// PREACTIVATE_FEATURE.
func Boot() Contract { return Contract{bootCode, bootABI} }

// Finalizers sets who finalizes the chain's blocks (action setfinalizer), with keys as points. It
// needs SAVANNA. The first such action begins the switch to instant finality.
func Finalizers() Contract { return Contract{finalizersCode, finalizersABI} }

// Bios does what Boot does, and sets producers, privileges, limits and parameters, in
// the interface of eosio.bios. It needs WTMSIG_BLOCK_SIGNATURES besides.
func Bios() Contract { return Contract{biosCode, biosABI} }
