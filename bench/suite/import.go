package suite

import (
	"context"
	"os"

	"tarn/bench/record"
)

// Import is the name of the suite in which a process makes the state and ends.
const Import = "import"

func importSuite() Suite {
	return Suite{
		Name: Import,
		How: "A new process builds the state from the chain's blocks, makes it durable, and ends. Each " +
			"subject has done this once before the measurement, without being measured. The bytes written are " +
			"those that the kernel counts for the process, minus those that were deleted before they reached " +
			"the disk. The size on the disk is that of the state's files, without the blocks; it can be more than " +
			"what was written, because an engine may reserve space.",
		Article: "sync from genesis, without the network (F6)",
		Time:    "seconds",
		Disk:    "the chain",
		options: func(o *record.Options) []Option {
			return []Option{{"all-checks", "import makes all checks that a node makes of blocks from others, such " +
				"as signatures",
				&o.AllChecks, nil}}
		},
		chart:   record.Chart{Metric: took, Title: "time to build the state from the chain's blocks"},
		metrics: counts(of(seconds, took, processor), of(bytesUnit, written, onDisk)),
		collect: []collector{privateMemory(), residentMemory()},
		run:     runImport,
	}
}

func runImport(ctx context.Context, l *life, found *findings) error {
	dir, c, length, err := l.importChain(ctx, l.subject)
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	cpu, disk, _ := c.Total()
	found.keep(Import, c, map[string]float64{
		took: length.Seconds(), processor: cpu.Seconds(), written: float64(disk.Net()),
		onDisk: float64(stateBytes(dir)),
	})
	return nil
}
