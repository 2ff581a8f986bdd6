package execute

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"tarn/antelope/feature"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/antelope/wasm/intrinsic"
)

// CheckProtocol compares what a state names with what this program has, and returns an error
// that names all that is missing: protocol features that are active, and host functions that
// contracts may import. With MissingIntrinsics the latter are a warning in the log. A state of a
// fork's network whose list lacks the fork's functions is refused: another program has made it.
func (o *Options) CheckProtocol(chain types.Checksum256, p *state.ProtocolState) error {
	set, err := o.features()
	if err != nil {
		return err
	}
	var errs []error
	for _, a := range p.Activated {
		if set.Find(a.Digest) == nil {
			errs = append(errs,
				fmt.Errorf("this network needs the protocol feature %s, active since block %d, which this program "+
					"does not know: its blocks cannot be applied", a.Digest, a.Block))
		}
	}
	if missing := intrinsic.Missing(p.Intrinsics); len(missing) > 0 {
		names := strings.Join(missing, ", ")
		if o.MissingIntrinsics {
			o.logger().Warn(
				"The state lists host functions that this program lacks: blocks that set or run contracts which "+
					"import them cannot be applied", "functions", names)
		} else {
			errs = append(errs,
				fmt.Errorf(
					"this network needs %s, which this program does not have: blocks that set or run contracts which "+
						"import it cannot be applied. "+
						"Use the network's own node, or a newer version of this one; allow-missing-intrinsics opens "+
						"the state for a look", names))
		}
	}
	lacks := func(names []string) (list []string) {
		for _, n := range names {
			if !isListed(p.Intrinsics, n) {
				list = append(list, n)
			}
		}
		return list
	}
	if names := lacks(intrinsic.GenesisOf(chain, nil)); len(names) > 0 {
		errs = append(errs,
			fmt.Errorf(
				"contracts of this network may import %s, and the state does not list it: a program without it has "+
					"made the state; "+
					"load a snapshot of the network, or make the state again with --replay-blockchain",
				strings.Join(names, ", ")))
	}
	if names := lacks(o.GenesisIntrinsics); len(names) > 0 {
		o.logger().Warn("genesis-intrinsic has no effect on a state that exists; --replay-blockchain makes it again",
			"missing", strings.Join(names, ", "))
	}
	return errors.Join(errs...)
}

// CheckGenesis returns an error that names what of GenesisIntrinsics is no function of a fork that
// this program has.
func (o *Options) CheckGenesis() error {
	var known, unknown []string
	for _, f := range intrinsic.Forks() {
		known = append(known, f.Functions...)
	}
	for _, n := range o.GenesisIntrinsics {
		if !slices.Contains(known, n) {
			unknown = append(unknown, fmt.Sprintf("%q", n))
		}
	}
	if len(unknown) > 0 {
		return fmt.Errorf("%s is no function of a fork that this program has; those are %s",
			strings.Join(unknown, ", "), strings.Join(known, ", "))
	}
	return nil
}

// Spring is the version of Spring whose rules of finality, and whose answers about them, these are.
const Spring = "v1.2.2"

// ForkVersion is what the node calls itself that a state's functions are of: a fork's of Leap, or
// Spring's once SAVANNA is active, which a node of Leap cannot follow. It is empty for Leap's.
func ForkVersion(p *state.ProtocolState) string {
	for _, f := range intrinsic.Forks() {
		if slices.ContainsFunc(f.Functions, func(name string) bool { return isListed(p.Intrinsics, name) }) {
			return f.Version
		}
	}
	if isListed(p.Intrinsics, "set_finalizers") {
		return Spring
	}
	return ""
}

// features are the protocol features that are recognised.
func (o *Options) features() (*feature.Set, error) {
	if o.Features != nil {
		return o.Features, nil
	}
	return feature.Builtins()
}
