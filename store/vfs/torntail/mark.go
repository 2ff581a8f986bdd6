package torntail

import (
	"encoding/binary"
	"errors"
	"fmt"

	"tarn/store/vfs"
)

const (
	markMagic = "tarnmark"
	markSize  = 2 * vfs.Sector
)

// Noted is what a mark says.
type Noted struct {
	// There tells whether there is a mark at all. A log that has none notes nothing.
	There bool
	// Known tells whether it can be read. A power cut may tear both of its halves.
	Known bool
	// Torn tells whether one of its halves cannot be read, which is no loss.
	Torn bool
	Log  uint64 // which file the mark is of; its owner chooses
	End  uint64 // up to where it is durable, in the owner's measure
}

// Mark is a file beside a log that says how far the log is durable. It is written after each sync of
// the log, and not synced itself: after the end of a process it says all, after a power cut
// perhaps less, and never more. One goroutine at a time may use it.
//
// It has two sectors, written in turn, each with magic, count, log, end, zeros and CRC-32C; the
// higher count is right.
type Mark struct {
	files vfs.FS
	path  string
	file  vfs.File // nil until it is needed
	count uint64
	said  Noted
}

// OpenMark reads a mark.
func OpenMark(files vfs.FS, path string) (*Mark, error) {
	m := &Mark{files: files, path: path}
	there, err := files.Exists(path)
	if err != nil || !there {
		return m, err
	}
	b, err := vfs.ReadFile(files, path, markSize)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	m.said = Noted{There: true, Torn: len(b) < markSize}
	for ; len(b) >= vfs.Sector; b = b[vfs.Sector:] {
		count := binary.LittleEndian.Uint64(b[8:])
		if string(b[:8]) != markMagic || checksum(b[:vfs.Sector-4]) != binary.LittleEndian.Uint32(b[vfs.Sector-4:]) {
			m.said.Torn = true
		} else if count >= m.count {
			m.count, m.said.Known = count, true
			m.said.Log, m.said.End = binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])
		}
	}
	return m, nil
}

// Said is what the mark says.
func (m *Mark) Said() Noted { return m.said }

// Set notes that a log is durable up to an end. The mark's own bytes may be lost in a power cut.
func (m *Mark) Set(log, end uint64) error {
	if !m.said.There {
		return m.Reset(log, end)
	}
	if m.said.Known && m.said.Log == log && m.said.End == end {
		return nil
	}
	return m.write(log, end)
}

// write writes the half that is next.
func (m *Mark) write(log, end uint64) error {
	if err := m.open(); err != nil {
		return err
	}
	m.count++
	if _, err := m.file.WriteAt(slot(m.count, log, end), int64(m.count%2)*vfs.Sector); err != nil {
		return fmt.Errorf("write %s: %w", m.path, err)
	}
	m.said = Noted{There: true, Known: true, Torn: m.said.Torn, Log: log, End: end}
	return nil
}

// Reset does what Set does, durably, and leaves nothing of what the mark said before. Whoever is
// about to take something back that was durable calls it first.
//
// A mark that is whole is written in its place, which takes no room on the disk: who takes something back
// may be the one who gives room.
func (m *Mark) Reset(log, end uint64) error {
	if m.said.Known && !m.said.Torn {
		for range 2 { // one half is whole at any moment
			if err := m.write(log, end); err != nil {
				return err
			}
			if err := m.Sync(); err != nil {
				return err
			}
		}
		return nil
	}
	if err := m.Close(); err != nil {
		return err
	}
	m.count++
	b := append(slot(m.count, log, end), slot(m.count, log, end)...)
	if err := vfs.WriteDurably(m.files, m.path, b); err != nil {
		return fmt.Errorf("write %s: %w", m.path, err)
	}
	m.said = Noted{There: true, Known: true, Log: log, End: end}
	return nil
}

// Sync makes durable what was set.
func (m *Mark) Sync() error {
	if m.file == nil {
		return nil
	}
	if err := m.file.Sync(); err != nil {
		return fmt.Errorf("sync %s: %w", m.path, err)
	}
	return nil
}

// Close closes the file.
func (m *Mark) Close() error {
	if m.file == nil {
		return nil
	}
	f := m.file
	m.file = nil
	return f.Close()
}

func (m *Mark) open() (err error) {
	if m.file == nil {
		m.file, err = m.files.Open(m.path, true)
	}
	if err != nil {
		err = errors.Join(fmt.Errorf("open %s", m.path), err)
	}
	return err
}

// slot is one sector of a mark.
func slot(count, log, end uint64) []byte {
	b := append(make([]byte, 0, vfs.Sector), markMagic...) // what is appended to is zero
	for _, n := range []uint64{count, log, end} {
		b = binary.LittleEndian.AppendUint64(b, n)
	}
	b = b[:vfs.Sector-4]
	return binary.LittleEndian.AppendUint32(b, checksum(b))
}
