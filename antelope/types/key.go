package types

// KeyType is the kind of a public key or signature, the index of its variant.
type KeyType uint8

// The kinds of keys. WebAuthn may be used once the protocol feature is active.
const (
	K1 KeyType = iota
	R1
	WebAuthn
)

// PublicKey is a key of any kind. It is comparable; order is [PublicKey.Compare].
type PublicKey struct {
	Type         KeyType
	Point        [33]byte // compressed
	UserPresence uint8    // WebAuthn only
	RPID         string   // WebAuthn only
}

// Signature is a signature of any kind. It is comparable.
type Signature struct {
	Type       KeyType
	Compact    [65]byte
	AuthData   string // WebAuthn only: bytes
	ClientJSON string // WebAuthn only
}
