package storetest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// disk is an ext4 file system in a file, mounted through a loop device. It lives
// in the mount namespace of its process and its device clears itself, so that
// nothing is left behind however the process ends.
type disk struct {
	loop *os.File
	dir  string // where it is mounted
}

// whyNoDisk tells what is missing on this machine to make disks, if anything.
func whyNoDisk() string {
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

// newDisk makes and mounts a disk of a size in bytes, with files in dir.
func newDisk(dir string, size int64) (*disk, error) {
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
	d := &disk{dir: filepath.Join(dir, "disk")}
	if err := os.Mkdir(d.dir, 0o755); err != nil {
		return nil, err
	}
	if d.loop, err = attach(f); err != nil {
		return nil, err
	}
	if err := d.mount(); err != nil {
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

func (d *disk) mount() error {
	if err := unix.Mount(d.loop.Name(), d.dir, "ext4", 0, ""); err != nil {
		return fmt.Errorf("mount %s: %w", d.loop.Name(), err)
	}
	return nil
}

// unmount waits for the last user to go.
func (d *disk) unmount() error {
	var err error
	for range 200 {
		if err = unix.Unmount(d.dir, 0); !errors.Is(err, unix.EBUSY) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	if err != nil {
		return fmt.Errorf("unmount %s: %w", d.dir, err)
	}
	return nil
}

// The file system's shutdown request, and the flag that drops all that is not
// on the disk yet, the journal's tail included.
const (
	fsShutdown      = 0x8004587d
	fsShutdownNoLog = 2
)

// cut ends the file system as a power cut would. Only unmounting is left.
func (d *disk) cut() error {
	f, err := os.Open(d.dir)
	if err != nil {
		return err
	}
	defer f.Close()
	flag := uint32(fsShutdownNoLog)
	_, _, errno := unix.Syscall(unix.SYS_IOCTL, f.Fd(), fsShutdown, uintptr(unsafe.Pointer(&flag)))
	if errno != 0 {
		return fmt.Errorf("shut the file system down: %w", errno)
	}
	return nil
}

// close unmounts the disk and gives its device back.
func (d *disk) close() error {
	err := d.unmount()
	if err != nil {
		err = errors.Join(err, unix.Unmount(d.dir, unix.MNT_DETACH))
	}
	return errors.Join(err, d.loop.Close())
}
