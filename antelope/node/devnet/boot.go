package devnet

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"time"

	"tarn/antelope/abi"
	"tarn/antelope/chain"
	"tarn/antelope/crypto"
	"tarn/antelope/execute"
	"tarn/antelope/feature"
	"tarn/antelope/node"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/store/engine"
)

// The token of the chain. Its symbol is the one that get_account shows balances of
// when no system contract says another.
const (
	tokenName   = "eosio.token"
	tokenSymbol = "4,SYS"

	supply  = 10_000_000_000_0000
	issued  = 1_000_000_000_0000
	granted = 1_000_000_0000 // to each of the accounts
)

// genesis begins a chain some seconds ago, so that its first blocks have their slots
// behind them when they are made, all at once.
func genesis(keys *keyring, now time.Time) types.Genesis {
	g := types.DefaultGenesis()
	g.InitialTimestamp = types.TimePoint(now.Add(-10 * time.Second).Truncate(time.Second).UnixMicro())
	g.InitialKey = keys.of(producerName).key.Public()
	return g
}

// makeChain makes the chain in a data folder of nodeos.
func makeChain(ctx context.Context, dir string, g *types.Genesis, keys *keyring) (err error) {
	n, err := node.Open(ctx, node.Options{
		StateDir: filepath.Join(dir, stateDir), BlocksDir: filepath.Join(dir, "blocks"),
		SnapshotsDir: filepath.Join(dir, "snapshots"), Log: slog.New(slog.DiscardHandler), Genesis: g,
		Engine: engine.Options{Kind: engine.Page, LimitBytes: 1 << 30},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, n.Close()) }()
	if err := n.Start(ctx); err != nil {
		return err
	}
	b := boot{chain: n.Chain(), key: keys.of(producerName).key}
	if f := keys.finalizer(); f != nil {
		b.finalizer = f.bls
	}
	if err := b.features(); err != nil {
		return fmt.Errorf("activate the protocol features: %w", err)
	}
	if err := b.accounts(keys); err != nil {
		return fmt.Errorf("make the accounts: %w", err)
	}
	return nil
}

// boot makes the first blocks of a chain. One key is everything's.
type boot struct {
	chain     *chain.Chain
	key       crypto.PrivateKey
	finalizer *crypto.BLSPrivateKey // nil for none
}

// features activates all protocol features, in the next block and the one after; SAVANNA only where
// somebody finalizes blocks, so that a nodeos of Leap can follow the others.
func (b *boot) features() error {
	set := b.chain.Features()
	first, ok := set.Digest(feature.PreactivateFeature)
	if !ok {
		return errors.New("PREACTIVATE_FEATURE is not known")
	}
	actions, err := deploy(producerName, contracts.Boot())
	if err != nil {
		return err
	}
	for _, c := range feature.Codenames() { // each comes after what it needs
		if digest, ok := set.Digest(c); ok && digest != first && (c != feature.Savanna || b.finalizer != nil) {
			actions = append(actions, action(producerName, "activate", producerName, digest[:]))
		}
	}
	return b.block([]types.Checksum256{first}, actions)
}

// accounts makes a block with the contracts, the accounts, and their tokens. The
// features that were preactivated become active with it.
func (b *boot) accounts(keys *keyring) error {
	protocol, err := b.chain.State().Protocol.Get()
	if err != nil {
		return err
	}
	bios, err := deploy(producerName, contracts.Bios())
	if err != nil {
		return err
	}
	token, err := deploy(tokenName, contracts.Token())
	if err != nil {
		return err
	}
	symbol, err := types.ParseSymbol(tokenSymbol)
	if err != nil {
		return err
	}
	amount := func(b []byte, n int64) []byte { return types.Asset{Amount: n, Symbol: symbol}.Append(b) }
	name := func(b []byte, n string) []byte { return types.N(n).Append(b) }
	// Who authorises a transaction must be there when it begins.
	first := append(bios, newAccount(tokenName, b.key.Public()))
	second := append(token,
		action(tokenName, "create", tokenName, amount(name(nil, producerName), supply)),
		action(tokenName, "issue", producerName, serial.AppendString(amount(name(nil, producerName), issued),
			"the beginning")))
	for _, account := range []string{aliceName, bobName} {
		first = append(first, newAccount(account, keys.of(account).key.Public()))
		data := amount(name(name(nil, producerName), account), granted)
		second = append(second, action(tokenName, "transfer", producerName, serial.AppendString(data, "welcome")))
	}
	transactions := [][]types.Action{first, second}
	if b.finalizer != nil {
		policy, err := b.policy()
		if err != nil {
			return err
		}
		transactions = slices.Insert(transactions, 0, policy)
	}
	return b.block(slices.Clone(protocol.Preactivated), transactions...)
}

// policy makes the producer the chain's only finalizer: with the block of these actions the switch to
// instant finality begins.
func (b *boot) policy() ([]types.Action, error) {
	actions, err := deploy(producerName, contracts.Finalizers())
	if err != nil {
		return nil, err
	}
	one := types.Finalizer{Description: producerName, Weight: 1, Key: b.finalizer.Public()}
	data := one.Append(serial.AppendCount(serial.AppendUint64(nil, 1), 1))
	return append(actions, action(producerName, "setfinalizer", producerName, data)), nil
}

// block makes the next block, with a transaction of each list of actions.
func (b *boot) block(activations []types.Checksum256, transactions ...[]types.Action) error {
	start := execute.Start{Time: b.chain.Head().Header.Timestamp + 1, Activations: activations,
		Status: execute.Incomplete}
	if err := b.chain.StartBlock(start); err != nil {
		return err
	}
	for _, actions := range transactions {
		if err := b.push(actions); err != nil {
			return err
		}
	}
	sign := func(digest types.Checksum256) ([]types.Signature, error) {
		s, err := b.key.Sign(digest)
		return []types.Signature{s}, err
	}
	known := func(s types.Signature, d types.Checksum256) (types.PublicKey, error) {
		return crypto.Recover(s, d, true)
	}
	if _, err := b.chain.ProduceBlock(sign, known); err != nil {
		return err
	}
	return b.chain.LogIrreversible()
}

// push executes a transaction in the pending block.
func (b *boot) push(actions []types.Action) error {
	t := &types.Transaction{Actions: actions}
	head := b.chain.Head()
	t.Expiration = (head.Header.Timestamp.TimePoint() + 60_000_000).Sec()
	t.SetRefBlock(head.ID)
	signature, err := b.key.Sign(t.SigningDigest(b.chain.ID(), nil))
	if err != nil {
		return err
	}
	packed, err := types.Pack(t, []types.Signature{signature}, nil, types.CompressionNone)
	if err != nil {
		return err
	}
	x, err := execute.NewCandidate(packed, execute.Input)
	if err != nil {
		return err
	}
	if errs := b.chain.Keys().Recover(execute.Unlimited, 1, []*execute.Candidate{x}); errs != nil {
		return errs[0]
	}
	trace, err := b.chain.PushTransaction(x, execute.Billing{Explicit: true, CPU: 1000})
	if err == nil && trace.Except != nil {
		err = trace.Except
	}
	return err
}

func action(contract, name, actor string, data []byte) types.Action {
	return types.Action{
		Account: types.N(contract), Name: types.N(name), Data: data,
		Authorization: []types.PermissionLevel{{Actor: types.N(actor), Permission: types.N("active")}},
	}
}

func newAccount(name string, key types.PublicKey) types.Action {
	all := types.KeyAuthority(key)
	a := types.NewAccount{Creator: types.N(producerName), Name: types.N(name), Owner: all, Active: all}
	return action(producerName, "newaccount", producerName, a.Append(nil))
}

// deploy puts a contract on an account.
func deploy(account string, c contracts.Contract) ([]types.Action, error) {
	def, err := abi.Parse(c.ABI)
	if err != nil {
		return nil, fmt.Errorf("ABI of %s: %w", account, err)
	}
	code := types.SetCode{Account: types.N(account), Code: c.Code}
	text := types.SetABI{Account: types.N(account), ABI: def.Append(nil)}
	return []types.Action{
		action(producerName, "setcode", account, code.Append(nil)),
		action(producerName, "setabi", account, text.Append(nil)),
	}, nil
}
