package node

import (
	"errors"

	"tarn/antelope/admintypes"
)

// workAsSpring makes the services of a node those of one of Spring, whose chain it has found in its folder.
// What is decided block by block or with each connection follows the chain by itself (chain.Chain.Spring). The
// error names each signature-provider that Spring does not start with, so that nobody waits for the blocks of a
// producer whose key is missing.
func (s *settings) workAsSpring(v *Services) error {
	var errs []error
	for _, m := range v.malformed {
		errs = append(errs, admintypes.NewBadOption("Malformed signature provider: %s", m))
	}
	if v.P2P != nil {
		if !s.Given("agent-name") {
			v.P2P.AgentName = "Spring Agent"
		}
		if !s.Given("peer-log-format") {
			v.P2P.PeerLogFormat = `["${_peer}" - ${_cid} ${_ip}:${_port}] `
		}
	}
	return errors.Join(errs...)
}
