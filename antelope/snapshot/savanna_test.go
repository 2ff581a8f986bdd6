package snapshot_test

import (
	"bytes"
	"fmt"
	"testing"

	"tarn/antelope/snapshot"
	"tarn/internal/refdata"
)

// springHash is what Spring's tests have for the reference chain, whatever version of snapshot it
// comes from.
const springHash = "74af93c55cb9a02ac812c4ee48477c1bcbb0d179808c370f623b370cb2557ab0"

// Snapshots of all versions give the file that Spring writes, its hash and its JSON.
func TestReferenceSnapshotsAreWrittenAsSpringWritesThem(t *testing.T) {
	newest := refdata.Read(t, "savanna/snap_v8.bin.gz")
	files := []string{"savanna/snap_v8.bin.gz"}
	for version := 2; version <= 6; version++ {
		files = append(files, fmt.Sprintf("leap-snapshots/snap_v%d.bin.gz", version))
	}
	spring := snapshot.Options{Version: snapshot.SpringVersion}
	for _, name := range files {
		t.Run(name, func(t *testing.T) {
			view, head := load(t, refdata.Read(t, name))
			hash, err := snapshot.Hash(view, head, spring)
			if err != nil || hash.String() != springHash {
				t.Errorf("integrity hash %s, %v", hash, err)
			}
			if got := writeAs(t, view, head, spring); !bytes.Equal(got, newest) {
				t.Errorf("written as %d bytes, want the %d of version 8", len(got), len(newest))
			}
			var out bytes.Buffer
			must(t, snapshot.Export(snapshot.NewJSON(&out), view, head, spring))
			if want := refdata.Read(t, "savanna/snap_v8.bin.json.gz"); !bytes.Equal(out.Bytes(), want) {
				t.Errorf("another JSON")
			}
		})
	}
}

// A snapshot of a chain that follows Savanna's rules, with rows of contracts, is written as Spring
// has written it.
func TestASnapshotOfSpringSurvivesLoadingAndWriting(t *testing.T) {
	const hash = "302d0af364c3567b898ddc137ed30c9fc94e5690004981c50fead1502846ab37"
	b := refdata.Read(t, "savanna/consensus_blockchain/snapshot.gz")
	view, head := load(t, b)
	if head.BlockNum != 10 || !head.IsProper() {
		t.Errorf("block %d, proper: %t", head.BlockNum, head.IsProper())
	}
	got, err := snapshot.Hash(view, head, snapshot.Options{})
	if err != nil || got.String() != hash {
		t.Errorf("integrity hash %s, %v", got, err)
	}
	if again := write(t, view, head); !bytes.Equal(again, b) {
		t.Errorf("written as %d bytes, want %d", len(again), len(b))
	}
	if _, err := snapshot.Hash(view, head, snapshot.Options{Version: snapshot.LeapVersion}); err == nil {
		t.Error("Leap's version has room for it")
	}
}
