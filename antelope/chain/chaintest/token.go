package chaintest

import (
	"cmp"
	"slices"
	"strings"

	"tarn/antelope/crypto"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Token is a chain with a token contract in the interface of eosio.token.
type Token struct {
	*Maker
	*Traffic
}

// Traffic chooses transfers between users: of the same seed the same ones.
type Traffic struct {
	Users  []types.Name
	keys   []crypto.PrivateKey // a user has that of the user's place, of so many
	symbol types.Symbol
	seed   uint64
	memo   uint64
}

// NewTraffic is that of so many users, who need not be on a chain yet. Seed 0 is 1.
func NewTraffic(users int, seed uint64) (*Traffic, error) {
	symbol, err := types.ParseSymbol("4,TOK")
	if err != nil {
		return nil, err
	}
	key, err := Key()
	if err != nil {
		return nil, err
	}
	t := &Traffic{symbol: symbol, seed: cmp.Or(seed, 1), keys: []crypto.PrivateKey{key}}
	for i := range users {
		t.Users = append(t.Users, userName(i))
	}
	return t, nil
}

// Keyed lets users have so many keys, each the next one's in turn; without it all have the
// one key.
func (t *Traffic) Keyed(keys int) error {
	for len(t.keys) < keys {
		key, err := numberedKey(uint32(len(t.keys)))
		if err != nil {
			return err
		}
		t.keys = append(t.keys, key)
	}
	return nil
}

// KeyOf is the key of a user.
func (t *Traffic) KeyOf(user types.Name) crypto.PrivateKey { return t.keys[userAt(user)%len(t.keys)] }

// TokenAccount is where the contract is.
var TokenAccount = types.N("eosio.token")

// NewToken sets the contract's code and makes accounts that all hold tokens.
func NewToken(m *Maker, code []byte, users int) (*Token, error) {
	traffic, err := NewTraffic(users, 1)
	if err != nil {
		return nil, err
	}
	return NewTokenOf(m, code, traffic)
}

// NewTokenOf is NewToken with the users of some traffic.
func NewTokenOf(m *Maker, code []byte, traffic *Traffic) (*Token, error) {
	t := &Token{Maker: m, Traffic: traffic}
	eosio := types.N("eosio")
	amount := func(n int64) []byte { return types.Asset{Amount: n, Symbol: t.symbol}.Append(nil) }
	create := append(serial.AppendUint64(nil, uint64(eosio)), amount(1<<61)...)
	issue := append(serial.AppendUint64(nil, uint64(eosio)), amount(1<<60)...)
	issue = serial.AppendString(issue, "")
	if _, err := m.Block(m.CreateAccount(TokenAccount), SetCode(TokenAccount, code),
		Action(TokenAccount, types.N("create"), TokenAccount, create),
		Action(TokenAccount, types.N("issue"), eosio, issue)); err != nil {
		return nil, err
	}
	for users := range slices.Chunk(t.Users, 500) {
		if err := t.endow(users); err != nil {
			return nil, err
		}
	}
	return t, nil
}

// endow makes a block that creates users and gives each of them tokens. A transaction does it for
// several of them: its signature takes longer than the rest for one.
func (t *Token) endow(users []types.Name) error {
	if err := t.StartBlock(); err != nil {
		return err
	}
	for some := range slices.Chunk(users, 25) {
		var actions []types.Action
		for _, n := range some {
			actions = append(actions, accountOf(n, t.KeyOf(n)), t.transfer(types.N("eosio"), n, 1_000_000_0000))
		}
		if _, err := t.Push(actions...); err != nil {
			return err
		}
	}
	_, err := t.EndBlock()
	return err
}

const userLetters = "abcdefghijklmnopqrstuvwxyz12345"

func userName(i int) types.Name {
	s := []byte("user........")
	for k := 11; k >= 4; k-- {
		s[k] = userLetters[i%31]
		i /= 31
	}
	return types.N(string(s))
}

// userAt is the place of the user of a name.
func userAt(n types.Name) (i int) {
	for _, c := range n.String()[4:] {
		i = i*31 + strings.IndexRune(userLetters, c)
	}
	return i
}

// Random is a number from 0 to n-1, the next of the seed's.
func (t *Traffic) Random(n int) int {
	t.seed = t.seed*6364136223846793005 + 1442695040888963407
	return int((t.seed >> 33) % uint64(n))
}

func (t *Traffic) transfer(from, to types.Name, amount int64) types.Action {
	t.memo++
	b := serial.AppendUint64(serial.AppendUint64(nil, uint64(from)), uint64(to))
	b = types.Asset{Amount: amount, Symbol: t.symbol}.Append(b)
	b = serial.AppendString(b, "memo "+types.Name(t.memo).String())
	return Action(TokenAccount, types.N("transfer"), from, b)
}

// Transfer is a transfer between two random users.
func (t *Traffic) Transfer() types.Action { return t.transfersOf(1)[0] }

// transfersOf are so many transfers of one random user.
func (t *Traffic) transfersOf(count int) []types.Action {
	from := t.Random(len(t.Users))
	all := make([]types.Action, count)
	for i := range all {
		to := (from + 1 + t.Random(len(t.Users)-1)) % len(t.Users)
		all[i] = t.transfer(t.Users[from], t.Users[to], 1+int64(t.Random(100)))
	}
	return all
}

// Transfers makes a block of so many transactions of so many transfers each.
func (t *Token) Transfers(transactions, each int) (*types.SignedBlock, error) {
	if err := t.StartBlock(); err != nil {
		return nil, err
	}
	for range transactions {
		actions := t.transfersOf(each)
		if _, err := t.pushAs(t.KeyOf(actions[0].Authorization[0].Actor), actions); err != nil {
			return nil, err
		}
	}
	return t.EndBlock()
}
