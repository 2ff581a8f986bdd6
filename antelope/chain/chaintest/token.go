package chaintest

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Token is a chain with a token contract in the interface of eosio.token.
type Token struct {
	*Maker
	Users  []types.Name
	symbol types.Symbol
	seed   uint64
	memo   uint64
}

// TokenAccount is where the contract is.
var TokenAccount = types.N("eosio.token")

// NewToken sets the contract's code and makes accounts that all hold tokens.
func NewToken(m *Maker, code []byte, users int) (*Token, error) {
	symbol, err := types.ParseSymbol("4,TOK")
	if err != nil {
		return nil, err
	}
	t := &Token{Maker: m, symbol: symbol, seed: 1}
	eosio := types.N("eosio")
	amount := func(n int64) []byte { return types.Asset{Amount: n, Symbol: symbol}.Append(nil) }
	create := append(serial.AppendUint64(nil, uint64(eosio)), amount(1<<61)...)
	issue := append(serial.AppendUint64(nil, uint64(eosio)), amount(1<<60)...)
	issue = serial.AppendString(issue, "")
	if _, err := m.Block(m.CreateAccount(TokenAccount), SetCode(TokenAccount, code),
		Action(TokenAccount, types.N("create"), TokenAccount, create), Action(TokenAccount, types.N("issue"), eosio, issue)); err != nil {
		return nil, err
	}
	for len(t.Users) < users {
		var actions []types.Action
		for range min(500, users-len(t.Users)) {
			n := userName(len(t.Users))
			t.Users = append(t.Users, n)
			actions = append(actions, m.CreateAccount(n), t.transfer(eosio, n, 1_000_000_0000))
		}
		if _, err := m.Block(actions...); err != nil {
			return nil, err
		}
	}
	return t, nil
}

func userName(i int) types.Name {
	const letters = "abcdefghijklmnopqrstuvwxyz12345"
	s := []byte("user........")
	for k := 11; k >= 4; k-- {
		s[k] = letters[i%31]
		i /= 31
	}
	return types.N(string(s))
}

func (t *Token) random(n int) int {
	t.seed = t.seed*6364136223846793005 + 1442695040888963407
	return int((t.seed >> 33) % uint64(n))
}

func (t *Token) transfer(from, to types.Name, amount int64) types.Action {
	t.memo++
	b := serial.AppendUint64(serial.AppendUint64(nil, uint64(from)), uint64(to))
	b = types.Asset{Amount: amount, Symbol: t.symbol}.Append(b)
	b = serial.AppendString(b, "memo "+types.Name(t.memo).String())
	return Action(TokenAccount, types.N("transfer"), from, b)
}

// Transfer is a transfer between two random users.
func (t *Token) Transfer() types.Action {
	from := t.random(len(t.Users))
	to := (from + 1 + t.random(len(t.Users)-1)) % len(t.Users)
	return t.transfer(t.Users[from], t.Users[to], 1+int64(t.random(100)))
}

// Transfers makes a block of so many transactions of so many transfers each.
func (t *Token) Transfers(transactions, each int) (*types.SignedBlock, error) {
	if err := t.StartBlock(); err != nil {
		return nil, err
	}
	for range transactions {
		actions := make([]types.Action, each)
		for i := range actions {
			actions[i] = t.Transfer()
		}
		if _, err := t.Push(actions...); err != nil {
			return nil, err
		}
	}
	return t.EndBlock()
}
