package evm

import (
	"errors"
	"fmt"
	"strings"

	"github.com/consensys/gnark-crypto/ecc/bn254/fp"
	"github.com/ethereum/go-ethereum/common"
	"github.com/ethereum/go-ethereum/core/vm"
	"github.com/ethereum/go-ethereum/params"
)

// operaError is a failure of the machine in the words of the go-ethereum of go-opera. What is in
// today's with more words around it is the plain error there, and is compared with ==. ret is
// what the call returned.
func operaError(err error, ret []byte) error {
	var invalid *vm.ErrInvalidOpCode
	switch {
	case err == nil:
		return nil
	case errors.As(err, &invalid):
		return nameOpcode(invalid)
	case errors.Is(err, vm.ErrOutOfGas) && strings.HasSuffix(err.Error(), ": "+vm.ErrWriteProtection.Error()):
		return vm.ErrWriteProtection
	case errors.Is(err, vm.ErrOutOfGas):
		return vm.ErrOutOfGas
	case errors.Is(err, vm.ErrMaxCodeSizeExceeded):
		return vm.ErrMaxCodeSizeExceeded
	case errors.Is(err, vm.ErrInvalidCode), errors.Is(err, vm.ErrCodeStoreOutOfGas):
		if len(ret) > params.MaxCodeSize { // that was looked at first
			return vm.ErrMaxCodeSizeExceeded
		}
	}
	return err
}

// nameOpcode gives an opcode in an error the name that it has in the go-ethereum of go-opera, which
// knows none that came after London, and three that were never real.
func nameOpcode(err *vm.ErrInvalidOpCode) error {
	const text = "invalid opcode: "
	name := strings.TrimPrefix(err.Error(), text)
	code := int(vm.StringToOp(name))
	if vm.OpCode(code).String() != name {
		if _, scanned := fmt.Sscanf(name, "opcode 0x%x not defined", &code); scanned != nil {
			return err
		}
	}
	switch code {
	case 0xb0:
		name = "PUSH"
	case 0xb1:
		name = "DUP"
	case 0xb2:
		name = "SWAP"
	case int(vm.BASEFEE):
		name = "BASEFEE"
	default:
		name = fmt.Sprintf("opcode 0x%x not defined", code)
	}
	return errors.New(text + name)
}

// The contracts of the curve alt_bn128, and the bytes of a coordinate.
const (
	curveAdd, curveMul, curvePairing = 6, 7, 8

	coordinate = 32
)

// precompiledError is worded for a message to one of Ethereum's precompiled contracts: those of the
// curve have other words for points that are none.
func precompiledError(err error, to common.Address, input []byte) error {
	if err == nil || to != common.BytesToAddress(to[19:]) {
		return err
	}
	var size int // of what is read as points
	switch to[19] {
	case curveAdd:
		size = 4 * coordinate
	case curveMul:
		size = 2 * coordinate
	case curvePairing:
		size = len(input)
	default:
		return err
	}
	switch text := err.Error(); {
	case strings.HasPrefix(text, "point is not "):
		return errors.New("bn256: malformed point")
	case strings.Contains(text, "fp.Element"):
		return beyondModulus(common.RightPadBytes(input, size)[:size])
	}
	return err
}

// beyondModulus is about the first coordinate that is no number of the field.
func beyondModulus(points []byte) error {
	modulus := common.BigToHash(fp.Modulus())
	for ; len(points) >= coordinate; points = points[coordinate:] {
		switch c := common.Hash(points[:coordinate]).Cmp(modulus); {
		case c == 0:
			return errors.New("bn256: coordinate equals modulus")
		case c > 0:
			return errors.New("bn256: coordinate exceeds modulus")
		}
	}
	return errors.New("bn256: malformed point")
}
