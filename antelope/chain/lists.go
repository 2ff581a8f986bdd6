package chain

import (
	"slices"
	"strconv"
	"strings"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// Lists are whom a producer serves, and what it does not execute. They count only
// in blocks that this node makes. An empty whitelist lets all pass.
type Lists struct {
	ActorWhitelist, ActorBlacklist       map[types.Name]bool
	ContractWhitelist, ContractBlacklist map[types.Name]bool
	ActionBlacklist                      map[ActionName]bool
	KeyBlacklist                         map[types.PublicKey]bool
	SenderBypass                         map[types.Name]bool // of deferred transactions
}

// ActionName names an action of a contract.
type ActionName struct{ Account, Name types.Name }

func (l *Lists) bypassed(sender types.Name) bool { return l.SenderBypass[sender] }

func (l *Lists) checkActors(actors []types.Name) error {
	var refused []string // as JSON, ascending
	for _, n := range slices.Sorted(slices.Values(actors)) {
		if len(l.ActorWhitelist) > 0 && !l.ActorWhitelist[n] || len(l.ActorWhitelist) == 0 && l.ActorBlacklist[n] {
			refused = append(refused, strconv.Quote(n.String()))
		}
	}
	switch list := strings.Join(refused, ","); {
	case len(refused) == 0:
		return nil
	case len(l.ActorWhitelist) > 0:
		return exception.New(exception.ActorWhitelist, "authorizing actor(s) in transaction are not on the actor whitelist: [%s]", list)
	default:
		return exception.New(exception.ActorBlacklist, "authorizing actor(s) in transaction are on the actor blacklist: [%s]", list)
	}
}

func (l *Lists) checkContract(n types.Name) error {
	switch {
	case len(l.ContractWhitelist) > 0 && !l.ContractWhitelist[n]:
		return exception.New(exception.ContractWhitelist, "account '%s' is not on the contract whitelist", n)
	case len(l.ContractWhitelist) == 0 && l.ContractBlacklist[n]:
		return exception.New(exception.ContractBlacklist, "account '%s' is on the contract blacklist", n)
	}
	return nil
}

func (l *Lists) checkAction(account, name types.Name) error {
	if l.ActionBlacklist[ActionName{account, name}] {
		return exception.New(exception.ActionBlacklist, "action '%s::%s' is on the action blacklist", account, name)
	}
	return nil
}

func (l *Lists) checkKey(k types.PublicKey) error {
	if l.KeyBlacklist[k] {
		return exception.New(exception.KeyBlacklist, "public key '%s' is on the key blacklist", k)
	}
	return nil
}
