package rpc

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/resource"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// Names of the contracts that get_account knows, and of their tables.
var (
	nameEosio    = types.N("eosio")
	nameToken    = types.N("eosio.token")
	nameAny      = types.N("eosio.any")
	nameAccounts = types.N("accounts")
)

// rethrown is what an exception becomes that happens while an account is looked up:
// chain exceptions stay what they are.
func rethrown(err error, what string) error {
	if err == nil || exception.Is(err, exception.ChainException) {
		return err
	}
	return exception.Recast(exception.AccountQuery, err.Error(), what).From(err)
}

// unknownKey is the text of chainbase for a row that is not there.
func unknownKey(what, typ, key string) error {
	return exception.Recast(exception.AccountQuery, "unknown key ("+typ+"): "+key, what)
}

func unknownAccount(what string, n types.Name) error {
	return unknownKey(what, "eosio::chain::name", n.String())
}

// account is an account's rows.
type account struct {
	state.Account
	meta state.AccountMetadata
}

func findAccount(v *state.View, n types.Name, what string) (*account, error) {
	a, err := v.Accounts.Get(n)
	if err != nil {
		return nil, err
	}
	m, err := v.Metadata.Get(n)
	if err != nil {
		return nil, err
	}
	if a == nil || m == nil {
		return nil, unknownAccount(what, n)
	}
	return &account{*a, *m}, nil
}

func (q accounts) getCode(b []byte) ([]byte, error) {
	n, asWasm := q.name("account_name"), q.boolean("code_as_wasm", true)
	const what = "unable to retrieve account code"
	return q.ofAccount(b, n, what, func(v *state.View, a *account, o object) (object, error) {
		if !asWasm {
			return o, exception.New(exception.UnsupportedFeature,
				"Returning WAST from get_code is no longer supported").With(what)
		}
		code, err := a.code(v)
		if err != nil {
			return o, err
		}
		o = o.json("code_hash", a.meta.CodeHash).text("wast", "").text("wasm", string(code))
		return q.api.withABI(v, o, n)
	})
}

// ofAccount ends the reading of the parameters, and answers with an object about an account that
// must exist.
func (q accounts) ofAccount(
	b []byte, n types.Name, what string, members func(*state.View, *account, object) (object, error),
) ([]byte, error) {
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	a, err := findAccount(v, n, what)
	if err != nil {
		return b, err
	}
	o, err := members(v, a, object(append(b, '{')).name("account_name", n))
	return append(o, '}'), rethrown(err, what)
}

func (a *account) code(v *state.View) ([]byte, error) {
	if a.meta.CodeHash.IsZero() {
		return nil, nil
	}
	return v.CodeBytes(state.CodeKey{Hash: a.meta.CodeHash, VMType: a.meta.VMType, VMVersion: a.meta.VMVersion})
}

// withABI adds the ABI, if the account has one.
func (a *API) withABI(v *state.View, o object, n types.Name) (object, error) {
	e, err := a.abiOf(v, n)
	if err != nil || e.def == nil {
		return o, err
	}
	return o.json("abi", e.def), nil
}

func (q accounts) getCodeHash(b []byte) ([]byte, error) {
	n := q.name("account_name")
	return q.ofAccount(b, n, "unable to retrieve account code hash",
		func(_ *state.View, a *account, o object) (object, error) {
			return o.json("code_hash", a.meta.CodeHash), nil
		})
}

func (q accounts) getABI(b []byte) ([]byte, error) {
	n := q.name("account_name")
	return q.ofAccount(b, n, "unable to retrieve account abi",
		func(v *state.View, _ *account, o object) (object, error) {
			return q.api.withABI(v, o, n)
		})
}

func (o object) base64(key string, data []byte) object {
	o = append(variant.AppendKey(o, key), '"')
	return append(base64.StdEncoding.AppendEncode(o, data), '"')
}

func (q accounts) getRawCodeAndABI(b []byte) ([]byte, error) {
	n := q.name("account_name")
	return q.ofAccount(b, n, "unable to retrieve account code/abi",
		func(v *state.View, a *account, o object) (object, error) {
			code, err := a.code(v)
			if err != nil {
				return o, err
			}
			raw, err := v.ABI(n)
			return o.base64("wasm", code).base64("abi", raw), err
		})
}

func (q accounts) getRawABI(b []byte) ([]byte, error) {
	n := q.name("account_name")
	var known *types.Checksum256
	if h, ok := q.optional("abi_hash"); ok {
		c, err := checksumOf(h)
		q.fail(err)
		known = &c
	}
	return q.ofAccount(b, n, "unable to retrieve account abi",
		func(v *state.View, a *account, o object) (object, error) {
			raw, err := v.ABI(n)
			if err != nil {
				return o, err
			}
			hash := types.Hash(raw)
			o = o.json("code_hash", a.meta.CodeHash).json("abi_hash", hash)
			if known == nil || *known != hash {
				o = o.base64("abi", raw)
			}
			return o, nil
		})
}

// nullTypes is how the types of a tuple's unused places print.
var nullTypes = strings.Repeat(", boost::tuples::null_type", 8)

func (q accounts) getAccount(b []byte) ([]byte, error) {
	n := q.name("account_name")
	var core *types.Symbol
	if s, ok := q.optional("expected_core_symbol"); ok {
		text, err := s.Text()
		q.fail(err)
		symbol, err := types.ParseSymbol(text)
		q.fail(err)
		core = &symbol
	}
	v, err := q.view()
	if err != nil {
		return b, err
	}
	defer v.Close()
	out, err := q.account(b, v, n, core)
	return out, rethrown(err, "unable to retrieve account info")
}

// account appends the answer of get_account (Leap: read_only::get_account).
func (q accounts) account(b []byte, v *state.View, n types.Name, core *types.Symbol) ([]byte, error) {
	const what = "unable to retrieve account info"
	limits, err := limitsOf(v, n)
	if err != nil {
		return b, err
	}
	if limits == nil {
		return b, unknownKey(what, "boost::tuples::tuple<bool, eosio::chain::name"+nullTypes+">", "(0 "+n.String()+")")
	}
	a, err := findAccount(v, n, what)
	if err != nil {
		return b, err
	}
	head, err := q.api.headOf(v)
	if err != nil {
		return b, err
	}
	o := object(append(b, '{')).name("account_name", n).uint("head_block_num", uint64(head.BlockNum))
	o = o.json("head_block_time", head.Header.Timestamp).boolean("privileged", a.meta.Privileged())
	o = o.json("last_code_update", a.meta.LastCodeUpdate).json("created", a.Created)
	system, err := q.api.abiOf(v, nameEosio)
	if err != nil {
		return b, err
	}
	if system.def != nil {
		if o, err = liquidBalance(v, o, n, core); err != nil {
			return b, err
		}
	}
	o = o.int("ram_quota", limits.RAMBytes).int("net_weight", limits.NetWeight).int("cpu_weight", limits.CPUWeight)
	if o, err = q.resources(v, o, a, limits, head.Header.Timestamp); err != nil {
		return b, err
	}
	links, err := linksOf(v, n)
	if err != nil {
		return b, err
	}
	if o, err = permissions(v, o, n, links); err != nil {
		return b, err
	}
	if o, err = q.systemRows(v, o, n, system); err != nil {
		return b, err
	}
	subjective := int64(0)
	if q.api.Billing != nil {
		subjective = q.api.Billing.Subjective(n, q.begin)
	}
	o = appendLimit(variant.AppendKey(o, "subjective_cpu_bill_limit"), resource.AccountLimit{Used: subjective})
	o = links.append(variant.AppendKey(o, "eosio_any_linked_actions"), nameAny)
	return append(o, '}'), nil
}

// limitsOf returns the row that holds for an account: the one that a transaction of the
// pending block set, if there is one; nil if the account has none
// (Leap: resource_limits_manager::get_account_limits).
func limitsOf(v *state.View, n types.Name) (*state.ResourceLimits, error) {
	if l, err := v.PendingLimits.Get(n); err != nil || l != nil {
		return l, err
	}
	return v.Limits.Get(n)
}

func appendLimit(b []byte, l resource.AccountLimit) object {
	o := object(append(b, '{')).int("used", l.Used).int("available", l.Available).int("max", l.Max)
	return append(o.json("last_usage_update_time", l.LastUpdate).int("current_used", l.CurrentUsed), '}')
}

// resources adds an account's limits of network and CPU, and its RAM.
func (q accounts) resources(
	v *state.View, o object, a *account, l *state.ResourceLimits, now types.BlockTimestamp,
) (object, error) {
	usage, err := v.Usages.Get(a.Name)
	if err != nil {
		return o, err
	}
	if usage == nil {
		return o, unknownAccount("unable to retrieve account info", a.Name)
	}
	c, s, err := v.Resources()
	if err != nil {
		return o, err
	}
	greylist := uint32(resource.MaxElasticMultiplier)
	if q.api.Billing != nil && q.api.Billing.Greylisted(a.Name) {
		greylist = 1
	}
	net, _, err := resource.NetLimit(&c, &s, usage, l.NetWeight, greylist, now)
	if err != nil {
		return o, err
	}
	cpu, _, err := resource.CPULimit(&c, &s, usage, l.CPUWeight, greylist, now)
	if err != nil {
		return o, err
	}
	for _, limit := range []*resource.AccountLimit{&net, &cpu} {
		if limit.LastUpdate == 0 { // it has done nothing yet
			limit.LastUpdate = a.Created
		}
	}
	o = appendLimit(variant.AppendKey(o, "net_limit"), net)
	o = appendLimit(variant.AppendKey(o, "cpu_limit"), cpu)
	return o.int("ram_usage", int64(usage.RAM)), nil
}

// links are an account's permission links, by permission and age.
type links []state.PermissionLink

func linksOf(v *state.View, n types.Name) (l links, err error) {
	err = v.Links.Walk(state.LinkKey{Account: n}, false, func(p *state.PermissionLink) (bool, error) {
		if p.Key.Account != n {
			return false, nil
		}
		l = append(l, *p)
		return true, nil
	})
	slices.SortFunc(l, func(x, y state.PermissionLink) int {
		return cmp.Or(cmp.Compare(x.Required, y.Required), cmp.Compare(x.ID, y.ID))
	})
	return l, err
}

// append appends the list of what is linked to a permission.
func (l links) append(b []byte, permission types.Name) object {
	o := object(append(b, '['))
	first, _ := slices.BinarySearchFunc(l, permission, func(p state.PermissionLink, n types.Name) int {
		return cmp.Compare(p.Required, n)
	})
	for i := first; i < len(l) && l[i].Required == permission; i++ {
		if o[len(o)-1] != '[' {
			o = append(o, ',')
		}
		o = append(o, '{').name("account", l[i].Key.Code)
		if l[i].Key.Action != 0 {
			o = o.name("action", l[i].Key.Action)
		}
		o = append(o, '}')
	}
	return append(o, ']')
}

func permissions(v *state.View, o object, n types.Name, l links) (object, error) {
	o = append(variant.AppendKey(o, "permissions"), '[')
	first := len(o)
	err := v.Permissions.Walk(state.PermissionKey{Owner: n}, false, func(p *state.Permission) (bool, error) {
		if p.Key.Owner != n {
			return false, nil
		}
		if len(o) > first {
			o = append(o, ',')
		}
		o = append(o, '{').name("perm_name", p.Key.Name).name("parent", p.Parent).json("required_auth", p.Authority)
		o = append(l.append(variant.AppendKey(o, "linked_actions"), p.Key.Name), '}')
		return true, nil
	})
	return append(o, ']'), err
}

// systemRows adds what the system contract has in its tables about an account.
func (q accounts) systemRows(v *state.View, o object, n types.Name, system *codecEntry) (object, error) {
	clock := clock{limit: q.api.ABITime}
	budget := clock.budget()
	for _, row := range []struct {
		key, typ     string
		table, scope types.Name
	}{
		{"total_resources", "user_resources", types.N("userres"), n},
		{"self_delegated_bandwidth", "delegated_bandwidth", types.N("delband"), n},
		{"refund_request", "refund_request", types.N("refunds"), n},
		{"voter_info", "voter_info", types.N("voters"), nameEosio},
		{"rex_info", "rex_balance", types.N("rexbal"), nameEosio},
	} {
		o = variant.AppendKey(o, row.key)
		key := state.RowKey{TableKey: state.TableKey{Code: nameEosio, Scope: row.scope, Table: row.table},
			Primary: uint64(n)}
		_, value, found, err := v.Row(key)
		if err != nil {
			return o, err
		}
		if !found || system.def == nil {
			o = append(o, "null"...)
			continue
		}
		if system.err != nil {
			return o, system.err
		}
		clock.restart()
		convert := system.codec.DecodeShort
		if q.api.Verbose {
			convert = system.codec.Decode
		}
		if o, err = convert(o, row.typ, value, budget); err != nil {
			return o, err
		}
	}
	return o, nil
}

// liquidBalance adds what the account has of the core token, if anything.
func liquidBalance(v *state.View, o object, n types.Name, core *types.Symbol) (object, error) {
	if core == nil {
		symbol, err := coreSymbol(v)
		if err != nil {
			return o, err
		}
		core = &symbol
	}
	key := state.RowKey{TableKey: state.TableKey{Code: nameToken, Scope: n, Table: nameAccounts},
		Primary: uint64(core.Code())}
	_, value, found, err := v.Row(key)
	if err != nil || !found || len(value) < 16 {
		return o, err
	}
	var balance types.Asset
	if err := types.DecodePrefix(value, &balance); err != nil {
		return o, err
	}
	if balance.Symbol == *core {
		o = o.json("core_liquid_balance", balance)
	}
	return o, nil
}

// coreSymbol returns the symbol of the core token as the system contract's market
// for RAM has it, 0 if there is none (Leap: extract_core_symbol).
func coreSymbol(v *state.View) (types.Symbol, error) {
	table := state.TableKey{Code: nameEosio, Scope: nameEosio, Table: types.N("rammarket")}
	ramcore, _ := letters("RAMCORE")
	_, value, found, err := v.Row(state.RowKey{TableKey: table, Primary: ramcore<<8 | 4})
	if err != nil || !found {
		return 0, err
	}
	r := serial.NewReader(value)
	var ignored, quote types.Asset
	ignored.Read(r)
	ignored.Read(r)
	r.Raw(8)
	quote.Read(r)
	r.Raw(8)
	if r.Err() != nil {
		return 0, nil
	}
	return quote.Symbol, nil
}
