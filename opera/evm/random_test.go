package evm

import (
	"cmp"
	"crypto/ecdsa"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/types"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/params"
	"github.com/holiman/uint256"

	"tarn/opera/evm/evmfuzz"
	"tarn/opera/inter"
)

const network = 0xfa3

// scene is a random state, and random blocks on it.
type scene struct {
	*evmfuzz.Programmer
	upgrades []inter.UpgradeHeight
	ids      []inter.EventID // of the blocks before the first
	state    *memory
	keys     []*ecdsa.PrivateKey
	blocks   []sceneBlock
	calls    []Message // on the state after the blocks, each for itself
	now      *memory   // the state as the transactions so far leave it
}

// sceneBlock is a block of a scene.
type sceneBlock struct {
	header Header
	steps  [][]Tx
}

func newScene(seed uint64) *scene {
	rng := rand.New(rand.NewPCG(seed, 0x0be7a))
	s := &scene{Programmer: &evmfuzz.Programmer{Rand: rng, Writer: WriterAddress}, state: newMemory()}
	for i := range 5 {
		key, err := crypto.ToECDSA(common.LeftPadBytes([]byte{1, byte(i)}, 32))
		if err != nil {
			panic(err)
		}
		s.keys = append(s.keys, key)
	}
	s.Key = s.keys[0]
	s.people()
	s.contracts()
	s.now = s.state.copy()
	first := uint64(2 + s.IntN(400))
	s.heights(first)
	for i := range min(first, 258) {
		s.ids = append(s.ids, inter.EventID(crypto.Keccak256Hash([]byte{byte(i), byte(i >> 8)})))
	}
	for i := range 1 + s.IntN(3) {
		if !s.block(inter.BlockNumber(first + uint64(i))) {
			return s
		}
	}
	for range s.IntN(4) {
		if m := s.call(); s.bears(&m) {
			s.calls = append(s.calls, m)
		}
	}
	return s
}

// call makes a message of anybody.
func (s *scene) call() Message {
	m := Message{From: s.Someone(), Gas: s.gas(), Price: new(big.Int),
		Value: big.NewInt(int64(s.IntN(8) / 4 * s.IntN(5))), Data: s.Part(s.IntN(4), true), Unchecked: true}
	if s.Chance(80) {
		to := s.Someone()
		m.To = &to
	}
	if s.Chance(20) {
		m.From = params.SystemAddress
	}
	return m
}

// heights makes upgrades, mostly one that holds for all, sometimes such that come and go
// about a block. Their heights grow, as on a chain; otherwise London may be there before Berlin,
// which ends a go-opera.
func (s *scene) heights(first uint64) {
	kinds := []inter.Upgrades{{}, {Berlin: true}, {Berlin: true, London: true}}
	last := kinds[min(s.IntN(2*len(kinds)), 2)]
	for s.Chance(20) {
		u := inter.UpgradeHeight{Upgrades: kinds[s.IntN(3)], Height: inter.BlockNumber(first + s.Uint64N(3) - 1)}
		s.upgrades = append(s.upgrades, u)
	}
	s.upgrades = append(s.upgrades,
		inter.UpgradeHeight{Upgrades: last, Height: inter.BlockNumber(first + s.Uint64N(3) - 1)})
	slices.SortStableFunc(s.upgrades, func(a, b inter.UpgradeHeight) int { return cmp.Compare(a.Height, b.Height) })
}

func (s *scene) sender(i int) common.Address { return crypto.PubkeyToAddress(s.keys[i].PublicKey) }

// people makes the senders, one of them poor, one with code, one about to run out of
// nonces.
func (s *scene) people() {
	for i := range s.keys {
		a := newAccount()
		a.balance.SetUint64(1e18)
		a.nonce = uint64(s.IntN(3))
		switch {
		case i == 3:
			a.balance.SetUint64(uint64(s.IntN(3e6)))
		case i == 4 && s.Chance(30):
			a.code = []byte{0}
		case i == 4 && s.Chance(30):
			a.balance.Lsh(uint256.NewInt(1), 255)
		}
		s.state.accounts[s.sender(i)] = a
		s.Pool = append(s.Pool, s.sender(i))
	}
	s.Pool = append(s.Pool, common.Address{}, common.HexToAddress("0xdead"), WriterAddress)
}

// contracts makes the driver, EvmWriter, and others; and storage of accounts that are
// created later, which only the driver could write.
func (s *scene) contracts() {
	all := []common.Address{DriverAddress}
	for i := range 5 {
		all = append(all, common.BytesToAddress([]byte{0xc0, byte(i)}))
	}
	s.Pool = append(s.Pool, all...)
	s.Pool = append(s.Pool, DriverAddress)
	for _, address := range all {
		a := newAccount()
		a.nonce = 1
		a.balance.SetUint64(uint64(s.IntN(3) * 1000))
		a.code = s.Part(3+s.IntN(14), false)
		if address == DriverAddress {
			w := evmfuzz.Programmer{Rand: s.Rand, Writer: WriterAddress, Pool: s.Pool, Key: s.Key}
			for range 2 {
				w.Write()
			}
			a.code = append(w.Code, s.Part(s.IntN(6), false)...)
		}
		s.store(a)
		s.state.accounts[address] = a
	}
	writer := newAccount()
	writer.code = []byte{0}
	s.state.accounts[WriterAddress] = writer
	s.today()
	for i := range s.keys {
		s.leaveAccount(crypto.CreateAddress(s.sender(i), s.state.GetNonce(s.sender(i))+uint64(s.IntN(2))))
	}
	for _, address := range all {
		s.leaveAccount(crypto.CreateAddress(address, 1))
	}
}

// today makes what today's machine has rules for that hang on no upgrade: code at the system
// address, and nonces next to the last.
func (s *scene) today() {
	if s.Chance(30) {
		s.Pool = append(s.Pool, params.SystemAddress)
	}
	if s.Chance(30) {
		a := newAccount()
		a.balance.SetUint64(uint64(s.IntN(3) * 3))
		a.code = s.Part(3+s.IntN(8), false)
		s.store(a)
		s.state.accounts[params.SystemAddress] = a
		s.Pool = append(s.Pool, params.SystemAddress)
	}
	for _, address := range s.Pool {
		if a := s.state.accounts[address]; a != nil && s.Chance(5) {
			a.nonce = math.MaxUint64 - s.Uint64N(3)
		}
	}
}

func (s *scene) store(a *account) {
	for range s.IntN(5) {
		a.storage[common.BytesToHash([]byte{byte(s.IntN(5))})] = common.BytesToHash([]byte{byte(1 + s.IntN(200))})
	}
}

// leaveAccount sometimes leaves storage, and mostly a balance, where nothing else is.
func (s *scene) leaveAccount(address common.Address) {
	if !s.Chance(50) {
		return
	}
	a := newAccount()
	a.balance.SetUint64(uint64(s.IntN(4)))
	s.store(a)
	if len(a.storage) == 0 && a.balance.IsZero() {
		return
	}
	s.state.accounts[address] = a
	s.Pool = append(s.Pool, address)
}

// block makes a block of transactions, executing them as it goes to know where the
// nonces are and what gas is needed. It returns false where the next transaction would end a go-opera: the
// scene ends before it.
func (s *scene) block(number inter.BlockNumber) bool {
	config := ChainConfig(network, s.upgrades)
	h := Header{
		Number: number, Time: inter.Timestamp(1_600_000_000_000_000_000 + s.Uint64N(1e12)), Config: config,
		ID: inter.EventID(crypto.Keccak256Hash([]byte{byte(number), 0xb1})), BlockID: s.id,
	}
	if config.IsLondon(new(big.Int).SetUint64(uint64(number))) {
		h.BaseFee = big.NewInt(int64([]int{0, 1, 7, 1e6}[s.IntN(4)]))
	}
	s.now.begin()
	at := len(s.blocks)
	s.blocks = append(s.blocks, sceneBlock{header: h, steps: make([][]Tx, 1+s.IntN(3))})
	b := &s.blocks[at]
	for i := range b.steps {
		for range 1 + s.IntN(4) {
			tx := s.tx(b, i > 0 && i == len(b.steps)-1)
			times := 1
			if s.Chance(5) && !IsInternal(tx.Transaction) {
				times = 2
			}
			for range times {
				if _, borne := s.run(h, tx); !borne {
					return false
				}
				b.steps[i] = append(b.steps[i], tx)
			}
		}
	}
	return true
}

// run executes a transaction on the scene's running state. It returns what it used, and whether a go-opera
// bears it.
func (s *scene) run(h Header, tx Tx) (used uint64, borne bool) {
	b := NewBlock(h, s.now, NewAnalyses(1<<20))
	defer b.Close()
	_, err := b.Execute([]Tx{tx}, nil)
	if err != nil && !errors.Is(err, errRefund) {
		panic(err)
	}
	return b.GasUsed(), err == nil
}

// bears tells whether a go-opera bears a call on the state after the blocks.
func (s *scene) bears(m *Message) bool {
	on := s.now.copy()
	on.begin()
	b := NewBlock(s.blocks[len(s.blocks)-1].header, on, NewAnalyses(1<<20))
	defer b.Close()
	_, err := b.Call(m)
	return !errors.Is(err, errRefund)
}

// id is the scene's BLOCKHASH.
func (s *scene) id(number inter.BlockNumber) inter.EventID {
	first := s.blocks[0].header.Number
	if number >= first {
		return s.blocks[number-first].header.ID
	}
	if back := int(first - number); back <= len(s.ids) {
		return s.ids[len(s.ids)-back]
	}
	return inter.EventID{}
}

// tx makes a random transaction, sometimes one of the block's own.
func (s *scene) tx(b *sceneBlock, internal bool) Tx {
	var to *common.Address
	data := s.Part(s.IntN(5), true)
	if s.Chance(75) {
		someone := s.Someone()
		to = &someone
		data = data[:min(len(data), s.IntN(80))]
	}
	if internal && s.Chance(60) {
		return s.internal(to, data)
	}
	n := s.IntN(len(s.keys))
	from := s.sender(n)
	nonce := s.now.GetNonce(from)
	if s.Chance(5) {
		nonce += s.Uint64N(3) - 1
	}
	o := offer{to: to, data: data, nonce: nonce, value: s.value(from), list: s.list(), gas: s.gas()}
	o.price = big.NewInt(int64(s.IntN(4)))
	o.tip = big.NewInt(int64(s.IntN(4)))
	if s.Chance(2) {
		o.price.Lsh(big.NewInt(1), 256)
	}
	if s.Chance(3) {
		o.tip.Lsh(big.NewInt(3), 256)
	}
	if b.header.BaseFee != nil {
		o.price.Add(o.price, b.header.BaseFee)
	}
	o.kind = s.IntN(4)
	return s.edge(b, n, o)
}

func (s *scene) internal(to *common.Address, data []byte) Tx {
	sender := new(big.Int)
	if s.Chance(20) {
		sender.SetBytes(common.Address{19: 0x77}.Bytes())
	}
	from := common.BytesToAddress(sender.Bytes())
	return Tx{From: from, Transaction: types.NewTx(&types.LegacyTx{
		Nonce: s.now.GetNonce(from), GasPrice: new(big.Int), Gas: 3_000_000, To: to, Value: new(big.Int), Data: data,
		V: new(big.Int), R: new(big.Int), S: sender,
	})}
}

func (s *scene) gas() uint64 {
	switch s.IntN(6) {
	case 0:
		return 53_000 + s.Uint64N(60_000)
	case 1:
		return 6_000_000
	}
	return 100_000 + s.Uint64N(900_000)
}

// value is mostly nothing or little; seldom everything, or more than there is.
func (s *scene) value(from common.Address) *big.Int {
	balance := s.now.GetBalance(from).ToBig()
	switch s.IntN(20) {
	case 0:
		return balance
	case 1:
		return balance.Add(balance, big.NewInt(1))
	case 2:
		return new(big.Int).Lsh(big.NewInt(1), 256)
	case 3:
		return new(big.Int).Add(new(big.Int).Lsh(big.NewInt(1), 256), big.NewInt(5))
	case 4, 5, 6, 7:
		return big.NewInt(int64(s.IntN(1000)))
	}
	return new(big.Int)
}

func (s *scene) list() (list types.AccessList) {
	for range s.IntN(4) {
		t := types.AccessTuple{Address: s.Someone()}
		for range s.IntN(3) {
			t.StorageKeys = append(t.StorageKeys, common.BytesToHash([]byte{byte(s.IntN(5))}))
		}
		list = append(list, t)
	}
	return list
}
