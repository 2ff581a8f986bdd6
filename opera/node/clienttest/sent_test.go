package clienttest_test

import (
	"encoding/json"
	"fmt"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/core/types"
)

// sentKey shows of a request that sends a transaction what is in it but prices, which depend on a
// node's estimate, and the signature.
func sentKey(request string) string {
	var m struct {
		Params []hexutil.Bytes
	}
	tx := new(types.Transaction)
	if err := json.Unmarshal([]byte(request), &m); err != nil || len(m.Params) != 1 ||
		tx.UnmarshalBinary(m.Params[0]) != nil {
		return request
	}
	return fmt.Sprintf("eth_sendRawTransaction of type %d, nonce %d, gas %d, to %v, value %v, data %x",
		tx.Type(), tx.Nonce(), tx.Gas(), tx.To(), tx.Value(), tx.Data())
}
