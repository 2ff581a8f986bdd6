// A round of eos-go: accounts, a contract, transfers, tables, and what the library makes
// of refusals.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	eos "github.com/eoscanada/eos-go"
	"github.com/eoscanada/eos-go/ecc"
	"github.com/eoscanada/eos-go/system"
	"github.com/eoscanada/eos-go/token"
)

const (
	eosio   = eos.AccountName("eosio")
	alice   = eos.AccountName("goalice")
	bob     = eos.AccountName("gobob")
	exhibit = eos.AccountName("goexhibit")
	tokens  = eos.AccountName("gotoken")
)

type client struct {
	*eos.API
	url string
	bad bool // something went otherwise than it has to
}

func main() {
	c := &client{url: os.Getenv("NODE_URL")}
	c.API = eos.New(c.url)
	keys := eos.NewKeyBag()
	for _, k := range []string{"EOSIO_KEY", "USER_KEY"} {
		if err := keys.ImportPrivateKey(context.Background(), os.Getenv(k)); err != nil {
			fmt.Fprintln(os.Stderr, k, err)
			os.Exit(1)
		}
	}
	c.SetSigner(keys)
	user, err := ecc.NewPublicKey(os.Getenv("USER_PUBLIC"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	c.write(user)
	c.refused()
	c.read()
	if c.bad {
		os.Exit(1)
	}
}

// step does something in new blocks, and prints what came of it.
func (c *client) step(name string, f func(context.Context) (any, error)) error {
	answer, err := http.Get(c.url + "/step/" + url.PathEscape(name))
	if err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		os.Exit(1)
	}
	_ = answer.Body.Close()
	result, err := f(context.Background())
	said := map[string]any{"step": name, "result": result}
	if err != nil {
		said["error"] = err.Error()
		var refusal eos.APIError
		if errors.As(err, &refusal) {
			said["refusal"] = refusal
		}
	}
	line, e := json.Marshal(said)
	if e != nil {
		line = []byte(fmt.Sprintf("%q", e))
	}
	fmt.Println(string(line))
	return err
}

// does is a step that has to succeed.
func (c *client) does(name string, f func(context.Context) (any, error)) {
	if err := c.step(name, f); err != nil {
		fmt.Fprintln(os.Stderr, name, err)
		c.bad = true
	}
}

// fails is a step that the node has to refuse with that exception.
func (c *client) fails(name, exception string, f func(context.Context) (any, error)) {
	err := c.step(name, f)
	var refusal eos.APIError
	if !errors.As(err, &refusal) || refusal.ErrorStruct.Name != exception {
		fmt.Fprintf(os.Stderr, "%s: %v instead of %s\n", name, err, exception)
		c.bad = true
	}
}

// push sends actions, and returns what the node says of them.
func (c *client) push(actions ...*eos.Action) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) { return c.SignPushActions(ctx, actions...) }
}

func act(account eos.AccountName, name eos.ActionName, data any, actors ...eos.AccountName) *eos.Action {
	a := &eos.Action{Account: account, Name: name, ActionData: eos.NewActionData(data)}
	for _, actor := range actors {
		a.Authorization = append(a.Authorization, eos.PermissionLevel{Actor: actor, Permission: "active"})
	}
	return a
}

func amount(s string) eos.Asset {
	a, err := eos.NewAsset(s)
	if err != nil {
		panic(err)
	}
	return a
}

// transfer is one of our own token.
func transfer(from, to eos.AccountName, quantity, memo string) *eos.Action {
	a := token.NewTransfer(from, to, amount(quantity), memo)
	a.Account = tokens
	return a
}

type text struct {
	Text string `json:"text"`
}

func (c *client) write(user ecc.PublicKey) {
	for _, name := range []eos.AccountName{alice, bob, tokens, exhibit} {
		c.does("create "+string(name), c.push(
			system.NewNewAccount(eosio, name, user),
			system.NewBuyRAMBytes(eosio, name, 400_000),
			system.NewDelegateBW(eosio, name, amount("100.0000 SYS"), amount("100.0000 SYS"), false),
		))
	}
	c.does("set "+string(tokens), c.contract(tokens, os.Getenv("TOKEN")))
	c.does("set "+string(exhibit), c.contract(exhibit, os.Getenv("EXHIBIT")))
	c.does("create token",
		c.push(act(tokens, "create", token.Create{Issuer: alice, MaximumSupply: amount("1000000.000 GO")}, tokens)))
	c.does("issue", c.push(act(tokens,
		"issue", token.Issue{To: alice, Quantity: amount("1000.000 GO"), Memo: "all mine"}, alice)))
	c.does("transfer", c.push(transfer(alice, bob, "10.500 GO", "ünïcode ☃ \"quoted\" \\ \n\t")))
	c.does("two transfers", c.push(transfer(alice, bob, "0.001 GO", "1"), transfer(bob, alice, "0.002 GO", "2")))
	c.does("transfer, compressed", func(ctx context.Context) (any, error) {
		return c.SignPushActionsWithOpts(ctx, []*eos.Action{transfer(alice, bob, "0.003 GO", "zlib")},
			&eos.TxOptions{Compress: eos.CompressionZlib})
	})
	c.does("send_transaction", func(ctx context.Context) (any, error) {
		packed, err := c.sign(ctx, transfer(alice, bob, "0.004 GO", "sent"))
		if err != nil {
			return nil, err
		}
		return c.SendTransaction(ctx, packed)
	})
	c.does("say", c.push(act(exhibit, "say", text{"hello, world"}, alice)))
	authority := eos.Authority{Threshold: 1, Keys: []eos.KeyWeight{{PublicKey: user, Weight: 1}}}
	c.does("permission", c.push(system.NewUpdateAuth(alice, "spend", "active", authority, "active"),
		system.NewLinkAuth(alice, tokens, "transfer", "spend")))
	c.does("system transfer", c.push(token.NewTransfer(eosio, alice, amount("1.0000 SYS"), "from Go")))
}

func (c *client) contract(account eos.AccountName, path string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		actions, err := system.NewSetContract(account, path+".wasm", path+".abi")
		if err != nil {
			return nil, err
		}
		return c.SignPushActions(ctx, actions...)
	}
}

func (c *client) sign(ctx context.Context, actions ...*eos.Action) (*eos.PackedTransaction, error) {
	var o eos.TxOptions
	if err := o.FillFromChain(ctx, c.API); err != nil {
		return nil, err
	}
	_, packed, err := c.SignTransaction(ctx, eos.NewTransaction(actions, &o), o.ChainID, eos.CompressionNone)
	return packed, err
}

func (c *client) refused() {
	c.fails("assertion", "eosio_assert_message_exception", c.push(act(exhibit, "fail", text{"no, \"never\""}, alice)))
	c.fails("overdrawn", "eosio_assert_message_exception", c.push(transfer(bob, alice, "999.000 GO", "")))
	c.fails("missing authority", "missing_auth_exception", c.push(func() *eos.Action {
		a := transfer(alice, bob, "1.000 GO", "")
		a.Authorization = []eos.PermissionLevel{{Actor: bob, Permission: "active"}}
		return a
	}()))
	c.fails("unknown actor", "unsatisfied_authorization", c.push(act(exhibit, "say", text{""}, "nobodyatall")))
	c.fails("duplicate", "tx_duplicate", func(ctx context.Context) (any, error) {
		packed, err := c.sign(ctx, act(exhibit, "say", text{"again"}, alice))
		if err != nil {
			return nil, err
		}
		if _, err := c.PushTransaction(ctx, packed); err != nil {
			return nil, err
		}
		return c.PushTransaction(ctx, packed)
	})
	c.fails("no such action", "packed_transaction_type_exception", c.push(act(exhibit, "nosuch", struct{}{}, alice)))
	c.fails("no such table", "contract_table_query_exception", func(ctx context.Context) (any, error) {
		return c.GetTableRows(ctx, eos.GetTableRowsRequest{Code: string(exhibit), Scope: string(exhibit),
			Table: "nosuch", JSON: true})
	})
}

func (c *client) read() {
	c.does("info", func(ctx context.Context) (any, error) { return c.GetInfo(ctx) })
	c.does("block", func(ctx context.Context) (any, error) { return c.GetBlockByNum(ctx, 2) })
	for _, name := range []eos.AccountName{eosio, alice, exhibit} {
		c.does("account "+string(name), func(ctx context.Context) (any, error) { return c.GetAccount(ctx, name) })
	}
	c.does("account with core token", func(ctx context.Context) (any, error) {
		return c.GetAccount(ctx, alice, eos.WithCoreSymbol(eos.Symbol{Precision: 4, Symbol: "SYS"}))
	})
	c.fails("no such account", "account_query_exception", func(ctx context.Context) (any, error) {
		return c.GetAccount(ctx, "nobodyatall")
	})
	c.does("ABI", func(ctx context.Context) (any, error) { return c.GetABI(ctx, tokens) })
	c.does("raw ABI", func(ctx context.Context) (any, error) {
		return c.GetRawABI(ctx, eos.GetRawABIRequest{AccountName: string(exhibit)})
	})
	c.does("code hash", func(ctx context.Context) (any, error) { return c.GetCodeHash(ctx, exhibit) })
	c.does("code and ABI", func(ctx context.Context) (any, error) { return c.GetRawCodeAndABI(ctx, exhibit) })
	c.does("balance", func(ctx context.Context) (any, error) { return c.GetCurrencyBalance(ctx, alice, "GO", tokens) })
	c.does("statistics", func(ctx context.Context) (any, error) { return c.GetCurrencyStats(ctx, tokens, "GO") })
	c.does("producers", func(ctx context.Context) (any, error) { return c.GetProducers(ctx) })
	c.does("scheduled", func(ctx context.Context) (any, error) { return c.GetScheduledTransactions(ctx) })
	c.does("scopes", func(ctx context.Context) (any, error) {
		return c.GetTableByScope(ctx, eos.GetTableByScopeRequest{Code: string(tokens), Table: "accounts"})
	})
	for _, q := range []eos.GetTableRowsRequest{
		{Table: "accounts", JSON: true}, {Table: "accounts"}, {Table: "accounts", JSON: true, Limit: 1, Reverse: true},
	} {
		q.Code, q.Scope = string(tokens), string(alice)
		c.does(fmt.Sprintf("rows %v %v", q.JSON, q.Reverse), func(ctx context.Context) (any, error) {
			return c.GetTableRows(ctx, q)
		})
	}
	c.fails("a call that is no more", "exception", func(ctx context.Context) (any, error) {
		return c.ABIJSONToBin(ctx, exhibit, "say", eos.M{"text": "x"})
	})
	c.does("connections", func(ctx context.Context) (any, error) { return c.GetNetConnections(ctx) })
}
