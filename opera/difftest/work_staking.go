package difftest

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"

	"tarn/opera/epoch"
	"tarn/opera/inter"
)

// stakers is the contract of stakes, SFC.
var stakers = common.HexToAddress("0xfc00face00000000000000000000000000000000")

const (
	leastStake = 3_175_000 // of a validator, in units of 10^18 wei
	day        = 24 * 60 * 60
)

func (w *Work) staking(kind string, from *Account, value *big.Int, c *epoch.Call) *Deed {
	return w.deed(kind, from, stakers, 900_000, value, c.Encode())
}

// delegation has an account delegate so many coins.
func (w *Work) delegation(from *Account, to inter.ValidatorID, amount int64) *Deed {
	w.stakes = append(w.stakes, stake{from, to})
	return w.staking("delegate", from, coins(amount), call("delegate(uint256)").Number(uint64(to)))
}

// randomStake is one of those who have delegated.
func (w *Work) randomStake() stake { return w.stakes[w.IntN(len(w.stakes))] }

// someID is a validator's, mostly of one that there is.
func (w *Work) someID() inter.ValidatorID { return inter.ValidatorID(1 + w.IntN(int(w.lastID)+1)) }

// createValidator makes an account one. In real time there is one at most, which nobody runs.
func (w *Work) createValidator() *Deed {
	from := w.accounts[w.validators+w.IntN(others)]
	pubkey := from.PublicKey().Bytes()
	method := call("createValidator(bytes)")
	switch {
	case w.IntN(4) == 0: // refused: too little, or no key
		if w.IntN(2) == 0 {
			return w.staking("create a validator badly", from, coins(leastStake-1), method.Bytes(pubkey))
		}
		return w.staking("create a validator badly", from, coins(leastStake), method.Bytes(nil))
	case w.joined[from] != 0, !w.Virtual && w.lastID > inter.ValidatorID(w.validators):
		return nil
	}
	w.lastID++
	w.joined[from] = w.lastID
	w.stakes = append(w.stakes, stake{from, w.lastID})
	amount := int64(leastStake)
	if w.Virtual {
		amount += w.Int64N(4_000_000)
	}
	return w.staking("create a validator", from, coins(amount), method.Bytes(pubkey))
}

func (w *Work) delegate() *Deed {
	amount := 1 + w.Int64N(200_000)
	if w.IntN(8) == 0 {
		amount = 0
	}
	return w.delegation(w.anyone(), w.someID(), amount)
}

// undelegate asks for a part back. Validators that must go on keep what is their own.
func (w *Work) undelegate() *Deed {
	s := w.randomStake()
	amount := coins(1 + w.Int64N(1000))
	if w.Virtual && w.IntN(6) == 0 && int(s.to) > w.Heavy() {
		amount = coins(w.Int64N(4_000_000))
	}
	r := request{s, w.Uint64N(1000)}
	w.requests = append(w.requests, r)
	return w.staking("undelegate", s.from, nil,
		call("undelegate(uint256,uint256,uint256)").Number(uint64(s.to)).Number(r.number).Big(amount))
}

func (w *Work) withdraw() *Deed {
	if len(w.requests) == 0 {
		return nil
	}
	r := w.requests[w.IntN(len(w.requests))]
	return w.staking("withdraw", r.from, nil, call("withdraw(uint256,uint256)").Number(uint64(r.to)).Number(r.number))
}

func (w *Work) locking(kind, method string) *Deed {
	s := w.randomStake()
	amount := new(big.Int).Div(coins(1+w.Int64N(5000)), big.NewInt(1+w.Int64N(3)))
	return w.staking(kind, s.from, nil, call(method).Number(uint64(s.to)).Number(14*day+w.Uint64N(352*day)).Big(amount))
}

func (w *Work) lock() *Deed   { return w.locking("lock", "lockStake(uint256,uint256,uint256)") }
func (w *Work) relock() *Deed { return w.locking("relock", "relockStake(uint256,uint256,uint256)") }

func (w *Work) unlock() *Deed {
	s := w.randomStake()
	return w.staking("unlock", s.from, nil,
		call("unlockStake(uint256,uint256)").Number(uint64(s.to)).Big(coins(1+w.Int64N(100))))
}

func (w *Work) rewards(kind, method string) *Deed {
	s := w.randomStake()
	return w.staking(kind, s.from, nil, call(method).Number(uint64(s.to)))
}

func (w *Work) claim() *Deed   { return w.rewards("claim rewards", "claimRewards(uint256)") }
func (w *Work) restake() *Deed { return w.rewards("restake rewards", "restakeRewards(uint256)") }

func (w *Work) stash() *Deed {
	s := w.randomStake()
	return w.staking("stash rewards", w.anyone(), nil,
		call("stashRewards(address,uint256)").Address(s.from.Address).Number(uint64(s.to)))
}

// sync has the driver told of a validator once more.
func (w *Work) sync() *Deed {
	c := call("_syncValidator(uint256,bool)").Number(uint64(w.someID())).Number(w.Uint64N(2))
	return w.staking("sync a validator", w.anyone(), nil, c)
}

func (w *Work) mint() *Deed {
	c := call("mintFTM(address,uint256,string)").Address(w.programs.Someone()).Big(coins(w.Int64N(1000))).Bytes(
		[]byte("because"))
	return w.staking("mint", w.owner, nil, c)
}

func (w *Work) burn() *Deed {
	return w.staking("burn", w.owner, nil, call("burnFTM(uint256)").Big(big.NewInt(w.Int64N(1e18))))
}

// slash says how much those who delegated to a cheater get back.
func (w *Work) slash() *Deed {
	c := call("updateSlashingRefundRatio(uint256,uint256)").Number(uint64(w.someID())).Big(big.NewInt(w.Int64N(1e18)))
	return w.staking("refund slashed stakes", w.owner, nil, c)
}
