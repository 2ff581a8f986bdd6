package difftest

import (
	"fmt"
	"slices"
	"time"

	"tarn/antelope/types"
)

// until calls step until the time has come.
func (d *Driver) until(end time.Time, step func() error) error {
	for d.ground.now().Before(end) {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// halfway is the time of work between now and the end.
func (d *Driver) halfway(end time.Time) time.Time {
	now := d.ground.now()
	return now.Add(end.Sub(now) / 2)
}

// rest lets the time of work pass until its end.
func (d *Driver) rest(end time.Time) error { return d.ground.pause(max(0, end.Sub(d.ground.now()))) }

// pace waits a random while, mostly short, so that work spreads over blocks.
func (d *Driver) pace(most time.Duration) error {
	return d.ground.pause(time.Duration(d.Rand.Int64N(int64(most) + 1)))
}

func runEmpty(d *Driver, until time.Time) error {
	return d.rest(until)
}

// account names are made of a prefix and a number in the letters of names.
func account(prefix string, i int) types.Name {
	const letters = "abcdefghijklmnopqrstuvwxyz"
	b := []byte(prefix)
	for range 4 {
		b = append(b, letters[i%26])
		i /= 26
	}
	return types.N(string(b))
}

// simple is the authority of an account's own key.
func (d *Driver) simple(account types.Name) types.Authority {
	return types.KeyAuthority(d.Key(account).Public())
}

// create makes simple accounts.
func (d *Driver) create(names ...types.Name) error {
	for batch := range slices.Chunk(names, 20) {
		var actions []types.Action
		for _, n := range batch {
			actions = append(actions, newAccount(system, n, d.simple(n), d.simple(n)))
		}
		if err := d.Must(actions...); err != nil {
			return err
		}
	}
	return nil
}

func runAccounts(d *Driver, until time.Time) error {
	i := 0
	return d.until(until, func() error {
		i++
		if err := d.pace(200 * time.Millisecond); err != nil {
			return err
		}
		return d.create(account("acc", i))
	})
}

// deploy puts one of the package's contracts, with its ABI, on an account.
func (d *Driver) deploy(account types.Name, contract string) error {
	wasm, abi, err := d.Peer.Contract(contract)
	if err != nil {
		return err
	}
	packed, err := packABI(abi)
	if err != nil {
		return fmt.Errorf("ABI of %s: %w", contract, err)
	}
	return d.Must(setCode(account, wasm), setABI(account, packed))
}

// preactivate is the one feature that needs no preactivation.
const preactivate = "PREACTIVATE_FEATURE"

// boot activates the first feature and puts eosio.bios on eosio. It returns the
// other features.
func (d *Driver) boot() ([]Feature, error) {
	features, err := d.Features(d.ctx)
	if err != nil {
		return nil, err
	}
	var others []Feature
	for _, f := range features {
		if f.Name() != preactivate {
			others = append(others, f)
			continue
		}
		if err := d.ground.activate(d.ctx, f.Digest); err != nil {
			return nil, err
		}
	}
	if err := d.Blocks(2); err != nil {
		return nil, err
	}
	return others, d.deploy(system, "eosio.bios")
}

// activate preactivates features, those that others depend on first.
func (d *Driver) activate(features ...Feature) error {
	slices.SortStableFunc(features, func(a, b Feature) int { return len(a.Dependencies) - len(b.Dependencies) })
	for _, f := range features {
		digest, err := types.ParseChecksum256(f.Digest)
		if err != nil {
			return err
		}
		if err := d.Must(action(system, "activate", system, digest)); err != nil {
			return err
		}
	}
	return nil
}

// bootAll makes a chain with eosio.bios and all features.
func (d *Driver) bootAll() error {
	features, err := d.boot()
	if err != nil {
		return err
	}
	if err := d.activate(features...); err != nil {
		return err
	}
	return d.Blocks(2)
}

func runBios(d *Driver, until time.Time) error {
	if err := d.bootAll(); err != nil {
		return err
	}
	return d.rest(until)
}

func runFeatures(d *Driver, _ time.Time) error {
	features, err := d.boot()
	if err != nil {
		return err
	}
	d.Rand.Shuffle(len(features), func(i, j int) { features[i], features[j] = features[j], features[i] })
	done := map[string]bool{}
	for i := 0; len(features) > 0; i = (i + 1) % len(features) {
		f := features[i]
		if slices.ContainsFunc(f.Dependencies, func(digest string) bool { return !done[digest] }) {
			continue
		}
		if err := d.activate(f); err != nil {
			return err
		}
		done[f.Digest] = true
		features = slices.Delete(features, i, i+1)
		if len(features) == 0 {
			break
		}
		i = (i - 1 + len(features)) % len(features)
		if err := d.Blocks(uint32(d.Rand.IntN(3))); err != nil {
			return err
		}
	}
	return d.Blocks(2)
}
