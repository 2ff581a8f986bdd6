package page

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"tarn/internal/hostlimits"
	"tarn/store"
	"tarn/store/vfs"
)

// memory is the address range in which page n lies at base + n * pageSize. The
// range is reserved once for the store's limit, which costs nothing, and filled
// in steps, so that pages never move and no single mapping is larger than what
// is used.
type memory struct {
	path     string
	mode     Mode
	readOnly bool
	file     vfs.File // to map; nil for anonymous memory
	base     unsafe.Pointer
	area     unsafe.Pointer // the reservation around it, which may begin earlier
	areaSize uintptr
	reserved int64  // bytes from base that are ours to map
	mapped   int64  // of those, bytes that may be touched
	fresh    bitmap // chunks of 2 MiB that are not the file yet; the writer's
	kind     string

	populating, forgetting sync.WaitGroup // work of the kernel on goroutines of its own
}

const (
	hugePage  = 2 << 20
	hugePages = hugePage >> pageShift // pages in it
)

// newMemory reserves the addresses, up to the next multiple of 2 MiB at or above
// limit.
func newMemory(path string, mode Mode, readOnly bool, file vfs.File, limit int64) (*memory, error) {
	reserved := (limit + hugePage - 1) &^ (hugePage - 1)
	size := uintptr(reserved + hugePage) // the base is aligned within it
	area, err := unix.MmapPtr(-1, 0, nil, size, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, memoryError(path, limit, "reserving address space (see ulimit -v)", err)
	}
	align := -uintptr(area) & (hugePage - 1)
	m := &memory{
		path: path, mode: mode, readOnly: readOnly, file: file,
		base: unsafe.Add(area, align), area: area, areaSize: size, reserved: reserved, kind: "ordinary pages",
	}
	if !mode.Anonymous() {
		if _, ok := file.Fd(); !ok {
			m.close()
			return nil, fmt.Errorf("%s: mode %s needs a file that can be mapped", path, mode)
		}
		m.kind = "page cache"
	}
	if mode == MappedPrivate {
		m.fresh = make(bitmap, reserved/hugePage/64+1)
	}
	return m, nil
}

// mapStep bounds a single mapping, because under the kernel's default overcommit
// rule one that is larger than RAM plus swap is refused whatever is free.
const mapStep = 1 << 30

// grow makes the range up to size usable. Fresh says that the file has nothing there
// yet: a private mapping of it then begins as memory of no file, in which a page
// costs no page of the page cache, and is there in huge pages if the machine has
// them. [memory.back] makes it the file's.
func (m *memory) grow(size int64, fresh bool) error {
	if size > m.reserved {
		return fmt.Errorf("%s: mapping %d bytes in the %d that are reserved for the limit", m.path, size, m.reserved)
	}
	fresh = fresh && m.mode == MappedPrivate
	for m.mapped < size {
		from := m.mapped
		if err := m.step(min(size, m.mapped+mapStep), fresh || m.mode.Anonymous()); err != nil {
			return err
		}
		if fresh {
			for c := from / hugePage; c < m.mapped/hugePage; c++ {
				m.fresh.set(uint32(c))
			}
		}
	}
	return nil
}

// checkBound refuses to fill anonymous memory with so many bytes if the process may not
// have them: a control group's kernel would not refuse the memory, but kill for it.
func (m *memory) checkBound(bytes int64) error {
	const always = 64 << 20 // without asking the kernel, which takes a while
	if !m.mode.Anonymous() || bytes <= always {
		return nil
	}
	has := hostlimits.ReadMemory()
	most := has.Bytes
	if m.mode == Heap {
		most += has.Swap
	}
	if most == 0 || bytes <= most {
		return nil
	}
	return memoryError(m.path, bytes,
		fmt.Sprintf("mode %s keeps all of the store in memory; %s does not", m.mode, MappedPrivate), unix.ENOMEM)
}

// step maps what follows up to size, anonymous memory or the file.
func (m *memory) step(size int64, anonymous bool) error {
	var (
		at    = unsafe.Add(m.base, m.mapped)
		n     = uintptr(size - m.mapped)
		prot  = unix.PROT_READ | unix.PROT_WRITE
		flags = 0
		fd    = -1
		off   = int64(0)
	)
	if anonymous {
		flags |= unix.MAP_PRIVATE | unix.MAP_ANON
	} else {
		raw, _ := m.file.Fd()
		fd, off = int(raw), m.mapped
		switch {
		case m.readOnly:
			prot, flags = unix.PROT_READ, flags|unix.MAP_SHARED
		case m.mode == MappedPrivate:
			flags |= unix.MAP_PRIVATE
		default:
			flags |= unix.MAP_SHARED
		}
	}
	if m.mode.Anonymous() && n%hugePage == 0 && (m.mapped == 0 || m.kind == hugetlb) {
		if place(at, n, prot, flags|unix.MAP_HUGETLB, fd, off) == nil {
			m.kind = hugetlb
			return m.pin(at, n, size)
		}
	}
	if err := place(at, n, prot, flags, fd, off); err != nil {
		return memoryError(m.path, int64(n), fmt.Sprintf("mapping it (mode %s, %s)", m.mode, overcommit()), err)
	}
	if anonymous {
		m.advise(at, n)
	} else {
		// Without this the kernel reads around each fault in folios of up to
		// 2 MiB and later writes the whole folio back for one dirty page.
		m.madvise(at, n, unix.MADV_RANDOM)
	}
	return m.pin(at, n, size)
}

// place makes a mapping inside the reservation. The kernel is asked for the same
// one elsewhere first: refusing it at a fixed place may leave a hole there, into
// which the next mapping of anybody in the process falls, to be overwritten by
// ours later.
func place(at unsafe.Pointer, n uintptr, prot, flags, fd int, off int64) error {
	p, err := unix.MmapPtr(fd, off, nil, n, prot, flags)
	if err != nil {
		return err
	}
	if err := unix.MunmapPtr(p, n); err != nil {
		return err
	}
	_, err = unix.MmapPtr(fd, off, at, n, prot, flags|unix.MAP_FIXED)
	if err != nil { // the machine has less to give than a moment ago
		const none = unix.MAP_PRIVATE | unix.MAP_ANON | unix.MAP_NORESERVE | unix.MAP_FIXED_NOREPLACE
		unix.MmapPtr(-1, 0, at, n, unix.PROT_NONE, none) //nolint:errcheck // closes the hole if there is one
		return &holeError{err}
	}
	return nil
}

// holeError says that a mapping was refused at its place, where nothing may be now.
type holeError struct{ error }

func (e *holeError) Unwrap() error { return e.error }

const (
	hugetlb     = "reserved huge pages (2 MiB)"
	transparent = "transparent huge pages"
)

func (m *memory) advise(at unsafe.Pointer, n uintptr) {
	state, _ := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	if len(state) == 0 || strings.Contains(string(state), "[never]") {
		return
	}
	if m.madvise(at, n, unix.MADV_HUGEPAGE) == nil && m.mode.Anonymous() {
		m.kind = transparent
	}
}

// pin ends a step: in mode locked it locks the new pages in memory.
func (m *memory) pin(at unsafe.Pointer, n uintptr, size int64) error {
	if m.mode != Locked {
		m.mapped = size
		return nil
	}
	if err := unix.Mlock(unsafe.Slice((*byte)(at), n)); err != nil {
		var lim unix.Rlimit
		unix.Getrlimit(unix.RLIMIT_MEMLOCK, &lim) //nolint:errcheck // zero is then shown
		return memoryError(m.path, int64(n),
			fmt.Sprintf("locking it in memory (RLIMIT_MEMLOCK is %s soft, %s hard; see ulimit -l or LimitMEMLOCK=)",
				limitText(lim.Cur), limitText(lim.Max)), err)
	}
	m.mapped = size
	return nil
}

func limitText(v uint64) string {
	if v == unix.RLIM_INFINITY {
		return "unlimited"
	}
	return strconv.FormatUint(v, 10) + " bytes"
}

func (m *memory) madvise(at unsafe.Pointer, n uintptr, advice int) error {
	return unix.Madvise(unsafe.Slice((*byte)(at), n), advice)
}

// freshBelow is a copy of fresh that knows of the pages below end.
func (m *memory) freshBelow(end uint32) bitmap {
	if m.fresh == nil {
		return nil
	}
	return slices.Clone(m.fresh[:end/hugePages/64+1])
}

// drop gives the memory of pages back to the kernel. Pages of a file are read
// from it again when touched; anonymous ones become zero.
func (m *memory) drop(page, pages uint32) error {
	if err := m.madvise(m.at(page), uintptr(pages)<<pageShift, unix.MADV_DONTNEED); err != nil {
		return fmt.Errorf("%s: give back %d pages from page %d: %w", m.path, pages, page, err)
	}
	return nil
}

// populate has the kernel find and clear the memory of a chunk that no page of a
// file is in, before its first page is needed. A volatile store is too small for that.
func (m *memory) populate(chunk uint32) {
	off := int64(chunk) * hugePage
	if m.file == nil || off+hugePage > m.mapped || m.mode != Heap && (m.mode != MappedPrivate || !m.fresh.get(chunk)) {
		return
	}
	m.populating.Go(func() {
		//nolint:errcheck // it comes when it is touched
		m.madvise(unsafe.Add(m.base, off), hugePage, unix.MADV_POPULATE_WRITE)
	})
}

// back puts the file in the place of fresh chunks, whose pages must equal it or be
// free. Whoever reads there meanwhile finds the same bytes. If the kernel refuses,
// nothing has changed, unless the error is a [holeError].
func (m *memory) back(chunk, chunks uint32) error {
	m.populating.Wait()
	raw, _ := m.file.Fd()
	off, n := int64(chunk)*hugePage, uintptr(chunks)*hugePage
	at := unsafe.Add(m.base, off)
	if err := place(at, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE, int(raw), off); err != nil {
		return fmt.Errorf("%s: map %d bytes at offset %d: %w", m.path, n, off, err)
	}
	m.madvise(at, n, unix.MADV_RANDOM) //nolint:errcheck // only costs reads
	for c := chunk; c < chunk+chunks; c++ {
		m.fresh.clear(c)
	}
	return nil
}

// lay puts memory of no file, or the file, in the place of [from, to), which are multiples
// of the page size. If the kernel refuses, nothing has changed, unless the error is a
// [holeError].
func (m *memory) lay(from, to int64, anonymous bool) error {
	flags, fd, off := unix.MAP_PRIVATE|unix.MAP_ANON, -1, int64(0)
	if !anonymous {
		raw, _ := m.file.Fd()
		flags, fd, off = unix.MAP_SHARED, int(raw), from
	}
	at, n := unsafe.Add(m.base, from), uintptr(to-from)
	if err := place(at, n, unix.PROT_READ|unix.PROT_WRITE, flags, fd, off); err != nil {
		return memoryError(m.path, to-from, fmt.Sprintf("mapping it at offset %d (mode %s, %s)",
			from, m.mode, overcommit()), err)
	}
	if !anonymous {
		m.madvise(at, n, unix.MADV_RANDOM) //nolint:errcheck // only costs reads
	}
	m.mapped = max(m.mapped, to)
	return nil
}

func (m *memory) at(page uint32) unsafe.Pointer {
	return unsafe.Add(m.base, int64(page)<<pageShift)
}

func (m *memory) slice(page, pages uint32) []byte {
	return unsafe.Slice((*byte)(m.at(page)), int64(pages)<<pageShift)
}

// forget empties the page cache of the file. What another mode wrote in long
// pieces lies there in large folios, and a shared mapping that changes one page
// of such a folio has all of it written back. It takes the kernel an eighth of a
// second for each GiB, so nobody waits for it: what is touched meanwhile stays.
func (m *memory) forget() {
	if raw, ok := m.file.Fd(); ok {
		m.forgetting.Go(func() {
			unix.Fadvise(int(raw), 0, 0, unix.FADV_DONTNEED) //nolint:errcheck // only costs writes
		})
	}
}

// offsetOf tells which byte of the file an address is, or -1.
func (m *memory) offsetOf(addr uintptr) int64 {
	if off := addr - uintptr(m.base); off < uintptr(m.mapped) {
		return int64(off)
	}
	return -1
}

// pageOf tells which page a node in memory is.
func (m *memory) pageOf(n *node) uint32 {
	return uint32(m.offsetOf(uintptr(unsafe.Pointer(n))) >> pageShift)
}

func (m *memory) contains(b []byte) bool {
	return len(b) > 0 && m.offsetOf(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) >= 0
}

func (m *memory) close() error {
	m.populating.Wait()
	m.forgetting.Wait() // it uses the file
	if m.area == nil {
		return nil
	}
	err := unix.MunmapPtr(m.area, m.areaSize)
	m.area, m.mapped = nil, 0
	return err
}

// newBitmap returns a bitmap of n bits in memory that the kernel fills on demand.
func newBitmap(n int64) (bitmap, error) {
	words := (n + 63) / 64
	b, err := unix.Mmap(-1, 0, int(words*8), unix.PROT_READ|unix.PROT_WRITE,
		unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		return nil, memoryError("page tables", words*8, "mapping it", err)
	}
	return unsafe.Slice((*uint64)(unsafe.Pointer(unsafe.SliceData(b))), words), nil
}

func (b bitmap) release() {
	if len(b) > 0 {
		//nolint:errcheck // nothing to be done
		unix.Munmap(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(b))), len(b)*8))
	}
}

// memoryError adds what the machine has to a refusal by the kernel.
func memoryError(path string, asked int64, detail string, err error) error {
	m := hostlimits.ReadMemory()
	return &store.MemoryError{
		Path: path, Asked: asked, Detail: detail, Err: err,
		RAM: m.Bytes, Limit: m.Limit, Swap: m.Swap, Available: m.Available,
	}
}

func overcommit() string {
	text, err := os.ReadFile("/proc/sys/vm/overcommit_memory")
	if err != nil {
		return "vm.overcommit_memory unknown"
	}
	return "vm.overcommit_memory = " + strings.TrimSpace(string(text))
}
