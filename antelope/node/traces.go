package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tarn/antelope/abi"
	"tarn/antelope/admintypes"
	"tarn/antelope/exception"
	"tarn/antelope/tracelog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/antelope/tracelog/wire"
	"tarn/antelope/types"
)

// openTraces opens what is recorded of blocks, before the chain tells of any.
func (n *Node) openTraces() (err error) {
	if n.o.Traces == nil {
		return nil
	}
	o := *n.o.Traces
	if err := n.lockFolder(o.Files.Dir); err != nil {
		return err
	}
	o.BlockID = historySource{n}.BlockID
	o.Logged = func(num uint32) *types.SignedBlock {
		b, err := n.log.Read(num)
		n.noteDamage(err)
		return b
	}
	if n.traces, err = tracelog.Open(o); err != nil {
		return fmt.Errorf("open the traces: %w", err)
	}
	n.chain.Subscribe(n.traces.Hooks())
	return nil
}

// recorded is the traces as the API reads them.
type recorded struct{ *tracelog.History }

// Block implements rpc.Traces.
func (r recorded) Block(num uint32, take func(int64) error) (*wire.Block, bool, error) {
	b, irreversible, err := r.History.Block(num, take)
	if errors.Is(err, tracelog.ErrNotFound) {
		return nil, false, nil
	}
	return b, irreversible, err
}

// traces reads the options of trace_api_plugin; nil without it.
func (s *settings) traces() (*tracelog.Options, error) {
	if !s.Plugins.Enabled("eosio::trace_api_plugin") {
		return nil, nil
	}
	log := s.logs.Logger("trace_api")
	o := &tracelog.Options{Log: log, Files: slicefile.Options{Dir: s.Under(s.DataDir, "trace-dir"),
		Stride: uint32(s.Uint("trace-slice-stride")), Logger: log}}
	var errs []error
	for name, least := range map[string]**uint32{
		"trace-minimum-irreversible-history-blocks":              &o.Keep,
		"trace-minimum-uncompressed-irreversible-history-blocks": &o.Plain,
	} {
		switch n := s.Int(name); {
		case n < -1:
			errs = append(errs, admintypes.NewBadOption("\"%s\" must be greater to or equal to -1.", name))
		case n >= 0:
			*least = new(uint32(n))
		}
	}
	return o, errors.Join(errs...)
}

// traceABIs reads the ABIs by which traces are shown. The error names all that is wrong
// with them.
func (s *settings) traceABIs() (map[types.Name]*abi.Codec, error) {
	if !s.Plugins.Enabled("eosio::trace_api_plugin") {
		return nil, nil
	}
	list := s.Texts("trace-rpc-abi")
	var errs []error
	switch none := s.Bool("trace-no-abis"); {
	case len(list) > 0 && none:
		errs = append(errs, admintypes.NewBadOption("Trace API is configured with ABIs however trace-no-abis is set"))
	case len(list) == 0 && !none:
		errs = append(errs, admintypes.NewBadOption("Trace API is not configured with ABIs and trace-no-abis is not set"))
	}
	codecs := map[types.Name]*abi.Codec{}
	for _, entry := range list {
		account, codec, err := s.traceABI(entry)
		if err != nil {
			errs = append(errs, fmt.Errorf("Malformed trace-rpc-abi provider: %q: %w", entry, err))
			continue
		}
		if codecs[account] == nil { // as in nodeos, the first counts
			codecs[account] = codec
		}
	}
	return codecs, errors.Join(errs...)
}

// traceABI reads one that is given as account=file (Leap: configuration_utils.cpp).
func (s *settings) traceABI(entry string) (types.Name, *abi.Codec, error) {
	key, path, found := strings.Cut(entry, "=")
	switch {
	case entry == "":
		return 0, nil, admintypes.NewBadOption("Key-Value Pair is Empty")
	case !found:
		return 0, nil, admintypes.NewBadOption("Missing \"=\"")
	case key == "":
		return 0, nil, admintypes.NewBadOption("Missing Key")
	case path == "":
		return 0, nil, admintypes.NewBadOption("Missing Value")
	}
	account, err := types.ParseName(key)
	if err != nil {
		return 0, nil, err
	}
	if !filepath.IsAbs(path) {
		path = filepath.Join(s.DataDir, path)
	}
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return 0, nil, admintypes.NewBadOption("%s does not exist or is not a file", path)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, nil, err
	}
	def, err := abi.Parse(string(text))
	if err != nil {
		return 0, nil, exception.Wrap(exception.JSONParse, err, "Fail to parse JSON from file: ${file}", "file", path)
	}
	codec, err := abi.New(def, nil)
	return account, codec, err
}
