package difftest

import (
	"encoding/hex"
	"errors"
	"slices"
	"time"

	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// world is what a random workload knows of the chain, in order to do things that
// are mostly valid. What it believes may be wrong: the node decides.
type world struct {
	*Driver
	users       []types.Name
	permissions map[types.Name][]types.Name // by account, owner and active first
	pool        []Signer                    // that authorities are made of
	delayed     []delayed                   // transactions that wait
	links       []link
	contracts   []types.Name
	actions     []types.Name
}

type delayed struct {
	id   types.Checksum256
	auth types.PermissionLevel
}

func (d *Driver) newWorld(users []types.Name) *world {
	w := &world{Driver: d, users: users, permissions: map[types.Name][]types.Name{},
		contracts: []types.Name{system, tokenContract, tokenContract},
		actions: names("transfer", "reqauth", "updateauth", "linkauth", "unlinkauth", "deleteauth", "open",
			"close", "eosio.any")}
	for _, u := range users {
		w.permissions[u] = names(owner, active)
		w.pool = append(w.pool, d.Key(u))
	}
	for _, label := range []string{"r1 one", "r1 two", "r1 three"} {
		w.pool = append(w.pool, NewKey(d.Seed, label))
	}
	for _, label := range []string{"site one", "site two", "site three"} {
		w.pool = append(w.pool, newAuthenticator(d.Seed, label))
	}
	w.contracts = append(w.contracts, users[:min(3, len(users))]...)
	return w
}

func names(list ...string) []types.Name {
	var out []types.Name
	for _, s := range list {
		out = append(out, types.N(s))
	}
	return out
}

// level is a random permission of an account.
func (w *world) level(account types.Name) types.PermissionLevel {
	p := pick(w.Driver, w.permissions[account])
	if w.One(3) {
		p = types.N(active)
	}
	return types.PermissionLevel{Actor: account, Permission: p}
}

// authority makes a random one; one in ten is not valid.
func (w *world) authority() types.Authority {
	var a types.Authority
	sum := 0
	weight := func() uint16 {
		v := 1 + w.Rand.IntN(3)
		sum += v
		return uint16(v)
	}
	for range w.Rand.IntN(4) {
		a.Keys = append(a.Keys, types.KeyWeight{Key: pick(w.Driver, w.pool).Public(), Weight: weight()})
	}
	for range w.Rand.IntN(3) {
		l := w.level(pick(w.Driver, w.users))
		if w.One(6) {
			l.Permission = types.N("eosio.code")
		}
		a.Accounts = append(a.Accounts, types.PermissionLevelWeight{Permission: l, Weight: weight()})
	}
	if w.One(4) {
		for range 1 + w.Rand.IntN(2) {
			a.Waits = append(a.Waits, types.WaitWeight{WaitSec: uint32(1 + w.Rand.IntN(8)), Weight: weight()})
		}
	}
	if len(a.Keys) == 0 && w.Rand.IntN(4) != 0 {
		a.Keys = append(a.Keys, types.KeyWeight{Key: pick(w.Driver, w.pool).Public(), Weight: weight()})
	}
	a.Threshold = uint32(1 + w.Rand.IntN(max(1, min(sum, 4))))
	if w.One(10) {
		a.Threshold += uint32(w.Rand.IntN(10))
		return a
	}
	tidy(&a)
	return a
}

// tidy sorts the parts and drops what is twice there.
func tidy(a *types.Authority) {
	a.Sort()
	a.Keys = slices.CompactFunc(a.Keys, func(x, y types.KeyWeight) bool { return x.Key == y.Key })
	a.Accounts = slices.CompactFunc(a.Accounts, func(x, y types.PermissionLevelWeight) bool {
		return x.Permission == y.Permission
	})
	a.Waits = slices.CompactFunc(a.Waits, func(x, y types.WaitWeight) bool { return x.WaitSec == y.WaitSec })
}

// authAction is a random action about permissions.
func (w *world) authAction() types.Action {
	u := pick(w.Driver, w.users)
	auth := w.level(u)
	if !w.One(4) {
		auth.Permission = types.N(owner)
	}
	switch w.Rand.IntN(10) {
	case 0, 1, 2, 3:
		return w.updateAuth(u, auth)
	case 4:
		p := pick(w.Driver, w.permissions[u])
		return with(action(system, "deleteauth", u, u, p), auth)
	case 5, 6:
		kind := pick(w.Driver, w.actions)
		if w.One(3) {
			kind = 0
		}
		need := pick(w.Driver, w.permissions[u])
		switch {
		case w.One(6):
			need = types.N("eosio.any")
		case w.One(10):
			need = types.N("missing")
		}
		return with(action(system, "linkauth", u, u, pick(w.Driver, w.contracts), kind, need), auth)
	case 7:
		if len(w.links) > 0 && !w.One(5) {
			l := pick(w.Driver, w.links)
			return with(action(system, "unlinkauth", l.account, l.account, l.code, l.kind), level(l.account, owner))
		}
		return with(action(system, "unlinkauth", u, u, pick(w.Driver, w.contracts), pick(w.Driver, w.actions)), auth)
	case 8:
		return with(action(system, "reqauth", u, u), w.level(u))
	}
	return with(transfer(u, pick(w.Driver, w.users), tokens(1+w.Rand.Int64N(50), "SYS"), ""), w.level(u))
}

func (w *world) updateAuth(u types.Name, auth types.PermissionLevel) types.Action {
	p := account("perm", w.Rand.IntN(6))
	if w.One(3) {
		p = pick(w.Driver, w.permissions[u])
	}
	if w.One(4) {
		p = types.N(active)
	}
	if w.One(12) {
		p = types.N(owner)
	}
	parent := pick(w.Driver, w.permissions[u])
	switch p {
	case types.N(active):
		parent = types.N(owner)
	case types.N(owner):
		parent = 0
	}
	switch w.Rand.IntN(8) {
	case 0: // whatever it was
	case 1:
		if slices.Contains(w.permissions[u], p) {
			auth.Permission = p
		}
	case 2:
		auth.Permission = parent
	default:
		auth.Permission = types.N(owner)
	}
	return with(action(system, "updateauth", u, u, p, parent, w.authority()), auth)
}

// requiredSigners asks the node which of the keys a transaction needs.
func (w *world) requiredSigners(trx *types.Transaction) ([]Signer, error) {
	var available []string
	byText := map[string]Signer{}
	for _, k := range w.pool {
		byText[k.Public().String()] = k
		available = append(available, k.Public().String())
	}
	for _, name := range []types.Name{system, tokenContract, types.N("eosio.msig"), types.N("eosio.wrap")} {
		k := w.Key(name)
		byText[k.Public().String()] = k
		available = append(available, k.Public().String())
	}
	needed, err := w.ground.requiredKeys(w.ctx, trx, available)
	if err != nil {
		return nil, err
	}
	var keys []Signer
	for _, text := range needed {
		keys = append(keys, byText[text])
	}
	return keys, nil
}

// transactionJSON is a transaction as the API takes it, data as hex.
func transactionJSON(t *types.Transaction) map[string]any {
	actions := func(list []types.Action) []any {
		out := []any{}
		for _, a := range list {
			auths := []any{}
			for _, l := range a.Authorization {
				auths = append(auths, map[string]string{"actor": l.Actor.String(), "permission": l.Permission.String()})
			}
			out = append(out, map[string]any{"account": a.Account.String(), "name": a.Name.String(),
				"authorization": auths, "data": hex.EncodeToString(a.Data)})
		}
		return out
	}
	return map[string]any{
		"expiration": t.Expiration.String(), "ref_block_num": t.RefBlockNum, "ref_block_prefix": t.RefBlockPrefix,
		"max_net_usage_words": t.MaxNetUsageWords, "max_cpu_usage_ms": t.MaxCPUUsageMS, "delay_sec": t.DelaySec,
		"context_free_actions": actions(t.ContextFreeActions), "actions": actions(t.Actions),
		"transaction_extensions": []any{},
	}
}

// submit sends actions signed by just the keys that they need. When these cannot
// satisfy them, it mostly gives up.
func (w *world) submit(t Tx) error {
	t.Keys = []Signer{}
	_, trx, err := w.Pack(t)
	if err != nil {
		return err
	}
	keys, err := w.requiredSigners(trx)
	var refused *Refusal
	switch {
	case errors.As(err, &refused):
		if !w.One(5) {
			return nil
		}
		keys = []Signer{pick(w.Driver, w.pool)}
	case err != nil:
		return err
	}
	t.Keys = keys
	if w.One(40) {
		t.Keys = append(t.Keys, pick(w.Driver, w.pool)) // irrelevant, maybe
	}
	p, trx, err := w.Pack(t)
	if err != nil {
		return err
	}
	if t.Delay > 0 {
		w.delayed = append(w.delayed, delayed{trx.ID(), t.Actions[0].Authorization[0]})
	}
	_, err = w.push(p, trx, 0)
	if errors.As(err, &refused) {
		return nil
	}
	if t.Delay == 0 {
		w.learn(t.Actions)
	}
	return err
}

// link is what linkauth names.
type link struct{ account, code, kind types.Name }

// learn notes what actions, which succeeded, did to the permissions.
func (w *world) learn(actions []types.Action) {
	for _, a := range actions {
		if a.Account != system {
			continue
		}
		r := serial.NewReader(a.Data)
		u, x, y := types.Name(r.Uint64()), types.Name(r.Uint64()), types.Name(r.Uint64())
		switch list := w.permissions[u]; a.Name {
		case types.N("updateauth"):
			if !slices.Contains(list, x) {
				w.permissions[u] = append(list, x)
			}
		case types.N("deleteauth"):
			w.permissions[u] = slices.DeleteFunc(list, func(n types.Name) bool { return n == x })
		case types.N("linkauth"):
			w.links = append(w.links, link{u, x, y})
		case types.N("unlinkauth"):
			w.links = slices.DeleteFunc(w.links, func(l link) bool { return l == link{u, x, y} })
		}
	}
}

// runPermissions returns a workload of random permissions that activates the
// protocol features first, in the middle, or never.
func runPermissions(features int) func(d *Driver, until time.Time) error {
	return func(d *Driver, until time.Time) error {
		others, err := d.boot()
		if err != nil {
			return err
		}
		if features == first {
			if err := d.activate(others...); err != nil {
				return err
			}
		}
		w, err := d.tokenWorld(12)
		if err != nil {
			return err
		}
		half := d.halfway(until)
		if err := d.until(half, w.permissionStep); err != nil {
			return err
		}
		if features == halfway {
			if err := d.activate(others...); err != nil {
				return err
			}
		}
		return d.until(until, w.permissionStep)
	}
}

// When a workload activates the features.
const (
	never = iota
	first
	halfway
)

// tokenWorld is a world with eosio.token and so many users.
func (d *Driver) tokenWorld(users int) (*world, error) {
	if err := d.mint("SYS"); err != nil {
		return nil, err
	}
	list, err := d.fundAccounts("user", users, "SYS")
	if err != nil {
		return nil, err
	}
	return d.newWorld(list), nil
}

func (w *world) permissionStep() error {
	if err := w.pace(15 * time.Millisecond); err != nil {
		return err
	}
	var t Tx
	for range 1 + w.Rand.IntN(1+w.Rand.IntN(3)) {
		t.Actions = append(t.Actions, w.authAction())
	}
	if w.One(5) {
		t.Delay = uint32(1 + w.Rand.IntN(9))
	}
	if w.One(30) {
		t.Compression = types.CompressionZlib
	}
	if len(w.delayed) > 0 && w.One(12) {
		// Its keys may have been changed since.
		i := w.Rand.IntN(len(w.delayed))
		x := w.delayed[i]
		w.delayed = slices.Delete(w.delayed, i, i+1)
		t = Tx{Actions: []types.Action{with(action(system, "canceldelay", x.auth.Actor, x.auth, x.id), x.auth)}}
	}
	return w.submit(t)
}
