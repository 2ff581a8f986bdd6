// Package loopdisk makes file systems of their own for tests, whose power can be cut and
// which can be filled. It needs root, mkfs.ext4 and loop devices, and says what is
// missing. It never decides what must be there afterwards. It is for tests only.
package loopdisk

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Disk is an ext4 file system in a file, mounted through a loop device. It lives in the
// mount namespace of its maker, which ends with that process or thread, and its device
// clears itself: nothing is left behind however the process ends.
type Disk struct {
	Dir  string // where it is mounted
	loop *os.File
	root *os.File // Dir while it is mounted
}

// Missing tells what is missing on this machine to make disks, if anything.
func Missing() string {
	if os.Geteuid() != 0 {
		return "needs root, to mount file systems"
	}
	if _, err := exec.LookPath("mkfs.ext4"); err != nil {
		return "needs mkfs.ext4"
	}
	if _, err := os.Stat("/dev/loop-control"); err != nil {
		return "needs loop devices: " + err.Error()
	}
	return ""
}

// New makes and mounts a disk of a size in bytes, with files in dir.
func New(dir string, size int64) (*Disk, error) {
	image := filepath.Join(dir, "disk.image")
	f, err := os.Create(image)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return nil, err
	}
	if out, err := exec.Command("mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", image).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mkfs.ext4: %w\n%s", err, out)
	}
	d := &Disk{Dir: filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.Dir, 0o755); err != nil {
		return nil, err
	}
	if d.loop, err = attach(f); err != nil {
		return nil, err
	}
	if err := d.Mount(); err != nil {
		return nil, errors.Join(err, d.loop.Close())
	}
	return d, nil
}

// attach gives a file a free loop device, which is free again once it is closed
// and not mounted.
func attach(image *os.File) (*os.File, error) {
	control, err := os.OpenFile("/dev/loop-control", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	defer control.Close()
	for range 20 { // another process may take the same one
		n, err := unix.IoctlRetInt(int(control.Fd()), unix.LOOP_CTL_GET_FREE)
		if err != nil {
			return nil, fmt.Errorf("find a free loop device: %w", err)
		}
		loop, err := os.OpenFile(fmt.Sprintf("/dev/loop%d", n), os.O_RDWR, 0)
		if err != nil {
			return nil, err
		}
		config := unix.LoopConfig{Fd: uint32(image.Fd()), Info: unix.LoopInfo64{Flags: unix.LO_FLAGS_AUTOCLEAR}}
		err = unix.IoctlLoopConfigure(int(loop.Fd()), &config)
		if err == nil {
			return loop, nil
		}
		loop.Close()
		if !errors.Is(err, unix.EBUSY) {
			return nil, fmt.Errorf("configure %s: %w", loop.Name(), err)
		}
	}
	return nil, errors.New("no free loop device")
}

// Mount mounts a disk again that is unmounted.
func (d *Disk) Mount() (err error) {
	if err := unix.Mount(d.loop.Name(), d.Dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", d.loop.Name(), err)
	}
	d.root, err = os.Open(d.Dir)
	return err
}

// Unmount waits for the last user to go.
func (d *Disk) Unmount() error {
	d.root.Close() //nolint:errcheck // a mount that failed has left it closed
	var err error
	for range 200 {
		if err = unix.Unmount(d.Dir, 0); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.Dir, err)
	}
	return nil
}

// The file system's shutdown request, and the flag that drops all that is not
// on the disk yet, the journal's tail included.
const (
	fsShutdown      = 0x8004587d
	fsShutdownNoLog = 2
)

// Cut ends the file system as a power cut would. Only unmounting is left. Any goroutine
// may call it.
func (d *Disk) Cut() error {
	flag := uint32(fsShutdownNoLog)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, d.root.Fd(), fsShutdown, uintptr(unsafe.Pointer(&flag)))
	if errno != 0 {
		return fmt.Errorf("shut the file system down: %w", errno)
	}
	return nil
}

// ballast is a file that takes the room away that Fill takes.
const ballast = "ballast"

// Fill takes all room but so many bytes away, until Empty gives it back.
func (d *Disk) Fill(left int64) error {
	if err := d.Empty(); err != nil {
		return err
	}
	var st unix.Statfs_t
	if err := unix.Fstatfs(int(d.root.Fd()), &st); err != nil {
		return fmt.Errorf("ask for the room of %s: %w", d.Dir, err)
	}
	size := int64(st.Bavail)*st.Bsize - left
	if size <= 0 {
		return nil
	}
	f, err := os.Create(filepath.Join(d.Dir, ballast))
	if err != nil {
		return err
	}
	err = unix.Fallocate(int(f.Fd()), 0, 0, size)
	if errors.Is(err, unix.ENOSPC) {
		err = nil // the list of its blocks takes the rest
	}
	return errors.Join(err, f.Close())
}

// Empty gives back what Fill took.
func (d *Disk) Empty() error {
	err := os.Remove(filepath.Join(d.Dir, ballast))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// Apart gives the calling goroutine mounts of its own, until it ends: it stays on its
// thread, which ends with it. Processes that it starts have the same mounts; other
// goroutines do not see them.
func Apart() error {
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_FS | unix.CLONE_NEWNS); err != nil {
		return fmt.Errorf("make mounts of one's own: %w", err)
	}
	if err := unix.Mount("none", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("keep mounts to oneself: %w", err)
	}
	return nil
}

// Close unmounts the disk and gives its device back.
func (d *Disk) Close() error {
	err := d.Unmount()
	if err != nil {
		err = errors.Join(err, unix.Unmount(d.Dir, unix.MNT_DETACH))
	}
	return errors.Join(err, d.loop.Close())
}
