package execute

import (
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// checkActors refuses actors that a producer does not serve.
func checkActors(l *Lists, actors []types.Name) error {
	var refused types.JSONList[types.Name]
	for _, n := range slices.Sorted(slices.Values(actors)) {
		if len(l.ActorWhitelist) > 0 && !l.ActorWhitelist[n] || len(l.ActorWhitelist) == 0 && l.ActorBlacklist[n] {
			refused = append(refused, n)
		}
	}
	switch {
	case len(refused) == 0:
		return nil
	case len(l.ActorWhitelist) > 0:
		return exception.New(exception.ActorWhitelist,
			"authorizing actor(s) in transaction are not on the actor whitelist: ${actors}", "actors", refused)
	default:
		return exception.New(exception.ActorBlacklist,
			"authorizing actor(s) in transaction are on the actor blacklist: ${actors}", "actors", refused)
	}
}

func checkContract(l *Lists, n types.Name) error {
	switch {
	case len(l.ContractWhitelist) > 0 && !l.ContractWhitelist[n]:
		return exception.New(exception.ContractWhitelist, "account '${code}' is not on the contract whitelist",
			"code", n)
	case len(l.ContractWhitelist) == 0 && l.ContractBlacklist[n]:
		return exception.New(exception.ContractBlacklist, "account '${code}' is on the contract blacklist", "code", n)
	}
	return nil
}

func checkAction(l *Lists, account, name types.Name) error {
	if l.ActionBlacklist[ActionName{Account: account, Name: name}] {
		return exception.New(exception.ActionBlacklist, "action '${code}::${action}' is on the action blacklist",
			"code", account, "action", name)
	}
	return nil
}

func checkKey(l *Lists, k types.PublicKey) error {
	if l.KeyBlacklist[k] {
		return exception.New(exception.KeyBlacklist, "public key '${key}' is on the key blacklist", "key", k)
	}
	return nil
}
