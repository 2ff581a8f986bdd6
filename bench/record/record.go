// Package record is what `tarn bench` found, as a file: the machine, the programs, each
// command line, each round with its values and curves, and what failed
// (docs/formats/bench.md). It also says what the values come to: medians, ratios of
// pairs, and how sure they are.
//
// It owns the file's format and the statistics. It measures nothing and draws nothing.
package record

import "time"

// Kinds of files, and the version of the format.
const (
	KindRun   = "tarn-bench-run"
	KindWatch = "tarn-bench-watch"
	Schema    = 7
	oldest    = 6 // that can be read: its suites have no chart
)

// How a run or a watch ended.
const (
	EndWhole       = "whole"
	EndInterrupted = "interrupted"
	EndTime        = "out of time"
	EndFailed      = "failed"
	EndGone        = "the process ended"
	EndUnreadable  = "it could not be read any more"
)

// Run is one `tarn bench run`, or a tour.
type Run struct {
	Kind    string    `json:"kind"`
	Schema  int       `json:"schema"`
	Command []string  `json:"command"`
	Began   time.Time `json:"began"`
	Seconds float64   `json:"seconds"`
	Ended   string    `json:"ended"`

	Options  Options   `json:"options"`
	Machine  Machine   `json:"machine"`
	Chain    Chain     `json:"chain"`
	Subjects []Subject `json:"subjects"`
	Suites   []Suite   `json:"suites"`
	Lives    []Life    `json:"lives"`
	Left     []string  `json:"left_out,omitempty"` // what was not measured, and why
}

// Options are all that decides what a run does: with them it can be done again.
type Options struct {
	Protocol string   `json:"chain,omitempty"` // "antelope" or "opera"; "": what the subjects say
	Suites   []string `json:"suites"`
	Subjects []string `json:"subjects"`
	Rounds   int      `json:"rounds"`
	Seed     uint64   `json:"seed"`
	Accounts int      `json:"accounts"`  // of the chain
	Work     int      `json:"transfers"` // of the chain
	// transfers of one block of the chain; 0: as many as there usually are
	PerBlock       int     `json:"block_transfers,omitempty"`
	PerTransaction int     `json:"transaction_transfers,omitempty"` // transfers of one transaction of the chain; 0: one
	Keys           int     `json:"keys,omitempty"`                  // that the chain's accounts have; 0: one
	Empty          int     `json:"empty_blocks,omitempty"`          // of the chain, after the others
	Slots          int     `json:"slot_transactions,omitempty"`     // of the chain, that fill fresh slots
	Rows           int     `json:"rows_megabytes,omitempty"`        // of a table in the chain's state
	Finalizers     int     `json:"finalizers,omitempty"`            // of the chain, which has Savanna's rules then
	Validators     int     `json:"validators,omitempty"`            // of the chain, of Opera; 0: one
	Rate           float64 `json:"rate"`                            // transfers per second in disk
	For            float64 `json:"for_seconds"`
	Push           int     `json:"push"`            // transfers in push
	Connect        int     `json:"connections"`     // in push
	Between        float64 `json:"between_seconds"` // two checkpoints, for the projection to a year
	Limit          float64 `json:"limit_seconds,omitempty"`

	Rating      float64 `json:"rating_terabytes"`      // that the disk may be written, for disk's years
	AskFor      float64 `json:"ask_seconds"`           // of each loop in rpc
	AskRate     float64 `json:"ask_rate"`              // questions per second of rpc's open loop
	Questions   int     `json:"questions,omitempty"`   // different ones; 0: as many as there usually are
	Peers       int     `json:"peers"`                 // in peer and serve-blocks
	Subscribers int     `json:"subscribers,omitempty"` // in subscribers
	Filters     int     `json:"filters,omitempty"`     // in subscribers
	Syncing     int     `json:"syncing_peers"`         // of those, in serve-blocks
	PeerFor     float64 `json:"peer_seconds"`          // of peer and serve-blocks
	Window      float64 `json:"window_seconds"`        // of window
	Load        float64 `json:"load_rate"`             // transfers per second in recording and streams
	LoadFor     float64 `json:"load_seconds"`          // of each part of these

	Deployments int     `json:"deployments"`          // of contracts in setcode
	DeployEvery float64 `json:"deploy_every_seconds"` // in setcode
	Memory      int     `json:"memory_megabytes"`     // of the control group in memory
	Clients     int     `json:"clients"`              // of the last part of streams
	// subject that gives blocks to those that are measured; "": this program
	Source string `json:"source,omitempty"`
	// where the source of disk-follow and peer has its folder; "": beside the others
	SourceDir string `json:"source_dir,omitempty"`
	AllChecks bool   `json:"all_checks,omitempty"` // import trusts no block
	Blocks    string `json:"blocks,omitempty"`     // folder of a recorded chain, in place of one that is made
}

// Chain is what all subjects were given.
type Chain struct {
	Protocol  string `json:"protocol"`
	Seed      uint64 `json:"seed"`
	ID        string `json:"id"`
	Accounts  int    `json:"accounts"`
	Transfers int    `json:"transfers"`
	Blocks    uint64 `json:"blocks"`
	Bytes     int64  `json:"bytes"`
	SHA256    string `json:"sha256"` // of the file of blocks
}

// Subject is a program in one of its modes.
type Subject struct {
	Name    string `json:"name"` // as given with --on
	Program string `json:"program"`
	Path    string `json:"path"`
	SHA256  string `json:"sha256"`
	Version string `json:"version"`
	Mode    string `json:"mode"` // engine, map mode or preset
}

// Suite is a kind of measurement.
type Suite struct {
	Name    string   `json:"name"`
	How     string   `json:"how"`
	Metrics []Metric `json:"metrics"`
	Chart   Chart    `json:"chart,omitzero"`
}

// Chart is what a suite shows first.
type Chart struct {
	Metric   string    `json:"metric"` // its name; of a suite with parts, each that has it
	Title    string    `json:"title"`  // what that is, in words
	Articles []Article `json:"articles,omitempty"`
}

// Article is a value that the articles tell, in the metric's unit. It was measured elsewhere.
type Article struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
}

// Metric is a value of each life in a suite.
type Metric struct {
	Name string `json:"name"`
	Part string `json:"part,omitempty"` // of the suite, "" if it has none; each part has a table of its own
	Unit string `json:"unit"`           // s, B, B/s, %, 1/s, TB/year, µs, or "" for a number
	More bool   `json:"more_is_better,omitempty"`
}

// Key is the metric's name among a life's values.
func (m Metric) Key() string {
	if m.Part == "" {
		return m.Name
	}
	return m.Part + ": " + m.Name
}

// Parts are those of the suite, as suites with the part's metrics only; itself if it has none.
func (s Suite) Parts() (all []Suite) {
	for _, m := range s.Metrics {
		name := s.Name
		if m.Part != "" {
			name += ", " + m.Part
		}
		if len(all) == 0 || all[len(all)-1].Name != name {
			all = append(all, Suite{Name: name})
		}
		last := &all[len(all)-1]
		last.Metrics = append(last.Metrics, m)
	}
	if len(all) > 0 {
		all[0].How = s.How
	}
	return all
}

// Life is one subject in one round of one suite.
type Life struct {
	Suite    string             `json:"suite"`
	Round    int                `json:"round"` // from 1; lives of one round are pairs
	Subject  string             `json:"subject"`
	Began    time.Time          `json:"began"`
	Commands [][]string         `json:"commands"`
	Values   map[string]float64 `json:"values,omitempty"`
	Samples  []Sample           `json:"samples,omitempty"`
	Failure  string             `json:"failure,omitempty"`
	Waits    []Wait             `json:"waits,omitempty"` // of rpc, in parts of 10 s
	// What the node itself says it wrote while it served, in bytes per second: its state by
	// cause, its other files by what they keep.
	ByCause map[string]float64 `json:"written_by_cause,omitempty"`
	ByFiles map[string]float64 `json:"written_by_files,omitempty"`
	// The same work for the processor, before and after: how fast the machine was.
	CalibrationBefore float64 `json:"calibration_before_seconds"`
	CalibrationAfter  float64 `json:"calibration_after_seconds"`
	Others            float64 `json:"others_share"` // of all processors, used by others meanwhile
	Unsteady          bool    `json:"unsteady,omitempty"`
}

// Wait is what answers took that were due in a part of a loop.
type Wait struct {
	Loop    string  `json:"loop"`    // over connections, or at a rate
	Seconds float64 `json:"seconds"` // the part's end, from the loop's begin
	NearAll float64 `json:"near_all_seconds"`
	Longest float64 `json:"longest_seconds"`
}

// Sample is one reading of a process. Counters are since the watch began, in bytes and
// seconds.
type Sample struct {
	Seconds      float64 `json:"seconds"`
	User         float64 `json:"user_seconds"`
	System       float64 `json:"system_seconds"`
	Anonymous    int64   `json:"anonymous"`
	File         int64   `json:"file"`
	Shared       int64   `json:"shared"`
	Swap         int64   `json:"swap"`
	PrivateDirty int64   `json:"private_dirty,omitempty"` // in the readings that asked for it
	Read         int64   `json:"read"`
	Written      int64   `json:"written"` // less what was deleted before it got to a disk
	MajorFaults  int64   `json:"major_faults"`
	Threads      int64   `json:"threads"`

	// Of a watch only. Device and network count everybody.
	Device     int64              `json:"device,omitempty"` // written to the disk
	NetworkIn  int64              `json:"network_in,omitempty"`
	NetworkOut int64              `json:"network_out,omitempty"`
	ByThread   map[string]float64 `json:"thread_seconds,omitempty"` // in the readings that walked the page table
}

// Whose network a watch's samples count.
const (
	NetworkOwn    = "own"    // one that the watching program is not in
	NetworkShared = "shared" // that of all programs that have no network of their own
)

// File is what became of a file, or of all in a folder whose names are numbers.
type File struct {
	Name     string `json:"name"`
	Grew     int64  `json:"grew"`               // by size, in bytes
	Occupied int64  `json:"occupied"`           // by blocks: a hole that was filled counts
	InPlace  int    `json:"in_place,omitempty"` // readings in which it had changed and not grown
}

// Checkpoints are those that a node told of during a watch.
type Checkpoints struct {
	Number float64 `json:"number"`
	Bytes  float64 `json:"bytes"` // of all of them; of the last one before if Number is 0
	// The mean time from one to the next; if Number is 0, how long there was none, so that
	// a year of them is at most what comes of it.
	Between float64 `json:"between_seconds"`
}

// Watch is one `tarn bench watch`.
type Watch struct {
	Kind    string             `json:"kind"`
	Schema  int                `json:"schema"`
	PID     int                `json:"pid"`
	Began   time.Time          `json:"began"`
	Ended   string             `json:"ended"`
	Rating  float64            `json:"rating_terabytes,omitempty"`
	Samples []Sample           `json:"samples"`
	ByName  map[string]float64 `json:"thread_seconds"` // CPU by thread name, of those that ran at the end
	Walk    float64            `json:"slowest_page_walk_seconds"`
	URL     string             `json:"url,omitempty"`
	ByCause map[string]float64 `json:"written_by_cause,omitempty"` // the state, in bytes, as the node itself says
	ByFiles map[string]float64 `json:"written_by_files,omitempty"` // the node's other files, as it says
	Unasked string             `json:"url_failure,omitempty"`      // why the node could not be asked at last

	Checkpoints *Checkpoints `json:"checkpoints,omitempty"` // if the node tells
	Files       []File       `json:"files,omitempty"`       // that were written
	Device      string       `json:"device,omitempty"`      // a folder on the disk that samples count
	Network     string       `json:"network,omitempty"`
}
