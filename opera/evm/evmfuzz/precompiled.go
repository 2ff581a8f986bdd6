package evmfuzz

import (
	"math/big"

	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/crypto"
	"github.com/ethereum/go-ethereum/crypto/bn256/google"
)

// callPrecompiled calls one of Ethereum's precompiled contracts, mostly with a good input.
func (p *Programmer) callPrecompiled() {
	n := 1 + p.IntN(10)
	input := p.precompiledInput(n)
	if len(input) > 0 && p.Chance(25) {
		input[p.IntN(len(input))] ^= 1 << p.IntN(8)
	}
	size := len(input)
	if p.Chance(15) {
		size = max(0, size+p.IntN(65)-32)
	}
	p.fill(input)
	p.Number(64) // output over the input
	p.Number(0)
	p.Number(uint64(size))
	p.Number(0)
	p.calling(common.BytesToAddress([]byte{byte(n)}))
	p.Number(0)
	p.Op(vm.MLOAD)
	p.keep()
}

func (p *Programmer) precompiledInput(n int) []byte {
	word := func(n uint64) []byte { return common.LeftPadBytes(new(big.Int).SetUint64(n).Bytes(), 32) }
	point := func() []byte {
		return new(bn256.G1).ScalarBaseMult(big.NewInt(int64(p.IntN(5)))).Marshal()
	}
	switch n {
	case 1:
		hash := crypto.Keccak256([]byte{byte(p.IntN(3))})
		sig, err := crypto.Sign(hash, p.Key)
		if err != nil {
			return hash // too short
		}
		return append(append(hash, word(uint64(sig[64])+27)...), sig[:64]...)
	case 5:
		sizes := []uint64{0, 1, 2, 31, 32, 33, 64}
		b, e, m := sizes[p.IntN(7)], sizes[p.IntN(7)], sizes[p.IntN(7)]
		in := append(append(word(b), word(e)...), word(m)...)
		if p.Chance(10) {
			in[32*p.IntN(3)+p.IntN(32)] = byte(p.Uint32())
		}
		for range b + e + m {
			in = append(in, byte(p.Uint32()))
		}
		return in
	case 6:
		return append(point(), point()...)
	case 7:
		return append(point(), word(p.Uint64())...)
	case 8:
		var in []byte
		for range p.IntN(3) {
			in = append(in, point()...)
			in = append(in, new(bn256.G2).ScalarBaseMult(big.NewInt(int64(p.IntN(3)))).Marshal()...)
		}
		return in
	case 9:
		in := make([]byte, 213)
		for i := range in {
			in[i] = byte(p.Uint32())
		}
		copy(in, []byte{0, 0, 0, byte(p.IntN(20))})
		in[212] = byte(p.IntN(5) % 3)
		return in
	}
	in := make([]byte, p.IntN(100))
	for i := range in {
		in[i] = byte(p.Uint32())
	}
	return in
}
