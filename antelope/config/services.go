package config

func resourceMonitor() []Option {
	return []Option{
		{Name: "resource-monitor-interval-seconds", Kind: Uint32, Default: "2",
			Help: "Seconds between two checks of the disks' free space, 1 to 300"},
		{Name: "resource-monitor-space-threshold", Kind: Uint32, Default: "90",
			Help: "How full a disk may be, in percent, 6 to 99. Above it the node stops, unless " +
				"resource-monitor-not-shutdown-on-threshold-exceeded is set. It warns 5 percentage points earlier."},
		{Name: "resource-monitor-space-absolute-gb", Kind: Uint64,
			Help: "Free space that each disk must have, in GiB, in place of the threshold."},
		{Name: "resource-monitor-not-shutdown-on-threshold-exceeded", Kind: Flag,
			Help: "Warn only, never stop for a full disk."},
		{Name: "resource-monitor-warning-interval", Kind: Uint32, Default: "30",
			Help: "Checks between two warnings, 1 to 450"},
	}
}

func signatureProvider() []Option {
	return []Option{
		{Name: "keosd-provider-timeout", Kind: Int32,
			Default: "5", Help: "How long keosd may take to sign, in ms; below 0 for ever"},
	}
}
