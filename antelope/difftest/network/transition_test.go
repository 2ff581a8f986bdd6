package network

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"tarn/antelope/difftest"
)

// Where SAVANNA is active the snapshots of both programs are the same after each block, before a chain goes over to
// Savanna's rules and while it does, and so are the hashes. Each program goes on from what the other wrote after a
// block before the genesis block, and after the last block before the proper ones.
func TestSnapshotsOfTheChangePassBetweenThem(t *testing.T) {
	ours, theirs := spring(t)
	dir := t.TempDir()
	q := newQuorum(t, Place{Program: theirs, Finalizes: 1}, Place{Program: ours})
	i, err := q.Members()[0].Info(t.Context())
	must(t, err)
	first, last := i.HeadNum+1, i.HeadNum+17
	for _, m := range q.Members() {
		must(t, m.Call(t.Context(), "/v1/producer/schedule_snapshot",
			map[string]any{"block_spacing": 1, "start_block_num": first, "end_block_num": last}, nil))
	}
	must(t, q.blocks(t.Context(), 3))
	change(t, q)
	must(t, q.Final(t.Context(), last+3, time.Minute))
	var before, older uint32 // the last block before the proper ones, and before the genesis block
	for num := last; num >= first; num-- {
		var b struct {
			Version  uint32 `json:"schedule_version"`
			Finality any    `json:"finality_extension"`
		}
		must(t, q.Members()[0].Call(t.Context(), "/v1/chain/get_block", map[string]any{"block_num_or_id": num}, &b))
		if b.Version == 1<<31 {
			before = num - 1
		}
		if b.Finality == nil {
			older = max(older, num)
		}
		text, err := os.ReadFile(snapshotAt(t, q.Members()[0], num))
		must(t, err)
		other, err := os.ReadFile(snapshotAt(t, q.Members()[1], num))
		must(t, err)
		if !bytes.Equal(text, other) {
			t.Errorf("the snapshots of block %d have %d and %d bytes, and are not the same", num, len(text), len(other))
		}
	}
	if older < first || before < older {
		t.Fatalf("the chain changed its rules after blocks %d and %d, and the snapshots are from block %d on",
			older, before, first)
	}
	for _, from := range []uint32{older, before} {
		for i, program := range []difftest.Executable{theirs, ours} { // each from the other's
			file := snapshotAt(t, q.Members()[1-i], from)
			m, err := q.Join(Place{Program: program}, dir)
			must(t, err)
			must(t, q.Again(t.Context(), m, "--snapshot", file))
		}
	}
	finalise(t, q)
	agree(t, q, before+1)
}

// Where SAVANNA is active and the rules are the older ones, both programs answer the same.
func TestAnswersBeforeTheChangeAreTheSame(t *testing.T) {
	ours, theirs := spring(t)
	q := newQuorum(t, Place{Program: theirs}, Place{Program: ours})
	must(t, q.blocks(t.Context(), 3))
	for _, m := range q.Members() {
		must(t, m.Pause(t.Context()))
	}
	must(t, await(t.Context(), "common head", agreeTime, func() (bool, error) { return q.level(t.Context()) }))
	sleep(t.Context(), time.Second) // for a block that was being made
	i, err := q.Members()[0].Info(t.Context())
	must(t, err)
	found, count, err := q.Compare(t.Context(), 1, i.HeadNum+2) // two that are not there
	must(t, err)
	for _, d := range found {
		t.Error(d)
	}
	t.Logf("%d of %d answers are the same at block %d", count-len(found), count, i.HeadNum)
	var hashes []any
	for _, m := range q.Members() {
		var hash any
		must(t, m.Call(t.Context(), "/v1/producer/get_integrity_hash", map[string]any{}, &hash))
		hashes = append(hashes, hash)
	}
	if !reflect.DeepEqual(hashes[0], hashes[1]) {
		t.Errorf("the integrity hashes are %v and %v", hashes[0], hashes[1])
	}
}

// snapshotAt is a member's snapshot of a block.
func snapshotAt(t *testing.T, m *Member, num uint32) string {
	t.Helper()
	list, err := filepath.Glob(filepath.Join(m.Dir, "snapshots", fmt.Sprintf("snapshot-%08x*.bin", num)))
	must(t, err)
	if len(list) != 1 {
		t.Fatalf("%s has %d snapshots of block %d", m.Name, len(list), num)
	}
	return list[0]
}
