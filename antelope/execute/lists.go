package execute

import (
	"slices"
	"strconv"
	"strings"

	"tarn/antelope/control"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// checkActors refuses actors that a producer does not serve.
func checkActors(l *control.Lists, actors []types.Name) error {
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

func checkContract(l *control.Lists, n types.Name) error {
	switch {
	case len(l.ContractWhitelist) > 0 && !l.ContractWhitelist[n]:
		return exception.New(exception.ContractWhitelist, "account '%s' is not on the contract whitelist", n)
	case len(l.ContractWhitelist) == 0 && l.ContractBlacklist[n]:
		return exception.New(exception.ContractBlacklist, "account '%s' is on the contract blacklist", n)
	}
	return nil
}

func checkAction(l *control.Lists, account, name types.Name) error {
	if l.ActionBlacklist[control.ActionName{Account: account, Name: name}] {
		return exception.New(exception.ActionBlacklist, "action '%s::%s' is on the action blacklist", account, name)
	}
	return nil
}

func checkKey(l *control.Lists, k types.PublicKey) error {
	if l.KeyBlacklist[k] {
		return exception.New(exception.KeyBlacklist, "public key '%s' is on the key blacklist", k)
	}
	return nil
}
