package producer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"tarn/antelope/admintypes"
	"tarn/antelope/crypto"
	"tarn/antelope/exception"
	"tarn/antelope/types"
)

// SignatureProvider signs a digest with the key that it is for: of a block on the writer, of what producers gossip
// on any other goroutine.
type SignatureProvider func(types.Checksum256) (types.Signature, error)

// ParseSignatureProvider reads <public-key>=KEY:<private-key> or
// <public-key>=KEOSD:<url> (Leap: signature_provider_plugin.cpp). A wallet gets
// timeout to answer; below 0 is for ever.
func ParseSignatureProvider(spec string, timeout time.Duration) (types.PublicKey, SignatureProvider, error) {
	bad := func(format string, args ...any) (types.PublicKey, SignatureProvider, error) {
		return types.PublicKey{}, nil, admintypes.NewBadOption(format, args...)
	}
	text, provider, ok := strings.Cut(spec, "=")
	if !ok {
		return bad("Missing \"=\" in the key spec pair")
	}
	kind, data, ok := strings.Cut(provider, ":")
	if !ok {
		return bad("Missing \":\" in the key spec pair")
	}
	public, err := types.ParsePublicKey(text)
	if err != nil {
		return types.PublicKey{}, nil, err
	}
	switch kind {
	case "KEY":
		private, err := crypto.ParsePrivateKey(data)
		if err != nil {
			return types.PublicKey{}, nil, err
		}
		if private.Public() != public {
			return bad("Private key does not match given public key for %s", public)
		}
		return public, private.Sign, nil
	case "KEOSD":
		w := newWallet(data, public, timeout)
		return public, w.sign, nil
	}
	return bad("Unsupported key provider type \"%s\"", kind)
}

// wallet is a keosd.
type wallet struct {
	url     string
	public  types.PublicKey
	timeout time.Duration
	client  http.Client
}

func newWallet(url string, public types.PublicKey, timeout time.Duration) *wallet {
	w := &wallet{url: url, public: public, timeout: timeout}
	if path, ok := strings.CutPrefix(url, "unix://"); ok {
		// The socket's path ends where the call's begins.
		socket, call := path, "/v1/wallet/sign_digest"
		if i := strings.Index(path, "/v1/"); i >= 0 {
			socket, call = path[:i], path[i:]
		}
		w.url = "http://unix" + call
		w.client.Transport = &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "unix", socket)
		}}
	}
	return w
}

func (w *wallet) sign(digest types.Checksum256) (s types.Signature, err error) {
	ctx := context.Background()
	if w.timeout >= 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	body := fmt.Sprintf("[%q,%q]", digest, w.public)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, w.url, bytes.NewReader([]byte(body)))
	if err != nil {
		return s, exception.Wrap(exception.Producer, err, "ask keosd for a signature")
	}
	answer, err := w.client.Do(r)
	if err != nil {
		return s, exception.Wrap(exception.Producer, err, "ask keosd for a signature")
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(answer.Body, 64<<10))
	if err != nil {
		return s, exception.Wrap(exception.Producer, err, "ask keosd for a signature")
	}
	if answer.StatusCode/100 != 2 {
		return s, exception.New(exception.Producer, "keosd at ${url} answers ${status}: ${body}",
			"url", w.url, "status", answer.Status, "body", string(raw))
	}
	var text string
	if err := json.Unmarshal(raw, &text); err != nil {
		return s, exception.Wrap(exception.Producer, err, "keosd's signature")
	}
	return types.ParseSignature(text)
}
