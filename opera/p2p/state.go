package p2p

import (
	"errors"
	"fmt"

	"github.com/ethereum/go-ethereum/p2p"
	"github.com/ethereum/go-ethereum/rlp"
)

// stateProtocol is the protocol by which go-opera's nodes give each other the state of an
// epoch: Ethereum's snap/1 by another name. go-opera takes a peer that does not offer it
// for useless.
const stateProtocol = "fsnap"

// stateCodes is how many messages it has. Even ones are requests, each followed by its
// answer.
const stateCodes = 8

// speakState answers each request with nothing, which says that this node does not have
// the state that is asked for: whoever asks turns to others.
func speakState(rw p2p.MsgReadWriter) error {
	for {
		m, err := rw.ReadMsg()
		if err != nil {
			return err
		}
		id, err := stateRequest(m)
		if err != nil {
			return fmt.Errorf("%w: %w", errDecode, err)
		}
		if err := answerState(rw, m.Code, id); err != nil {
			return err
		}
	}
}

// stateRequest reads the number that a message begins with, and nothing of the rest, which
// may be as long as it likes.
func stateRequest(m p2p.Msg) (id uint64, err error) {
	if m.Size > maxMessage {
		return 0, errTooLong
	}
	s := rlp.NewStream(m.Payload, uint64(m.Size))
	if _, err = s.List(); err == nil {
		id, err = s.Uint64()
	}
	return id, errors.Join(err, m.Discard())
}

func answerState(w p2p.MsgWriter, code, id uint64) error {
	type none = []struct{}
	switch code {
	case 0, 2: // accounts, slots; with a proof
		return p2p.Send(w, code+1, []any{id, none{}, none{}})
	case 4, 6: // code, nodes of tries
		return p2p.Send(w, code+1, []any{id, none{}})
	}
	return nil // an answer that nobody asked for
}
