package scratch

import (
	"os"
	"testing"
)

func TestFoldersInMemoryAreLeft(t *testing.T) {
	const memory = "/dev/shm"
	wd, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	if !inMemory(memory) || inMemory("/var/tmp") && inMemory(wd) {
		t.Skip("needs /dev/shm in memory, and /var/tmp or the working folder on a disk")
	}
	t.Setenv("TMPDIR", memory)
	if err := OnDisk(); err != nil || inMemory(os.TempDir()) {
		t.Fatalf("temporary files go to %s, %v", os.TempDir(), err)
	}
}

func TestFoldersOnADiskStay(t *testing.T) {
	dir := t.TempDir()
	if inMemory(dir) {
		t.Skip("the temporary folder is in memory")
	}
	t.Setenv("TMPDIR", dir)
	if err := OnDisk(); err != nil || os.TempDir() != dir {
		t.Fatalf("temporary files go to %s, %v", os.TempDir(), err)
	}
}
