package suite

import (
	"errors"
	"slices"
	"strings"

	"tarn/bench/record"
)

// Bounds of what can be asked.
const (
	roundsMost   = 1000
	accountsMost = 10_000_000
	blockMost    = 20_000 // transfers in one block of a chain that is made
	emptyMost    = 10_000_000

	transactionMost = 100 // transfers in one transaction of a chain that is made
	slotsMost       = 1_000_000
	rowsMost        = 65_536 // MB of rows in a chain's state
	finalizersMost  = 100
	workMost        = 100_000_000
	pushMost        = 1_000_000
	connectionsMost = 3000
	openMost        = 10_000_000 // transfers of one life of disk
	peersMost       = 10_000
	subscribersMost = 10_000
	validatorsMost  = 100
	loadMost        = 100_000 // transfers per second
	clientsMost     = 1000

	deploymentsMost = 1000
	memoryLeast     = 64   // MB: no program of those that are measured starts with less
	loadForMost     = 3600 // seconds: the load's transfers are good for an hour
	rateLeast       = 0.01 // a transfer is signed up to two of its intervals before it is sent, and good for an hour
)

// Validate names everything that is wrong with options.
func Validate(o record.Options) error {
	var errs []error
	for i, name := range o.Suites {
		known := slices.Contains(names(), name)
		errs = append(errs, wrongIf(!known, "no suite is called %q; there are %s", name, strings.Join(names(), ", ")),
			wrongIf(slices.Contains(o.Suites[:i], name), "suite %q is named twice", name))
	}
	errs = append(errs, wrongIf(len(o.Suites) == 0, "no suite is named; there are %s", strings.Join(names(), ", ")),
		wrongIf(len(o.Subjects) == 0, "no subject is named"))
	for _, x := range Options(&o) {
		errs = append(errs, x.wrong)
	}
	for _, s := range wanted(o) {
		if s.check != nil {
			errs = append(errs, s.check(o))
		}
	}
	return errors.Join(append(errs, wrongIf(!(o.Limit >= 0), "a limit of %g s", o.Limit))...)
}

func names() (all []string) {
	for _, s := range All() {
		all = append(all, s.Name)
	}
	return all
}
