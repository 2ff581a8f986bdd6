package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"tarn/antelope/ship/shiplog"
	"tarn/antelope/tracelog/slicefile"
	"tarn/store"
	"tarn/store/vfs/torntail"
)

// damage is what was found damaged of what the node has stored, by whoever read it. The
// writer may go on: it has not met the place, or will end the node when it does.
type damage struct {
	mu    sync.Mutex
	parts []string            // that are damaged, as readyz names them
	said  map[string]struct{} // what the log has been told
}

// mostSaid bounds how many places of damage are logged: strangers choose what is read. All of
// them are the business of the commands that verify.
const mostSaid = 100

// noteDamage tells whether err says that something cannot be read as it was written. Each place
// is logged once; from then on the node is not ready.
func (n *Node) noteDamage(err error) bool {
	part := damagedPart(err)
	if part == nil {
		return false
	}
	d := &n.damage
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.parts, part.name) {
		d.parts = append(d.parts, part.name)
	}
	text := err.Error()
	if _, said := d.said[text]; said || len(d.said) == mostSaid {
		return true
	}
	if d.said == nil {
		d.said = map[string]struct{}{}
	}
	d.said[text] = struct{}{}
	n.o.Log.Error(damageRemedy(err).Error(), part.option, part.folder(&n.o))
	return true
}

// err says why the node is not ready; nil if nothing was found. Who may ask /readyz
// need not know the server's folders.
func (d *damage) err() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch len(d.parts) {
	case 0:
		return nil
	case 1:
		return fmt.Errorf("%s is damaged; the log says where, and what to do", d.parts[0])
	}
	return fmt.Errorf("%s are damaged; the log says where, and what to do", strings.Join(d.parts, ", "))
}

// part is something that a node stores, and how it is told of.
type part struct {
	name, option string
	folder       func(*Options) string
	remedy       string // sentences, without the last full stop
	is           func(error) bool
}

// storedParts are looked at in this order: the errors of histories wrap those of logs.
var storedParts = []part{
	{
		name: "the state", option: "state-dir", folder: func(o *Options) string { return o.StateDir },
		remedy: "Stop the node and start it once with --replay-blockchain, if its block log begins with block 1; " +
			"else empty state-dir and start with --snapshot",
		is: func(err error) bool { return errors.Is(err, store.ErrCorrupt) || errors.Is(err, store.ErrFault) },
	},
	{
		name: "the state history", option: "state-history-dir",
		folder: func(o *Options) string { return o.History.Dir },
		remedy: "The chain is sound without it. Stop the node; `tarn history verify` names all that is damaged in " +
			"the folder, and `tarn history repair` mends what can be mended. " +
			"Restore what cannot be mended from a copy",
		is: func(err error) bool { return errors.Is(err, shiplog.ErrCorrupt) },
	},
	{
		name: "the traces", option: "trace-dir", folder: func(o *Options) string { return o.Traces.Files.Dir },
		remedy: "The chain is sound without them. Stop the node; `tarn history verify` names all that is damaged in " +
			"the folder, and `tarn history repair` mends what can be mended. " +
			"Restore what cannot be mended from a copy",
		is: func(err error) bool { return errors.Is(err, slicefile.ErrCorrupt) },
	},
	{
		name: "a log of blocks", option: "blocks-dir", folder: func(o *Options) string { return o.BlocksDir },
		remedy: "The state is sound without it", // the error says the rest
		is:     func(err error) bool { return errors.As(err, new(*torntail.Damage)) },
	},
}

// damagedPart is what an error says is damaged; nil for none.
func damagedPart(err error) *part {
	for i := range storedParts {
		if storedParts[i].is(err) {
			return &storedParts[i]
		}
	}
	return nil
}

// damageRemedy adds to an error of something that is damaged what helps.
func damageRemedy(err error) error {
	p := damagedPart(err)
	if p == nil {
		return err
	}
	verb := "is"
	if p.name == "the traces" {
		verb = "are"
	}
	return fmt.Errorf("%s %s damaged. %s. Test the machine's memory and disk, which may have damaged it: %w",
		strings.ToUpper(p.name[:1])+p.name[1:], verb, p.remedy, err)
}
