package difftest

import (
	"time"

	"tarn/antelope/types"
)

var tokenContract = types.N("eosio.token")

// transfer moves tokens of eosio.token.
func transfer(from, to types.Name, amount types.Asset, memo string) types.Action {
	return action(tokenContract, "transfer", from, from, to, amount, text(memo))
}

// mint makes eosio.token with a token, all of whose supply eosio gets.
func (d *Driver) mint(symbol string) error {
	if err := d.create(tokenContract); err != nil {
		return err
	}
	if err := d.deploy(tokenContract, "eosio.token"); err != nil {
		return err
	}
	return d.Must(
		with(action(tokenContract, "create", tokenContract, system, tokens(10_000_000_000_0000, symbol)),
			level(tokenContract, active)),
		action(tokenContract, "issue", system, system, tokens(1_000_000_000_0000, symbol), text("issue")))
}

// accounts makes n of them, each with some tokens.
func (d *Driver) fundAccounts(prefix string, n int, symbol string) ([]types.Name, error) {
	var names []types.Name
	for i := range n {
		names = append(names, account(prefix, i))
	}
	if err := d.create(names...); err != nil {
		return nil, err
	}
	for _, name := range names {
		if err := d.Must(transfer(system, name, tokens(1_000_000, symbol), "start")); err != nil {
			return nil, err
		}
	}
	return names, nil
}

func runToken(d *Driver, until time.Time) error {
	if err := d.bootAll(); err != nil {
		return err
	}
	if err := d.mint("SYS"); err != nil {
		return err
	}
	users, err := d.fundAccounts("user", 50, "SYS")
	if err != nil {
		return err
	}
	return d.until(until, func() error {
		if err := d.pace(20 * time.Millisecond); err != nil {
			return err
		}
		return d.May(Tx{Actions: d.tokenActions(users)})
	})
}

// tokenActions are one or a few random ones, most of them valid.
func (d *Driver) tokenActions(users []types.Name) []types.Action {
	var actions []types.Action
	for range 1 + d.Rand.IntN(1+d.Rand.IntN(5)) {
		actions = append(actions, d.tokenAction(users))
	}
	return actions
}

func (d *Driver) tokenAction(users []types.Name) types.Action {
	from, to := pick(d, users), pick(d, users)
	switch d.Rand.IntN(20) {
	case 0:
		return action(tokenContract, "open", from, to, types.Symbol(tokens(0, "SYS").Symbol), from)
	case 1:
		return action(tokenContract, "close", from, from, types.Symbol(tokens(0, "SYS").Symbol))
	case 2: // everything, maybe: close may follow
		return transfer(from, to, tokens(1_000_000, "SYS"), "much")
	case 3:
		return action(tokenContract, "retire", system, tokens(1+d.Rand.Int64N(1000), "SYS"), text("retire"))
	case 4:
		return action(tokenContract, "issue", system, system, tokens(1+d.Rand.Int64N(1000), "SYS"), text("more"))
	case 5: // to an account that isn't there
		return transfer(from, types.N("nobody"), tokens(1, "SYS"), "")
	case 6: // a negative or unknown amount
		return transfer(from, to, tokens(-1, pick(d, []string{"SYS", "ABC"})), "")
	}
	return transfer(from, to, tokens(1+d.Rand.Int64N(1000), "SYS"), string(make([]byte, d.Rand.IntN(40))))
}
