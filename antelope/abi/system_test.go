package abi_test

import (
	"bytes"
	"encoding/binary"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/internal/refdata"
)

// accountRow is a row of the section account_object of a snapshot.
func accountRow(r *serial.Reader) (name types.Name, abi []byte) {
	name.Read(r)
	r.Uint32()
	return name, r.Bytes()
}

func TestSystemABIIsWhatTheReferenceSnapshotHas(t *testing.T) {
	const section = "eosio::chain::account_object\x00"
	snapshot := refdata.Read(t, "leap-snapshots/snap_v6.bin.gz")
	at := bytes.Index(snapshot, []byte(section))
	if at < 0 {
		t.Fatal("no section of accounts")
	}
	rows := binary.LittleEndian.Uint64(snapshot[at-8:])
	r := serial.NewReader(snapshot[at+len(section):])
	found := false
	for range rows {
		name, got := accountRow(r)
		if r.Err() != nil {
			t.Fatal(r.Err())
		}
		if name == types.N("eosio") {
			found = true
			if !bytes.Equal(got, abi.System()) {
				t.Errorf("account eosio has %x,\nwant %x", got, abi.System())
			}
		}
	}
	if !found {
		t.Error("no account eosio")
	}
}

func TestSystemABIIsValid(t *testing.T) {
	if n := len(abi.System()); n != 2132 {
		t.Errorf("%d bytes", n)
	}
	def, err := abi.Decode(abi.System())
	if err != nil {
		t.Fatal(err)
	}
	c, err := abi.New(def, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, action := range []string{"newaccount", "setcode", "setabi", "updateauth", "deleteauth", "linkauth",
		"unlinkauth", "canceldelay", "onerror", "onblock"} {
		if got := c.ActionType(types.N(action)); got != action {
			t.Errorf("action %s has type %q", action, got)
		}
	}
}
