package rpc

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
)

// personal answers for personal: it takes passwords.
type personal struct{ s *Service }

func (p personal) ListAccounts() []common.Address { return p.s.options.Accounts.Accounts() }

// walletJSON is a wallet as clients see it.
type walletJSON struct {
	URL      string             `json:"url"`
	Status   string             `json:"status"`
	Failure  string             `json:"failure,omitempty"`
	Accounts []accounts.Account `json:"accounts,omitempty"`
}

func (p personal) ListWallets() []walletJSON {
	list := []walletJSON{}
	for _, w := range p.s.options.Accounts.Wallets() {
		status, failure := w.Status()
		one := walletJSON{URL: w.URL().String(), Status: status, Accounts: w.Accounts()}
		if failure != nil {
			one.Failure = failure.Error()
		}
		list = append(list, one)
	}
	return list
}

func (p personal) OpenWallet(url string, password *string) error {
	w, err := p.s.options.Accounts.Wallet(url)
	if err != nil {
		return err
	}
	if password == nil {
		password = new(string)
	}
	return w.Open(*password)
}

func (p personal) DeriveAccount(url, path string, pin *bool) (accounts.Account, error) {
	w, err := p.s.options.Accounts.Wallet(url)
	if err != nil {
		return accounts.Account{}, err
	}
	derivation, err := accounts.ParseDerivationPath(path)
	if err != nil {
		return accounts.Account{}, err
	}
	return w.Derive(derivation, pin != nil && *pin)
}

// InitializeWallet is about smart cards, of which this node knows none.
func (p personal) InitializeWallet(url string) (string, error) {
	if _, err := p.s.options.Accounts.Wallet(url); err != nil {
		return "", err
	}
	return "", errors.New("specified wallet does not support initialization")
}

// Unpair is about smart cards, too.
func (p personal) Unpair(url, pin string) error {
	if _, err := p.s.options.Accounts.Wallet(url); err != nil {
		return err
	}
	return errors.New("specified wallet does not support pairing")
}

// keys are the node's files of keys.
func (p personal) keys() (*keystore.KeyStore, error) {
	if all := p.s.options.Accounts.Backends(keystore.KeyStoreType); len(all) > 0 {
		if keys, ok := all[0].(*keystore.KeyStore); ok {
			return keys, nil
		}
	}
	return nil, errors.New("local keystore not used")
}

func (p personal) NewAccount(password string) (common.Address, error) {
	keys, err := p.keys()
	if err != nil {
		return common.Address{}, err
	}
	account, err := keys.NewAccount(password)
	return account.Address, err
}

func (p personal) ImportRawKey(private, password string) (common.Address, error) {
	key, err := crypto.HexToECDSA(private)
	if err != nil {
		return common.Address{}, err
	}
	keys, err := p.keys()
	if err != nil {
		return common.Address{}, err
	}
	account, err := keys.ImportECDSA(key, password)
	return account.Address, err
}

func (p personal) UnlockAccount(address common.Address, password string, seconds *uint64) (bool, error) {
	if p.s.options.Remote && !p.s.options.InsecureUnlock {
		return false, errors.New("account unlock with HTTP access is forbidden")
	}
	most := uint64(math.MaxInt64 / time.Second)
	duration := 300 * time.Second
	if seconds != nil {
		if *seconds > most {
			return false, errors.New("unlock duration too large")
		}
		duration = time.Duration(*seconds) * time.Second
	}
	keys, err := p.keys()
	if err != nil {
		return false, err
	}
	err = keys.TimedUnlock(accounts.Account{Address: address}, password, duration)
	return err == nil, err
}

func (p personal) LockAccount(address common.Address) bool {
	keys, err := p.keys()
	return err == nil && keys.Lock(address) == nil
}

func withPassword(password string) signer {
	return func(w accounts.Wallet, a accounts.Account, tx *types.Transaction, v *view) (*types.Transaction, error) {
		return w.SignTxWithPassphrase(a, password, tx, v.Config().ChainID)
	}
}

func (p personal) SendTransaction(ctx context.Context, a TransactionArgs, password string) (common.Hash, error) {
	return p.s.send(ctx, &a, withPassword(password))
}

func (p personal) SignAndSendTransaction(ctx context.Context, a TransactionArgs, password string) (common.Hash, error) {
	return p.s.send(ctx, &a, withPassword(password))
}

func (p personal) SignTransaction(ctx context.Context, a TransactionArgs, password string) (*signedJSON, error) {
	if a.From == nil {
		return nil, errors.New("sender not specified")
	}
	return p.s.signOnly(ctx, &a, withPassword(password))
}

func (p personal) Sign(data hexutil.Bytes, address common.Address, password string) (hexutil.Bytes, error) {
	account := accounts.Account{Address: address}
	w, err := p.s.options.Accounts.Find(account)
	if err != nil {
		return nil, err
	}
	signature, err := w.SignTextWithPassphrase(account, password, data)
	if err != nil {
		return nil, err
	}
	signature[crypto.RecoveryIDOffset] += 27
	return signature, nil
}

func (p personal) EcRecover(data, signature hexutil.Bytes) (common.Address, error) {
	if len(signature) != crypto.SignatureLength {
		return common.Address{}, fmt.Errorf("signature must be %d bytes long", crypto.SignatureLength)
	}
	v := &signature[crypto.RecoveryIDOffset]
	if *v != 27 && *v != 28 {
		return common.Address{}, errors.New("invalid Ethereum signature (V is not 27 or 28)")
	}
	*v -= 27
	key, err := crypto.SigToPub(accounts.TextHash(data), signature)
	if err != nil {
		return common.Address{}, err
	}
	return crypto.PubkeyToAddress(*key), nil
}
