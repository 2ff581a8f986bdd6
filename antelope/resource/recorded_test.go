package resource_test

import (
	"testing"

	"tarn/antelope/resource"
	"tarn/antelope/state"
)

// What nodeos logged of a short chain (Leap: unittests/deep-mind).

func TestTheFirstAccountIsBilledAsNodeosRecordedIt(t *testing.T) {
	const slot = 1262304001
	type step struct {
		slot     uint32
		cpu, net uint64
		times    int
		want     state.ResourceUsage
	}
	usage := func(slot uint32, netEx, net, cpuEx, cpu uint64) state.ResourceUsage {
		return state.ResourceUsage{Owner: alice, Net: state.Usage{LastOrdinal: slot, ValueEx: netEx, Consumed: net},
			CPU: state.Usage{LastOrdinal: slot, ValueEx: cpuEx, Consumed: cpu}}
	}
	c := newChain(t)
	c.account(alice, -1, -1, -1)
	for i, s := range []step{
		{slot, 100, 0, 1, usage(slot, 0, 0, 579, 100)},
		{slot + 1, 100, 0, 1, usage(slot+1, 0, 0, 1157, 101)},
		{slot + 1, 2000, 6104, 1, usage(slot+1, 35325, 6104, 12732, 2101)},
		{slot + 1, 2000, 1032, 1, usage(slot+1, 41298, 7136, 24307, 4101)},
		{slot + 1, 2000, 128, 21, usage(slot+1, 56859, 9824, 267382, 46101)},
		{slot + 2, 100, 0, 1, usage(slot+2, 56858, 1, 267959, 101)},
		{slot + 2, 2000, 6880, 1, usage(slot+2, 96673, 6881, 279534, 2101)},
		{slot + 2, 2000, 1048, 1, usage(slot+2, 102738, 7929, 291109, 4101)},
		{slot + 3, 100, 0, 1, usage(slot+3, 102737, 1, 291686, 101)},
		{slot + 3, 2000, 232, 1, usage(slot+3, 104080, 233, 303261, 2101)},
	} {
		for range s.times {
			c.must(c.use(alice, s.cpu, s.net, s.slot))
		}
		if got, err := c.S.Usages.Get(alice); err != nil || *got != s.want {
			t.Fatalf("step %d: %+v, %v; want %+v", i, got, err, s.want)
		}
	}
}

func TestTheFirstBlocksCountAsNodeosRecordedThem(t *testing.T) {
	config, at := resource.Initial()
	if config.CPU.Target != 20000 || config.CPU.Max != 200000 || config.Net.Target != 104857 ||
		config.Net.Max != 1048576 ||
		config.CPU.Periods != 120 || config.Net.MaxMultiplier != 1000 || config.AccountCPUWindow != 172800 ||
		config.AccountNetWindow != 172800 {
		t.Errorf("the first configuration is %+v", config)
	}
	if want := (state.ResourceState{VirtualNet: 1048576, VirtualCPU: 200000}); at != want {
		t.Errorf("the first state is %+v", at)
	}
	c := newChain(t)
	c.account(alice, -1, -1, -1)
	for _, b := range []struct {
		number   uint32
		cpu, net uint64
		want     state.ResourceState
	}{
		{2, 100, 0, state.ResourceState{AverageBlockNet: state.Usage{LastOrdinal: 2},
			AverageBlockCPU: state.Usage{LastOrdinal: 2, ValueEx: 833334, Consumed: 100},
			VirtualNet:      1049625, VirtualCPU: 200200}},
		{3, 46100, 9824,
			state.ResourceState{AverageBlockNet: state.Usage{LastOrdinal: 3, ValueEx: 81866667, Consumed: 9824},
				AverageBlockCPU: state.Usage{LastOrdinal: 3, ValueEx: 384993056, Consumed: 46101}, VirtualNet: 1050675,
				VirtualCPU: 200400}},
		{4, 4100, 7928,
			state.ResourceState{AverageBlockNet: state.Usage{LastOrdinal: 4, ValueEx: 147251111, Consumed: 8010},
				AverageBlockCPU: state.Usage{LastOrdinal: 4, ValueEx: 415951447, Consumed: 4482}, VirtualNet: 1051726,
				VirtualCPU: 200600}},
		{5, 4100, 376,
			state.ResourceState{AverageBlockNet: state.Usage{LastOrdinal: 5, ValueEx: 149157352, Consumed: 523},
				AverageBlockCPU: state.Usage{LastOrdinal: 5, ValueEx: 446651851, Consumed: 4513}, VirtualNet: 1052778,
				VirtualCPU: 200800}},
	} {
		c.must(c.use(alice, b.cpu, b.net, b.number))
		c.must(c.ProcessBlockUsage(b.number))
		if got, err := c.S.ResourceState.Get(); err != nil || *got != b.want {
			t.Fatalf("block %d: %+v, %v; want %+v", b.number, got, err, b.want)
		}
	}
}
