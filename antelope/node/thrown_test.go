package node

import (
	"errors"
	"fmt"
	"testing"

	"tarn/antelope/admintypes"
	"tarn/antelope/blocklog"
	"tarn/antelope/exception"
	"tarn/antelope/feature"
	"tarn/antelope/resourcemonitor"
)

// What operators read of errors of the parts has the codes and names of nodeos.
func TestErrorsHaveTheNamesThatNodeosHasForThem(t *testing.T) {
	disk := errors.New("no disk")
	for _, c := range []struct {
		err  error
		kind *exception.Kind
		text string
	}{
		{fmt.Errorf("open the block log: %w", &blocklog.Error{Fault: blocklog.Unsound, Text: "no blocks"}),
			exception.BlockLog,
			"3190000 block_log_exception: Block log exception: open the block log: no blocks"},
		{&blocklog.Error{Fault: blocklog.Unsupported, Text: "version 9"}, exception.BlockLogUnsupportedVersion,
			"3190001 block_log_unsupported_version: unsupported version of block log: version 9"},
		{errors.Join(&blocklog.Error{Fault: blocklog.BadOption, Text: "same"}, disk,
			&blocklog.Error{Fault: blocklog.BadOption, Text: "same"}), exception.PluginConfig,
			"3110006 plugin_config_exception: Incorrect plugin configuration: same\nno disk\n3110006 plugin_config_exception: Incorrect plugin configuration: same"},
		{fmt.Errorf("watch: %w", &resourcemonitor.Error{Path: "/a", Err: disk}), exception.PluginConfig,
			"3110006 plugin_config_exception: Incorrect plugin configuration: watch: Unable to get space info for /a: no disk"},
		{fmt.Errorf("p2p: %w", admintypes.NewBadOption("a-size %d is odd", 3)), exception.PluginConfig,
			"3110006 plugin_config_exception: Incorrect plugin configuration: p2p: a-size 3 is odd"},
		{fmt.Errorf("features: %w", &feature.FolderError{Text: "no folder"}), exception.Plugin,
			"3110000 plugin_exception: Plugin exception: features: no folder"},
		{fmt.Errorf("options: %w", errors.Join(disk, admintypes.NewBadOption("odd"))), exception.PluginConfig,
			"3110006 plugin_config_exception: Incorrect plugin configuration: options: no disk\nodd"},
		{fmt.Errorf("other: %w", disk), nil, "other: no disk"},
		{fmt.Errorf("block 5: %w", exception.New(exception.BlockLogNotFound, "own")), exception.BlockLogNotFound,
			"block 5: 3190003 block_log_not_found: block log can not be found: own"},
	} {
		got := throw(throw(c.err))
		if got.Error() != c.text || c.kind != nil && !exception.Is(got, c.kind) || !errors.Is(got, c.err) {
			t.Errorf("%v\nwant %s", got, c.text)
		}
	}
	if throw(nil) != nil {
		t.Error("nothing is an error")
	}
}
