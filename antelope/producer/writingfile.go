package producer

import (
	"os"

	"golang.org/x/sys/unix"
)

// Sizes of what a writingFile gathers, in bytes.
const (
	writePart  = 1 << 20 // for one write
	writeParts = 4       // that wait for the file or are being written
	diskPart   = 8 << 20 // after which the disk is told to begin
)

// writingFile writes a file on a goroutine of its own, so that what goes into it is made
// meanwhile, and has the disk begin early, so that the sync at the end is short.
type writingFile struct {
	file  *os.File
	part  []byte      // being filled
	ready chan []byte // to be written; nil asks for an answer
	spare chan []byte // to be filled
	done  chan error  // answers, and the last one at the end
}

func newWritingFile(f *os.File) *writingFile {
	w := &writingFile{
		file: f, part: make([]byte, 0, writePart),
		ready: make(chan []byte), spare: make(chan []byte, writeParts), done: make(chan error),
	}
	for range writeParts - 1 {
		w.spare <- make([]byte, 0, writePart)
	}
	go w.run()
	return w
}

// run writes until there is no more. After an error it writes nothing.
func (w *writingFile) run() {
	var err error
	since := 0 // bytes since the disk was told
	for part := range w.ready {
		if part == nil {
			w.done <- err
			continue
		}
		if err == nil {
			_, err = w.file.Write(part)
		}
		if since += len(part); since >= diskPart && err == nil {
			since = 0
			// It is advice: what fails here fails again at the sync.
			_ = unix.SyncFileRange(int(w.file.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
		}
		w.spare <- part[:0]
	}
	w.done <- err
}

// Write is io.Writer's. Errors of the file come with a later Seek or with end.
func (w *writingFile) Write(p []byte) (int, error) {
	for rest := p; len(rest) > 0; {
		n := copy(w.part[len(w.part):writePart], rest)
		w.part, rest = w.part[:len(w.part)+n], rest[n:]
		if len(w.part) == writePart {
			w.pass()
		}
	}
	return len(p), nil
}

// pass gives what there is to the goroutine.
func (w *writingFile) pass() {
	if len(w.part) > 0 {
		w.ready <- w.part
		w.part = <-w.spare
	}
}

// Seek is io.Seeker's: it waits until all has been written.
func (w *writingFile) Seek(offset int64, whence int) (int64, error) {
	w.pass()
	w.ready <- nil
	if err := <-w.done; err != nil {
		return 0, err
	}
	return w.file.Seek(offset, whence)
}

// end writes the rest and ends the goroutine. Nothing may follow.
func (w *writingFile) end() error {
	w.pass()
	close(w.ready)
	return <-w.done
}
