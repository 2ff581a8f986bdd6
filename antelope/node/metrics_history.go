package node

import (
	"tarn/antelope/ship"
	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog"
	"tarn/httpserver/exposition"
)

// writeHistory tells what the state history has written, and sent.
func writeHistory(w *exposition.Writer, kept *ship.Stats, served *ship.ServerStats) {
	logs := []struct {
		name  string
		stats shiplog.Stats
	}{{"trace_history", kept.Traces}, {"chain_state_history", kept.State}, {"finality_data_history", kept.Finality}}
	w.Metric("tarn_history_written_bytes_total", exposition.Counter, "Bytes written to the logs of the state history")
	for _, l := range logs {
		w.Sample(float64(l.stats.Written), "log", l.name)
	}
	w.Metric("tarn_history_blocks_total", exposition.Counter, "Blocks written to the logs of the state history")
	for _, l := range logs {
		w.Sample(float64(l.stats.Entries), "log", l.name)
	}
	w.Gauge("tarn_history_block_num", "Newest block in the state history", float64(kept.Head))
	w.Gauge("tarn_history_waiting_bytes", "Memory of blocks that wait to be written to the history, approximate",
		float64(kept.Waiting))
	w.Gauge("tarn_history_clients", "Clients of the state history", float64(served.Sessions))
	w.Gauge("tarn_history_client_behind_blocks",
		"Blocks that the slowest client has asked for and has not been sent yet", float64(served.Behind))
	w.Counter("tarn_history_clients_refused_total", "Clients of the state history that were refused",
		float64(served.Refused))
	w.Counter("tarn_history_sent_blocks_total", "Blocks sent to clients", float64(served.Blocks))
	w.Counter("tarn_history_sent_bytes_total", "Bytes of the blocks sent to clients", float64(served.Bytes))
}

// writeTraces tells what the traces of blocks have come to.
func writeTraces(w *exposition.Writer, t *tracelog.Stats) {
	w.Metric("tarn_traces_written_bytes_total", exposition.Counter, "Bytes written to the files of traces")
	for _, f := range []struct {
		files string
		bytes uint64
	}{
		{"slices", t.Files.Traces}, {"indexes", t.Files.Index}, {"transactions", t.Files.IDs}, {"marks", t.Files.Marks},
		{"compressed", t.Files.Compressed}, {"transaction_index", uint64(t.IndexNew)},
	} {
		w.Sample(float64(f.bytes), "files", f.files)
	}
	w.Counter("tarn_traces_blocks_total", "Blocks whose traces were written", float64(t.Files.Blocks))
	w.Gauge("tarn_traces_block_num", "Newest block whose traces were handed over to be written", float64(t.Head))
	w.Gauge("tarn_traces_indexed_block_num", "Newest block whose transactions are in the index", float64(t.Indexed))
	w.Gauge("tarn_traces_waiting_bytes", "Memory of blocks whose traces wait to be written, approximate",
		float64(t.Waiting))
}
