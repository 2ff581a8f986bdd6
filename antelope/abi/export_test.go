package abi

import "tarn/antelope/variant"

// EncodeShort is [Codec.Encode] with the messages that contents of a transaction have.
func (c *Codec) EncodeShort(b []byte, typ string, v variant.Value) ([]byte, error) {
	return c.encode(b, typ, v, newScope(nil), true)
}
