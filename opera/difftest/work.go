package difftest

import (
	"encoding/binary"
	"math/big"
	"math/rand/v2"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/epoch"
	"tarn/opera/evm"
	"tarn/opera/evm/evmfuzz"
	"tarn/opera/inter"
)

// others is how many accounts there are beside those of validators.
const others = 6

// Work thinks up what accounts do: all of it follows from a seed, and from what is told of
// the network. It is for one goroutine.
//
// It has many methods because it has one for each kind of work.
type Work struct {
	*rand.Rand
	// Virtual says that the network's time is made: periods of days pass, and no pool
	// stands between an account and the events.
	Virtual bool
	// Epoch is the network's present one.
	Epoch inter.Epoch

	validators int
	owner      *Account   // of the contracts
	accounts   []*Account // validators first
	programs   evmfuzz.Programmer
	batches    []common.Address // contracts that the owner may have executed
	stakes     []stake
	requests   []request
	lastID     inter.ValidatorID
	joined     map[*Account]inter.ValidatorID
	rules      int // updates thought up
}

// stake is what somebody has delegated; request is what somebody wants back.
type (
	stake struct {
		from *Account
		to   inter.ValidatorID
	}
	request struct {
		stake
		number uint64
	}
)

// NewWork makes the work of a fakenet of that many validators.
func NewWork(seed uint64, validators int) (*Work, error) {
	random := rand.New(rand.NewPCG(seed, 0x0be7a))
	w := &Work{
		Rand: random, validators: validators, lastID: inter.ValidatorID(validators),
		joined:   map[*Account]inter.ValidatorID{},
		programs: evmfuzz.Programmer{Rand: random, Writer: evm.WriterAddress},
	}
	for id := 1; id <= validators; id++ {
		a, err := ValidatorAccount(inter.ValidatorID(id))
		if err != nil {
			return nil, err
		}
		w.accounts = append(w.accounts, a)
		w.joined[a] = inter.ValidatorID(id)
		w.stakes = append(w.stakes, stake{a, inter.ValidatorID(id)})
	}
	w.owner = w.accounts[0]
	for i := range others {
		a, err := otherAccount(byte(i))
		if err != nil {
			return nil, err
		}
		w.accounts = append(w.accounts, a)
		w.programs.Pool = append(w.programs.Pool, a.Address)
	}
	w.programs.Key = w.accounts[validators].Key
	w.programs.Pool = append(w.programs.Pool, common.Address{}, common.HexToAddress("0xdead"), evm.WriterAddress,
		epoch.Driver())
	return w, nil
}

// Heavy is how many validators, the first ones, hold so much that the others may fail.
func (w *Work) Heavy() int { return w.validators/2 + 1 }

// Start is what comes first: everybody gets something, and the first validators so much
// that the network lives without the others.
func (w *Work) Start() []*Deed {
	var list []*Deed
	for i, a := range w.accounts[w.validators:] {
		list = append(list, w.deed("transfer", w.accounts[i%w.validators], a.Address, 21_000, coins(60_000_000), nil))
	}
	if w.Virtual && w.validators <= 2 {
		list = append(list, w.govern("advance epochs", driverAuth, call("advanceEpochs(uint256)").Number(early)))
	}
	if w.Virtual {
		return list
	}
	for id := 1; id <= w.Heavy(); id++ {
		list = append(list, w.delegation(w.accounts[id-1], inter.ValidatorID(id), 60_000_000))
	}
	return append(list, w.govern("advance epochs", driverAuth, call("advanceEpochs(uint256)").Number(1)))
}

// early are the epochs in which the network cannot do without the upgrade Llr.
const early = 260

// Hurries tells whether the network is to come to later epochs: a small one, at first.
func (w *Work) Hurries() bool { return w.validators <= 2 && w.Epoch > 2 && w.Epoch <= early }

// kind is a kind of deeds, and how often it is done. It thinks up nil where there is
// nothing of the kind to be done now.
type kind struct {
	often int
	think func(*Work) *Deed
}

// kinds are all there are.
func kinds() []kind {
	return []kind{
		{14, (*Work).transfer}, {14, (*Work).program}, {18, (*Work).contractCall}, {8, (*Work).storing},
		{4, (*Work).large},
		{5, (*Work).edge}, {3, (*Work).factory},
		{2, (*Work).createValidator}, {7, (*Work).delegate}, {5, (*Work).undelegate}, {5, (*Work).withdraw},
		{4, (*Work).lock},
		{3, (*Work).relock}, {3, (*Work).unlock}, {4, (*Work).claim}, {4, (*Work).restake}, {3, (*Work).stash},
		{2, (*Work).sync},
		{2, (*Work).mint}, {1, (*Work).burn}, {1, (*Work).slash},
		{1, (*Work).advance}, {6, (*Work).changeRules}, {3, (*Work).upgrade}, {2, (*Work).copyCode},
		{2, (*Work).raiseNonce},
		{2, (*Work).batch}, {4, (*Work).execute}, {1, (*Work).usurp},
	}
}

// Next thinks up a deed.
func (w *Work) Next() *Deed {
	all := kinds()
	total := 0
	for _, k := range all {
		total += k.often
	}
	for {
		n := w.IntN(total)
		for _, k := range all {
			if n -= k.often; n < 0 {
				if d := k.think(w); d != nil {
					return w.dress(d)
				}
				break
			}
		}
	}
}

// anyone is an account that is no owner.
func (w *Work) anyone() *Account { return w.accounts[1+w.IntN(len(w.accounts)-1)] }

// deed makes one.
func (w *Work) deed(kind string, from *Account, to common.Address, gas uint64, value *big.Int, data []byte) *Deed {
	return &Deed{Kind: kind, From: from, To: &to, Gas: gas, Value: value, Data: data, Price: gwei(5000)}
}

// dress makes a deed one of the types of transactions.
func (w *Work) dress(d *Deed) *Deed {
	if d.Type != types.LegacyTxType || w.IntN(3) == 0 {
		return d
	}
	d.Type = uint8(1 + w.IntN(2))
	d.Tip = new(big.Int).Div(d.Price, big.NewInt(int64(1+w.IntN(3))))
	if w.Virtual && w.IntN(4) == 0 {
		d.Tip = big.NewInt(w.Int64N(1e9)) // no pool asks for more
	}
	for range w.IntN(3) {
		t := types.AccessTuple{Address: w.programs.Someone()}
		for range w.IntN(4) {
			t.StorageKeys = append(t.StorageKeys, common.BigToHash(big.NewInt(w.Int64N(8))))
		}
		d.List = append(d.List, t)
	}
	d.Gas = max(d.Gas, inter.IntrinsicGas(d.Data, d.List, d.To == nil))
	return d
}

// call begins the input of a contract's method.
func call(signature string) *epoch.Call {
	return epoch.NewCall(binary.BigEndian.Uint32(crypto.Keccak256([]byte(signature))))
}

func gwei(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e9)) }

func coins(n int64) *big.Int { return new(big.Int).Mul(big.NewInt(n), big.NewInt(1e18)) }
