package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"

	"github.com/ethereum/go-ethereum/accounts"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/evm"
)

// txpool answers for txpool about what waits.
type txpool struct{ s *Service }

// by tells transactions by their nonces.
func by[T any](txs types.Transactions, tell func(*types.Transaction) T) map[string]T {
	list := make(map[string]T, len(txs))
	for _, tx := range txs {
		list[strconv.FormatUint(tx.Nonce(), 10)] = tell(tx)
	}
	return list
}

func all[T any](of map[common.Address]types.Transactions, tell func(*types.Transaction) T) map[string]map[string]T {
	list := make(map[string]map[string]T, len(of))
	for sender, txs := range of {
		list[sender.Hex()] = by(txs, tell)
	}
	return list
}

func (t txpool) Content() map[string]map[string]map[string]*TxJSON {
	pending, queued := t.s.options.Pool.Content()
	return map[string]map[string]map[string]*TxJSON{"pending": all(pending, pendingJSON),
		"queued": all(queued, pendingJSON)}
}

func (t txpool) ContentFrom(sender common.Address) map[string]map[string]*TxJSON {
	pending, queued := t.s.options.Pool.ContentFrom(sender)
	return map[string]map[string]*TxJSON{"pending": by(pending, pendingJSON), "queued": by(queued, pendingJSON)}
}

func (t txpool) Status() map[string]hexutil.Uint {
	pending, queued := t.s.options.Pool.Stats()
	return map[string]hexutil.Uint{"pending": hexutil.Uint(pending), "queued": hexutil.Uint(queued)}
}

func (t txpool) Inspect() map[string]map[string]map[string]string {
	tell := func(tx *types.Transaction) string {
		to := "contract creation"
		if tx.To() != nil {
			to = tx.To().Hex()
		}
		return fmt.Sprintf("%s: %v wei + %v gas × %v wei", to, tx.Value(), tx.Gas(), tx.GasPrice())
	}
	pending, queued := t.s.options.Pool.Content()
	return map[string]map[string]map[string]string{"pending": all(pending, tell), "queued": all(queued, tell)}
}

// locks let one request at a time choose a sender's next nonce.
type locks struct {
	mu sync.Mutex
	of map[common.Address]*sync.Mutex
}

// lock locks a sender, one of the node's own, and returns what unlocks it.
func (l *locks) lock(sender common.Address) func() {
	l.mu.Lock()
	if l.of == nil {
		l.of = map[common.Address]*sync.Mutex{}
	}
	if l.of[sender] == nil {
		l.of[sender] = new(sync.Mutex)
	}
	m := l.of[sender]
	l.mu.Unlock()
	m.Lock()
	return m.Unlock
}

// ethSender answers for eth and ftm about transactions that are to be sent.
type ethSender struct{ s *Service }

// submit gives a signed transaction to the pool.
func (s *Service) submit(tx *types.Transaction) (common.Hash, error) {
	if err := s.checkFee(tx.GasPrice(), tx.Gas()); err != nil {
		return common.Hash{}, err
	}
	if !s.options.AllowUnprotected && !tx.Protected() {
		return common.Hash{}, errors.New("only replay-protected (EIP-155) transactions allowed over RPC")
	}
	if err := s.options.Pool.Add(tx); err != nil {
		return common.Hash{}, s.public(err)
	}
	return tx.Hash(), nil
}

// decodeTx reads a transaction of one of the types that Opera has.
func decodeTx(raw []byte) (*types.Transaction, error) {
	switch {
	case len(raw) == 0:
		return nil, errors.New("empty typed transaction bytes")
	case raw[0] < 0x80 && raw[0] != types.AccessListTxType && raw[0] != types.DynamicFeeTxType:
		return nil, types.ErrTxTypeNotSupported
	case raw[0] < 0x80 && len(raw) == 1:
		return nil, io.EOF
	}
	tx := new(types.Transaction)
	if err := tx.UnmarshalBinary(raw); err != nil {
		return nil, err
	}
	return tx, nil
}

func (e ethSender) SendRawTransaction(raw hexutil.Bytes) (common.Hash, error) {
	tx, err := decodeTx(raw)
	if err != nil {
		return common.Hash{}, err
	}
	return e.s.submit(tx)
}

// signer signs a transaction of an account of the node's.
type signer func(wallet accounts.Wallet, account accounts.Account, tx *types.Transaction,
	v *view) (*types.Transaction, error)

func signUnlocked(
	wallet accounts.Wallet, account accounts.Account, tx *types.Transaction, v *view,
) (*types.Transaction, error) {
	return wallet.SignTx(account, tx, v.Config().ChainID)
}

// send completes arguments, signs and submits.
func (s *Service) send(ctx context.Context, a *TransactionArgs, sign signer) (common.Hash, error) {
	account := accounts.Account{Address: a.from()}
	wallet, err := s.options.Accounts.Find(account)
	if err != nil {
		return common.Hash{}, err
	}
	if a.Nonce == nil {
		defer s.nonces.lock(a.from())()
	}
	tx, err := read(s, func(v *view) (*types.Transaction, error) {
		if err := a.complete(ctx, v); err != nil {
			return nil, err
		}
		return sign(wallet, account, a.transaction(), v)
	})
	if err != nil {
		return common.Hash{}, err
	}
	return s.submit(tx)
}

func (e ethSender) SendTransaction(ctx context.Context, a TransactionArgs) (common.Hash, error) {
	return e.s.send(ctx, &a, signUnlocked)
}

// signedJSON is a transaction in its own form, and told.
type signedJSON struct {
	Raw hexutil.Bytes `json:"raw"`
	Tx  *bareJSON     `json:"tx"`
}

func newSignedJSON(tx *types.Transaction) (*signedJSON, error) {
	raw, err := tx.MarshalBinary()
	if err != nil {
		return nil, err
	}
	return &signedJSON{raw, newBareJSON(tx)}, nil
}

// bareJSON is a transaction as go-opera's go-ethereum tells one by itself.
type bareJSON struct {
	Type       hexutil.Uint64    `json:"type"`
	Nonce      hexutil.Uint64    `json:"nonce"`
	GasPrice   *hexutil.Big      `json:"gasPrice"`
	GasTipCap  *hexutil.Big      `json:"maxPriorityFeePerGas"`
	GasFeeCap  *hexutil.Big      `json:"maxFeePerGas"`
	Gas        hexutil.Uint64    `json:"gas"`
	Value      *hexutil.Big      `json:"value"`
	Data       hexutil.Bytes     `json:"input"`
	V          *hexutil.Big      `json:"v"`
	R          *hexutil.Big      `json:"r"`
	S          *hexutil.Big      `json:"s"`
	To         *common.Address   `json:"to"`
	ChainID    *hexutil.Big      `json:"chainId,omitempty"`
	AccessList *types.AccessList `json:"accessList,omitempty"`
	Hash       common.Hash       `json:"hash"`
}

func newBareJSON(tx *types.Transaction) *bareJSON {
	v, r, s := tx.RawSignatureValues()
	t := &bareJSON{
		Type: hexutil.Uint64(tx.Type()), Nonce: hexutil.Uint64(tx.Nonce()), Gas: hexutil.Uint64(tx.Gas()),
		Value: (*hexutil.Big)(tx.Value()), Data: tx.Data(), V: (*hexutil.Big)(v), R: (*hexutil.Big)(r),
		S: (*hexutil.Big)(s), To: tx.To(), Hash: tx.Hash(),
	}
	if tx.Type() != types.LegacyTxType {
		list := tx.AccessList()
		t.ChainID, t.AccessList = (*hexutil.Big)(tx.ChainId()), &list
	}
	if tx.Type() == types.DynamicFeeTxType {
		t.GasTipCap, t.GasFeeCap = (*hexutil.Big)(tx.GasTipCap()), (*hexutil.Big)(tx.GasFeeCap())
	} else {
		t.GasPrice = (*hexutil.Big)(tx.GasPrice())
	}
	return t
}

func (e ethSender) FillTransaction(ctx context.Context, a TransactionArgs) (*signedJSON, error) {
	return read(e.s, func(v *view) (*signedJSON, error) {
		if err := a.complete(ctx, v); err != nil {
			return nil, err
		}
		return newSignedJSON(a.transaction())
	})
}

// checkSigned tells what a transaction that is only signed must say.
func (a *TransactionArgs) checkSigned() error {
	switch {
	case a.Gas == nil:
		return errors.New("gas not specified")
	case a.GasPrice == nil && (a.MaxFeePerGas == nil || a.MaxPriorityFeePerGas == nil):
		return errors.New("missing gasPrice or maxFeePerGas/maxPriorityFeePerGas")
	case a.Nonce == nil:
		return errors.New("nonce not specified")
	}
	return nil
}

// signOnly signs and sends nothing.
func (s *Service) signOnly(ctx context.Context, a *TransactionArgs, sign signer) (*signedJSON, error) {
	if err := a.checkSigned(); err != nil {
		return nil, err
	}
	return read(s, func(v *view) (*signedJSON, error) {
		if err := a.complete(ctx, v); err != nil {
			return nil, err
		}
		tx := a.transaction()
		if err := s.checkFee(tx.GasPrice(), tx.Gas()); err != nil {
			return nil, err
		}
		account := accounts.Account{Address: a.from()}
		wallet, err := s.options.Accounts.Find(account)
		if err != nil {
			return nil, err
		}
		if tx, err = sign(wallet, account, tx, v); err != nil {
			return nil, err
		}
		return newSignedJSON(tx)
	})
}

func (e ethSender) SignTransaction(ctx context.Context, a TransactionArgs) (*signedJSON, error) {
	return e.s.signOnly(ctx, &a, signUnlocked)
}

func (e ethSender) Sign(address common.Address, data hexutil.Bytes) (hexutil.Bytes, error) {
	account := accounts.Account{Address: address}
	wallet, err := e.s.options.Accounts.Find(account)
	if err != nil {
		return nil, err
	}
	signature, err := wallet.SignText(account, data)
	if err == nil {
		signature[crypto.RecoveryIDOffset] += 27
	}
	return signature, err
}

func (e ethSender) Accounts() []common.Address { return e.s.options.Accounts.Accounts() }

// own are transactions that wait, of the node's accounts.
func (s *Service) own() (list types.Transactions) {
	mine := map[common.Address]bool{}
	for _, address := range s.options.Accounts.Accounts() {
		mine[address] = true
	}
	for sender, txs := range s.options.Pool.Pending() {
		if mine[sender] {
			list = append(list, txs...)
		}
	}
	return list
}

func (e ethSender) PendingTransactions() []*TxJSON {
	list := []*TxJSON{}
	for _, tx := range e.s.own() {
		list = append(list, pendingJSON(tx))
	}
	return list
}

func (e ethSender) Resend(
	ctx context.Context, a TransactionArgs, price *hexutil.Big, gas *hexutil.Uint64,
) (common.Hash, error) {
	if a.Nonce == nil {
		return common.Hash{}, errors.New("missing transaction nonce in transaction spec")
	}
	tx, err := read(e.s, func(v *view) (*types.Transaction, error) {
		if err := a.complete(ctx, v); err != nil {
			return nil, err
		}
		was := a.transaction()
		if price != nil && price.ToInt().Sign() != 0 {
			a.GasPrice = price
		}
		if gas != nil && *gas != 0 {
			a.Gas = gas
		}
		return e.signReplacement(v, &a, was)
	})
	if err != nil {
		return common.Hash{}, err
	}
	return tx.Hash(), e.s.public(e.s.options.Pool.Add(tx))
}

// signReplacement signs what replaces a transaction that waits.
func (e ethSender) signReplacement(v *view, a *TransactionArgs, was *types.Transaction) (*types.Transaction, error) {
	now := a.transaction()
	if err := e.s.checkFee(now.GasPrice(), now.Gas()); err != nil {
		return nil, err
	}
	hash := types.LatestSigner(v.Config())
	for _, tx := range e.s.options.Pool.Pending()[a.from()] {
		from, err := evm.Sender(hash, tx)
		if err != nil || from != a.from() || hash.Hash(tx) != hash.Hash(was) {
			continue
		}
		account := accounts.Account{Address: from}
		wallet, err := e.s.options.Accounts.Find(account)
		if err != nil {
			return nil, err
		}
		return signUnlocked(wallet, account, now, v)
	}
	return nil, fmt.Errorf("transaction %#x not found", was.Hash())
}
