package finality

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// Ref is what a core remembers of a block.
type Ref struct {
	ID       types.Checksum256
	Time     types.BlockTimestamp
	Finality types.Checksum256 // its finality digest

	// Generations of the policies that finalize the block: the active one's, and the pending
	// one's, 0 without one. They are in files and not in digests.
	Active, Pending uint32
}

// Links are what the core has of blocks' claims, ascending. They must not be changed.
func (c *Core) Links() []Link { return c.links }

// Refs are what the core has of blocks, ascending. They must not be changed.
func (c *Core) Refs() []Ref { return c.refs }

// Genesis is the time of the genesis block in its own core, and zero in others.
func (c *Core) Genesis() types.BlockTimestamp { return c.genesis }

// Num is the block's number.
func (r *Ref) Num() uint32 { return types.BlockNum(r.ID) }

// Link says what a block claims: that the block Target has a certificate.
type Link struct {
	Source, Target uint32
	Strong         bool
}

// Core is what a block's header tells of finality, with what follows from it (Spring:
// finality_core.hpp). A strong certificate for a block makes final what that block claims. It is
// immutable.
type Core struct {
	links   []Link // of the blocks from that on whose certificate made the last one final
	refs    []Ref  // of the blocks from the last final one to the parent
	genesis types.BlockTimestamp

	linkRoom, refRoom *spareCapacity
}

// GenesisCore is the core of the first block that has a finality extension.
func GenesisCore(num uint32, time types.BlockTimestamp) Core {
	return Core{links: []Link{{Source: num, Target: num}}, genesis: time}
}

// Num is the number of the block whose core this is.
func (c *Core) Num() uint32 { return c.links[len(c.links)-1].Source }

// LastFinal is the number of the last final block that the core knows.
func (c *Core) LastFinal() uint32 { return c.links[0].Target }

// Claim is the newest certificate that the block claims.
func (c *Core) Claim() types.QCClaim {
	l := c.links[len(c.links)-1]
	return types.QCClaim{Block: l.Target, Strong: l.Strong}
}

// IsGenesis tells whether the core is that of the genesis block.
func (c *Core) IsGenesis() bool { return len(c.refs) == 0 }

// IsGenesisNum tells whether a block of the core, or its own, is the genesis block.
func (c *Core) IsGenesisNum(num uint32) bool {
	return c.links[0].Source == c.links[0].Target && c.links[0].Source == num
}

// Ref is what the core has of a block from the last final one to the parent; nil beyond.
func (c *Core) Ref(num uint32) *Ref {
	if i := int64(num) - int64(c.LastFinal()); i >= 0 && i < int64(len(c.refs)) {
		return &c.refs[i]
	}
	return nil
}

// LastFinalTime is the time of the last final block.
func (c *Core) LastFinalTime() types.BlockTimestamp {
	if c.IsGenesis() {
		return c.genesis
	}
	return c.refs[0].Time
}

// ClaimTime is the time of the block whose certificate is claimed.
func (c *Core) ClaimTime() types.BlockTimestamp {
	if c.IsGenesis() {
		return c.genesis
	}
	return c.Ref(c.Claim().Block).Time
}

// Extends tells whether a block, not older than the last final one, is an ancestor.
func (c *Core) Extends(id types.Checksum256) bool {
	r := c.Ref(types.BlockNum(id))
	return r != nil && r.ID == id
}

// after is the last final block of a block that follows and claims that, and the place in links
// from which on they are kept.
func (c *Core) after(claim types.QCClaim) (lastFinal uint32, from int) {
	if !claim.Strong {
		return c.LastFinal(), 0
	}
	from = int(claim.Block - c.links[0].Source)
	return c.links[from].Target, from
}

// Accepts tells whether a block that follows may claim that: nothing older than this one claims,
// and nothing newer than this one.
func (c *Core) Accepts(claim types.QCClaim) bool {
	return claim.Block <= c.Num() && !claim.Less(c.Claim())
}

// FinalAfter is the last final block of a block that follows and claims that, which [Core.Accepts]
// must have said.
func (c *Core) FinalAfter(claim types.QCClaim) uint32 {
	num, _ := c.after(claim)
	return num
}

// Next is the core of a block that follows parent, whose core this is, and claims that, which
// [Core.Accepts] must have said.
func (c *Core) Next(parent Ref, claim types.QCClaim) Core {
	last, from := c.after(claim)
	var n Core
	n.links, n.linkRoom = extend(c.links[from:],
		Link{Source: c.Num() + 1, Target: claim.Block, Strong: claim.Strong}, c.linkRoom)
	n.refs, n.refRoom = extend(c.refs[last-c.LastFinal():], parent, c.refRoom)
	return n
}

// Reversible is the root of the tree of blocks above the last final one.
func (c *Core) Reversible() types.Checksum256 {
	if len(c.refs) <= 1 {
		return types.Checksum256{}
	}
	leaves := make([]types.Checksum256, 0, len(c.refs)-1)
	for i := range c.refs[1:] {
		r := &c.refs[i+1]
		b := serial.AppendUint32(make([]byte, 0, 44), r.Num())
		b = append(r.Time.Append(b), r.Finality[:]...)
		leaves = append(leaves, types.Hash(c.refs[i].Time.Append(b)))
	}
	return Root(leaves)
}

// appendHashed appends the core as digests have it, without the policies' generations.
func (c *Core) appendHashed(b []byte) []byte { return c.append(b, false) }

// Append appends the core as files have it.
func (c *Core) Append(b []byte) []byte { return c.append(b, true) }

func (c *Core) append(b []byte, generations bool) []byte {
	b = serial.AppendCount(b, len(c.links))
	for _, l := range c.links {
		b = serial.AppendBool(serial.AppendUint32(serial.AppendUint32(b, l.Source), l.Target), l.Strong)
	}
	b = serial.AppendCount(b, len(c.refs))
	for i := range c.refs {
		r := &c.refs[i]
		b = r.Finality.Append(r.Time.Append(r.ID.Append(b)))
		if generations {
			b = serial.AppendUint32(serial.AppendUint32(b, r.Active), r.Pending)
		}
	}
	return c.genesis.Append(b)
}

// Read decodes what Append encodes, and refuses what no core is: links that do not follow each
// other, or refs that are not those of the blocks between the last final one and its own.
func (c *Core) Read(r *serial.Reader) {
	*c = Core{links: make([]Link, r.Count(9))}
	for i := range c.links {
		c.links[i] = Link{Source: r.Uint32(), Target: r.Uint32(), Strong: r.Bool()}
	}
	c.refs = make([]Ref, r.Count(32+4+32+8))
	for i := range c.refs {
		ref := &c.refs[i]
		ref.ID.Read(r)
		ref.Time.Read(r)
		ref.Finality.Read(r)
		ref.Active, ref.Pending = r.Uint32(), r.Uint32()
	}
	c.genesis.Read(r)
	if r.Err() == nil && !c.wellFormed() {
		r.Fail(serial.ErrValue)
	}
}

// wellFormed tells whether the core is one that Next can lead to (Spring: finality_core.hpp,
// invariants 1 to 7).
func (c *Core) wellFormed() bool {
	if len(c.links) == 0 {
		return false
	}
	for i, l := range c.links {
		switch {
		case l.Target > l.Source, l.Target == l.Source && (i > 0 || l.Strong): // only the genesis block claims itself
			return false
		case i > 0 && (l.Source != c.links[i-1].Source+1 || l.Target < c.links[i-1].Target):
			return false
		}
	}
	last := c.LastFinal()
	if uint64(len(c.refs)) != uint64(c.Num())-uint64(last) || c.Claim().Block < c.links[0].Source {
		return false
	}
	for i := range c.refs {
		if c.refs[i].Num() != last+uint32(i) || i > 0 && c.refs[i].Time <= c.refs[i-1].Time {
			return false
		}
	}
	return true
}
