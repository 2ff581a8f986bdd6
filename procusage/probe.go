// Package procusage reads from the kernel what a process uses, our own or another:
// CPU time, memory by kind, bytes to and from disks. Of our own it also tells what
// Go's runtime holds.
//
// It only reads, needs nothing of the process that it reads, keeps nothing between
// two readings and starts nothing. It is Linux's /proc and nothing else.
package procusage

import "time"

// Process is a reading of the process as the kernel sees it. Counters grow from the
// process's start. Sizes are in bytes.
type Process struct {
	Start             time.Time
	User, System      time.Duration // CPU; of another process exact to 10 ms
	Memory            Memory
	Disk              Disk
	Threads, Files    int64 // running; open
	MajorFaults       int64 // that waited for a disk
	Virtual, PeakSize int64 // address space; largest resident size so far
}

// Memory is resident memory by what stands behind it.
type Memory struct {
	Anonymous int64 // nothing but swap: heap, stacks, private pages (RssAnon)
	File      int64 // files, which the kernel can take back (RssFile)
	Shared    int64 // shared memory (RssShmem)
	Swap      int64 // anonymous memory that is out on swap
}

// Resident is all memory that is in RAM.
func (m Memory) Resident() int64 { return m.Anonymous + m.File + m.Shared }

// Disk counts what the process had read and written (/proc/PID/io). Writes through a
// shared mapping are counted when the page becomes dirty.
type Disk struct {
	Read, Written int64 // from and to disks
	Cancelled     int64 // of those written, what was deleted before it got there
}

// Net is what of the bytes written had not been deleted before it got to a disk.
func (d Disk) Net() int64 { return d.Written - d.Cancelled }

// CPU is all the processor time that was used.
func (p *Process) CPU() time.Duration { return p.User + p.System }
