package fleetnode

import (
	"time"

	"tarn/httpserver/exposition"
)

// Append appends what an operator watches of a fleet; nothing for who is of none. head is the newest block here. Any
// goroutine may call it.
func (m *Member) Append(w *exposition.Writer, head uint64) {
	if m == nil {
		return
	}
	w.Metric("tarn_fleet_info", exposition.Gauge, "Fleet and role of this process; always 1")
	if m.follower == nil {
		w.Sample(1, "fleet", m.Name(), "role", "node")
		w.Gauge("tarn_fleet_publishes", "1 for the node that publishes, 0 for one that stands by", m.publishes())
		return
	}
	w.Sample(1, "fleet", m.Name(), "role", "replica")
	lag := m.follower.Lag()
	heard := lag.Heard
	if heard.IsZero() {
		heard = m.opened
	}
	w.Gauge("tarn_fleet_silence_seconds", "Time since the last message from a publishing node",
		time.Since(heard).Seconds())
	w.Gauge("tarn_fleet_behind_blocks", "Blocks that this replica is behind the node that publishes",
		float64(max(lag.Publisher.Head.Revision, head)-head))
}

func (m *Member) publishes() float64 {
	if p := m.publisher.Load(); p != nil && p.Leads() {
		return 1
	}
	return 0
}
