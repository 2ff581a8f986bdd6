// Package suite measures subjects beside each other: the same chain, the same work, in
// child processes, in rounds whose order turns, and keeps everything as a record.
//
// It owns the suites, their rounds and when a pair counts. It knows no protocol: that is a
// [Network]. It never measures two subjects at a time, and leaves nothing behind.
package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tarn/bench/record"
)

// Suite is one kind of measurement: its words, its options, what it needs, what it counts, and how
// it is run. Each stands in a file of its own, and in the list of [lives].
type Suite struct {
	Name    string
	How     string // what is done, for whoever reads the figures
	Article string // what it is in the articles
	Time    string // of one life
	Disk    string // that a subject takes, besides its state

	options func(*record.Options) []Option // that it reads, besides those of every run; nil for none
	// what is wrong with options that are right alone; nil for nothing
	check   func(record.Options) error
	needs   func(Network) bool                            // what the network must be able to; nil for anything
	grouped bool                                          // its nodes run in a control group
	metrics func(Network) []record.Metric                 // of each life, but for the collectors'
	chart   record.Chart                                  // what a report shows first
	collect []collector                                   // of the process that it keeps
	run     func(context.Context, *life, *findings) error // one life
	with    []Suite                                       // that the same life measures: they have no run of their own
}

// lives are the suites that have lives of their own, in the order in which they run.
func lives() []Suite {
	return []Suite{
		importSuite(), startSuite(), diskSuite(), diskFollowSuite(), snapshotSuite(),
		rpcSuite(), callsSuite(), syncSuite(), windowSuite(), syncingSuite(), killSuite(), killSyncSuite(),
		p2pSuite(), peerSuite(), subscribersSuite(), serveBlocksSuite(),
		tracesSuite(), historiesSuite(), recordingSuite(), streamsSuite(), setcodeSuite(),
		memorySuite(), memorySnapshotSuite(), fleetSuite(), replicasSuite(), finalitySuite(),
	}
}

// All is every suite, in the order in which they run.
func All() (all []Suite) {
	for _, s := range lives() {
		all = append(all, s.measured()...)
	}
	return all
}

// measured are the suites that a life of s measures.
func (s Suite) measured() []Suite { return append([]Suite{s}, s.with...) }

// describe returns the suite as a record has it, with options, on a network that it can be measured on.
func (s Suite) describe(n Network, o record.Options) record.Suite {
	d := record.Suite{Name: s.Name, How: s.How + s.optionsText(o), Metrics: s.metrics(n), Chart: s.chart}
	for _, c := range s.collect {
		d.Metrics = append(d.Metrics, c.Metric)
	}
	return d
}

// optionsText tells the values of the suite's own options, behind other sentences; nothing if it has none.
func (s Suite) optionsText(o record.Options) string {
	if s.options == nil {
		return ""
	}
	var list []string
	for _, x := range s.options(&o) {
		list = append(list, "`--"+x.Name+" "+x.text()+"`")
	}
	return " Options: " + strings.Join(list, ", ") + "."
}

// wanted are the suites that options name, in their own order.
func wanted(o record.Options) []Suite {
	return slices.DeleteFunc(All(), func(s Suite) bool { return !slices.Contains(o.Suites, s.Name) })
}

// Able says which suites cannot be measured on a network.
func Able(n Network, suites []string) error {
	var errs []error
	for _, s := range wanted(record.Options{Suites: suites}) {
		if s.needs != nil && !s.needs(n) {
			errs = append(errs, fmt.Errorf("%s cannot be measured on this chain: %w", s.Name, errors.ErrUnsupported))
		}
	}
	return errors.Join(errs...)
}
