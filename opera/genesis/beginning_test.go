package genesis

import (
	"errors"
	"slices"
	"testing"

	"tarn/opera/inter"
)

// upgradedPart makes a part with records of epochs 1, 2, … with those upgrades.
func upgradedPart(t *testing.T, upgrades ...inter.Upgrades) part {
	return part{"ers", func(u *UnitWriter) error {
		for i, up := range slices.Backward(upgrades) {
			r := epochRecord(t, inter.Epoch(i+1))
			r.State.EpochState.Rules.Upgrades = up
			if err := u.Epoch(r); err != nil {
				return err
			}
		}
		return nil
	}}
}

func TestAGenesisBeginsWithItsNewestEpochAndAllUpgrades(t *testing.T) {
	none, berlin := inter.Upgrades{}, inter.Upgrades{Berlin: true}
	all := inter.Upgrades{Berlin: true, London: true, Llr: true}
	raw, _ := writeFile(t, 1000, upgradedPart(t, none, none, berlin, berlin, all, berlin))
	seen := []inter.Epoch{}
	b, err := Begin(open(t, raw), func(r *inter.EpochRecord) error {
		seen = append(seen, r.Epoch)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(seen, []inter.Epoch{6, 5, 4, 3, 2, 1}) || b.Epoch.Epoch != 6 || b.Header != testHeader {
		t.Errorf("epochs %v, the newest %d, header %v", seen, b.Epoch.Epoch, b.Header)
	}
	// A block after the last of the epoch before: test records have ten an epoch.
	want := []inter.UpgradeHeight{{Upgrades: none, Height: 11}, {Upgrades: berlin, Height: 31},
		{Upgrades: all, Height: 51}, {Upgrades: berlin, Height: 61}}
	if !slices.Equal(b.Upgrades, want) {
		t.Errorf("upgrades %v, want %v", b.Upgrades, want)
	}
}

func TestAGenesisThatIsNoBeginningIsRefused(t *testing.T) {
	other := func(u *UnitWriter) error {
		r := epochRecord(t, 1)
		r.State.EpochState.Rules.Name = "other"
		return u.Epoch(r)
	}
	for _, c := range []struct {
		what string
		part part
		want error
	}{
		{"no epochs", part{"brs", blocks(1, 1)}, ErrNoEpochs},
		{"another network's", part{"ers", other}, ErrOtherRecord},
		{"oldest first", part{"ers", func(u *UnitWriter) error { return errors.Join(epochs(t, 1, 1)(u), epochs(t, 2, 2)(u)) }}, ErrMalformed},
		{"one twice", part{"ers", func(u *UnitWriter) error { return errors.Join(epochs(t, 1, 1)(u), epochs(t, 1, 1)(u)) }}, ErrMalformed},
	} {
		raw, _ := writeFile(t, 1000, c.part)
		if _, err := Begin(open(t, raw), func(*inter.EpochRecord) error { return nil }); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", c.what, err, c.want)
		}
	}
	stop := errors.New("stop")
	raw, _ := writeFile(t, 1000, part{"ers", epochs(t, 1, 3)})
	if _, err := Begin(open(t, raw), func(*inter.EpochRecord) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("an error of the function: %v", err)
	}
}
