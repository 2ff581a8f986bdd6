package rpc

import (
	"io/fs"
	"testing"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/accounts/keystore"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// unreadPool is a pool with a transaction that waits, and files that it cannot read.
type unreadPool struct {
	noPool
	txs types.Transactions
}

func (u *unreadPool) Pending() map[common.Address]types.Transactions {
	return map[common.Address]types.Transactions{common.HexToAddress(me): u.txs}
}

func (*unreadPool) Add(*types.Transaction) error {
	return &fs.PathError{Op: "read", Path: "/somewhere/secret", Err: fs.ErrPermission}
}

// Whoever sends a transaction, or offers more for one that waits, hears of no path of the node's.
func TestSendersHearOfNoPath(t *testing.T) {
	pool := new(unreadPool)
	keys := recordedAccounts(t)
	for _, k := range keys.Backends(keystore.KeyStoreType) {
		if err := k.(*keystore.KeyStore).Unlock(accounts.Account{Address: common.HexToAddress(me)},
			"fakepassword"); err != nil {
			t.Fatal(err)
		}
	}
	c := dial(t, newWorld(t, recordedEvents, Options{Accounts: keys, Pool: pool}))
	args := object{"from": me, "to": me, "gas": "0x5208", "nonce": "0x1", "gasPrice": "0x2e90edd000"}
	var signed struct{ Raw hexutil.Bytes }
	if err := c.Call(&signed, "eth_signTransaction", args); err != nil {
		t.Fatal(err)
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(signed.Raw); err != nil {
		t.Fatal(err)
	}
	pool.txs = types.Transactions{tx}
	var none any
	for method, params := range map[string][]any{
		"eth_sendRawTransaction": {signed.Raw}, "eth_sendTransaction": {args}, "eth_resend": {args, "0x5d21dba000"},
	} {
		if err := c.Call(&none, method, params...); err == nil || err.Error() != errFiles.Error() {
			t.Errorf("%s: %v", method, err)
		}
	}
}
