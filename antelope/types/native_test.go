package types_test

import (
	"reflect"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

func natives() []wire {
	a := types.Authority{Threshold: 1, Waits: []types.WaitWeight{{WaitSec: 2, Weight: 3}}}
	b := types.KeyAuthority(types.PublicKey{Type: types.R1})
	return []wire{
		&types.NewAccount{Creator: 1, Name: 2, Owner: a, Active: b},
		&types.SetCode{Account: 1, VMType: 2, VMVersion: 3, Code: []byte{4, 5}},
		&types.SetABI{Account: 1, ABI: []byte{2}},
		&types.UpdateAuth{Account: 1, Permission: 2, Parent: 3, Authority: b},
		&types.DeleteAuth{Account: 1, Permission: 2},
		&types.LinkAuth{Account: 1, Code: 2, Action: 3, Requirement: 4},
		&types.UnlinkAuth{Account: 1, Code: 2, Action: 3},
		&types.CancelDelay{CancelingAuth: types.PermissionLevel{Actor: 1, Permission: 2}, TrxID: types.Checksum256{3}},
	}
}

func fresh(v wire) wire {
	return reflect.New(reflect.TypeOf(v).Elem()).Interface().(wire)
}

func TestDataOfNativeActionsIsReadAsItWasWritten(t *testing.T) {
	for _, v := range natives() {
		b := v.Append(nil)
		got := fresh(v)
		if err := types.ReadAction(append(b, 1, 2, 3), got); err != nil || !reflect.DeepEqual(got, v) {
			t.Errorf("%+v became %+v, %v", v, got, err)
		}
		for n := range b {
			if err := types.ReadAction(b[:n], fresh(v)); !exception.Is(err, exception.FCOutOfRange) {
				t.Errorf("%T cut to %d of %d bytes: %v", v, n, len(b), err)
			}
		}
	}
}

// The bytes of some of them, by hand.
func TestDataOfNativeActionsHasTheProtocolsLayout(t *testing.T) {
	for _, c := range []struct {
		v    interface{ Append([]byte) []byte }
		want []byte
	}{
		{&types.LinkAuth{Account: 1, Code: 2, Action: 3, Requirement: 4}, []byte{
			1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0}},
		{types.OnError{SenderID: types.U128(1), SentTrx: []byte{2}},
			[]byte{1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2}},
		{&types.SetCode{Account: 1, VMType: 2, VMVersion: 3, Code: []byte{4, 5}},
			[]byte{1, 0, 0, 0, 0, 0, 0, 0, 2, 3, 2, 4, 5}},
		{&types.UpdateAuth{Account: 1, Permission: 2, Parent: 3, Authority: types.Authority{Threshold: 5}}, []byte{
			1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 5, 0, 0, 0, 0, 0, 0}},
	} {
		if got := c.v.Append(nil); string(got) != string(c.want) {
			t.Errorf("%T is % x, want % x", c.v, got, c.want)
		}
	}
}

// FuzzNative feeds the data of actions to their decoders: what is accepted encodes
// to what decodes to the same.
func FuzzNative(f *testing.F) {
	for i, v := range natives() {
		f.Add(byte(i), v.Append(nil))
	}
	f.Fuzz(func(t *testing.T, which byte, b []byte) {
		all := natives()
		v := fresh(all[int(which)%len(all)])
		if types.ReadAction(b, v) != nil {
			return
		}
		again := v.Append(nil)
		r, w := serial.NewReader(again), fresh(v)
		if w.Read(r); r.End() != nil || string(w.Append(nil)) != string(again) {
			t.Errorf("% x became % x: %v", b, again, r.Err())
		}
	})
}
