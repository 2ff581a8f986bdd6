package fakenet

import (
	"bytes"
	"fmt"
	"iter"
	"testing"

	"github.com/ethereum/go-ethereum/crypto"

	"tarn/opera/genesis"
	"tarn/opera/genesis/genesistest"
	"tarn/opera/inter"
)

// What go-opera v1.1.3-rc.5 says of its fakenets: the genesis' id and the state's root,
// and the roots of the units that `export genesis` prints; state is with
// --export.evm.mode mpt, extended with ext-mpt.
var networks = []struct {
	validators                      int
	id, root, epochs, blocks, state string
	extended                        string
}{
	{
		1,
		"236720a6e0b1c5e317b77df1880feaa66c5ceffc1f41675e969073ba2b8d4a4c",
		"9a2f5212b1351a64fc2d903f0cdaa73853e8ffd67e5eac6477880b254e049378",
		"ca8906c205c2122a3dbd911ad6d20416de11c220d8d1af7a8a38fffe845ec3f8",
		"ad20d2ee03e661f10c48e3c4064916549549f289aa7b06b983768ee431b76254",
		"d96fcec83754c6a64e57319aee9da382f773b7dc60e7f41e18787eb887598664",
		"8e207d985aa2071b76b693cced11aa8e09cad21c17cfb4f1428c9fb73d082725",
	},
	{
		2,
		"4cbc03e802ab1d376d3983fc832a7ef8c7f1e5eb71ac558caaa0fe00427a3b7a",
		"0226a281d1a86e7689cb9d84538c276311e228f3267203aa425ca734cbd42789",
		"af00074e7498b320544d72c5a868408e164199f8a1d950ca4a3cfa3014005574",
		"f1956c500e607aa820e2b5140a89320336a7c7b01e8d58ac1e208714f4028bc0",
		"a80f0ea319ce82f96c285eccfd1a59b3e63eb6fb4bee9ad3a881368863fd10b1",
		"",
	},
	{
		3,
		"24841db8ad0e6d5b66de059536e9bb41d5d285c2b272421cee9b1a66b5de430e",
		"42420e66de11d61302f3e5ef43561213c5ced0c576faf2f6421fa9638c5e7d1c",
		"d81ac50da033839d59fb992a578a9d7d8958365627b63824fe152bd2fdafb6c8",
		"7430f313899d473dd60d1bc1e2a616f54d2ff18f47cc0e0a3efa5859a9582895",
		"b59a08f190e32c46b0abcaafe2f34a943af251bb6f2a89514208f64aad1d4b92",
		"4deb2d9d9a9a6c7731c768efee9a398413dd48d237cf2edfbdc14bbf9f522c72",
	},
	{
		5,
		"f46d2488570ff8edad6edec3cc97c0c3cb3e0742e414d7d8cb118b997ef1b3d6",
		"9a28f89b201b0b51de7b48698746d2f6fd388acc5f5163ae1eff3ffbea4115e3",
		"f38fed1274370e9f98d734c0d39d9032fffb10ed3d46594f0445579054f45927",
		"cb96bcbe5a19a8ef1e3661eb06fd6f2e3002eb72155f7d27035f10b5b621f13c",
		"306e04e383d5a41bde7e14bf86fc85c7153afe09357b31a3e69644752a26a239",
		"",
	},
}

// tries is a genesis without what was hashed.
type tries struct{ *Genesis }

func (t tries) Items() iter.Seq2[genesis.Item, error] {
	return func(yield func(genesis.Item, error) bool) {
		for item, err := range t.Genesis.Items() {
			if len(item.Key) <= 33 && !yield(item, err) {
				return
			}
		}
	}
}

func TestTheGenesisIsGoOperas(t *testing.T) {
	for _, n := range networks {
		g, err := New(Options{Validators: n.validators})
		if err != nil {
			t.Fatal(err)
		}
		for b, err := range g.Blocks() {
			const id = "0x0000000200000001e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934c"
			if root := fmt.Sprintf("%x", b.Block.Root); err != nil || root != n.root ||
				b.Block.Atropos.String() != id || b.Number != 1 {
				t.Errorf("%d validators: block %d %v has the root %s, want %s",
					n.validators, b.Number, b.Block.Atropos, root, n.root)
			}
		}
		var out bytes.Buffer
		hashes, err := genesistest.Write(&out, tries{g}, t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		for section, want := range map[string]string{genesis.Epochs: n.epochs, genesis.Blocks: n.blocks,
			genesis.State: n.state} {
			if got := fmt.Sprintf("%x", hashes[section]); got != want {
				t.Errorf("%d validators: section %s has the root %s, want %s", n.validators, section, got, want)
			}
		}
		if got := fmt.Sprintf("%x", g.Header().ID); got != n.id || g.Header().NetworkID != inter.FakeNetwork ||
			g.Header().NetworkName != "fake" {
			t.Errorf("%d validators: %v, want the id %s", n.validators, g.Header(), n.id)
		}
		if hashes, err = genesistest.Write(&out, g, t.TempDir()); err != nil ||
			n.extended != "" && fmt.Sprintf("%x", hashes[genesis.State]) != n.extended {
			t.Errorf("%d validators: with what was hashed %x, want %s: %v", n.validators, hashes[genesis.State],
				n.extended, err)
		}
	}
}

func TestAGenesisIsAFile(t *testing.T) {
	g, err := New(Options{Validators: 2})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	hashes, err := genesistest.Write(&out, g, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	f, err := genesis.NewFile("x.g", bytes.NewReader(out.Bytes()), int64(out.Len()), genesis.Options{})
	if err != nil {
		t.Fatal(err)
	}
	again, err := genesistest.Write(&bytes.Buffer{}, f, t.TempDir())
	if err != nil || again.String() != hashes.String() || f.Header() != g.Header() {
		t.Errorf("%v %v, want %v %v: %v", f.Header(), again, g.Header(), hashes, err)
	}
	begin, err := genesis.Begin(f, func(*inter.EpochRecord) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	want := inter.UpgradeHeight{Upgrades: inter.FakeRules().Upgrades, Height: 2}
	set := begin.Epoch.State.EpochState.Validators
	if begin.Epoch.Epoch != 2 || begin.Upgrades[0] != want || set.Len() != 2 || set.At(0).ID != 1 {
		t.Errorf("epoch %d with %d validators, upgrades %v", begin.Epoch.Epoch, set.Len(), begin.Upgrades)
	}
}

func TestOtherRulesAreAnotherNetwork(t *testing.T) {
	rules := inter.FakeRules()
	rules.Upgrades = inter.Upgrades{}
	g, err := New(Options{Validators: 1, Rules: &rules})
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprintf("%x", g.Header().ID) == networks[0].id {
		t.Error("a network without upgrades has the id of one with them")
	}
}

func TestThereAreAHundredKeys(t *testing.T) {
	seen := map[string]bool{}
	for id := inter.ValidatorID(1); id <= MaxValidators; id++ {
		key, err := Key(id)
		if err != nil {
			t.Fatal(err)
		}
		seen[crypto.PubkeyToAddress(key.PublicKey).Hex()] = true
	}
	if len(seen) != MaxValidators {
		t.Errorf("%d keys", len(seen))
	}
	for _, id := range []inter.ValidatorID{0, MaxValidators + 1} {
		if _, err := Key(id); err == nil {
			t.Errorf("there is a validator %d", id)
		}
	}
	for _, n := range []int{-1, 0, MaxValidators + 1} {
		if _, err := New(Options{Validators: n}); err == nil {
			t.Errorf("a network of %d validators", n)
		}
	}
}
