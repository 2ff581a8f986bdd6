package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
)

// streamerName is the client of state history that takes a stream of blocks; its script
// tells this program to be it.
const streamerName = "ship_streamer"

// streamed is what is asked of a stream.
type streamed struct {
	first, last           uint // both are sent
	irreversible          bool
	block, traces, deltas bool
	version               string // of requests and results
	finality              bool   // from version 1 on
}

// streamBlocks writes the blocks that its arguments ask for as a list, and fails if one
// does not follow any that it got of the number before.
func streamBlocks(ctx context.Context, args []string, to io.Writer) error {
	var target string
	var s streamed
	flags := flag.NewFlagSet(streamerName, flag.ContinueOnError)
	for _, name := range []string{"a", "socket-address"} {
		flags.StringVar(&target, name, defaultHistory, "HOST:PORT, or ws+unix:///PATH")
	}
	flags.UintVar(&s.first, "start-block-num", 1, "first block")
	flags.UintVar(&s.last, "end-block-num", math.MaxUint32-1, "last block")
	flags.BoolVar(&s.irreversible, "irreversible-only", false, "irreversible blocks only")
	flags.BoolVar(&s.block, "fetch-block", false, "with the blocks")
	flags.BoolVar(&s.traces, "fetch-traces", false, "with their traces")
	flags.BoolVar(&s.deltas, "fetch-deltas", false, "with what they change")
	flags.StringVar(&s.version, "version", "0", "version of requests, 0 or 1")
	flags.BoolVar(&s.finality, "fetch-finality-data", false, "with their finality data")
	if err := flags.Parse(args); err != nil {
		return err
	}
	h, err := dialHistory(ctx, target)
	if err != nil {
		return err
	}
	defer h.c.Close()
	out := bufio.NewWriter(to)
	if err := h.stream(s, out); err != nil {
		_ = out.Flush() // what does not follow is shown
		return err
	}
	return out.Flush()
}

// request returns what is asked for as [name, fields].
func (s *streamed) request() string {
	more := ""
	if s.version != "0" {
		more = fmt.Sprintf(`,"fetch_finality_data":%t`, s.finality)
	}
	return fmt.Sprintf(
		`["get_blocks_request_v%s",{"start_block_num":%d,"end_block_num":%d,"max_messages_in_flight":%d,`+
			`"have_positions":[],"irreversible_only":%t,"fetch_block":%t,"fetch_traces":%t,"fetch_deltas":%t%s}]`,
		s.version, s.first, s.last+1, uint32(math.MaxUint32), s.irreversible, s.block, s.traces, s.deltas, more)
}

// blockResult is what a stream's blocks are judged by.
type blockResult struct {
	Head         *position `json:"head"`
	Irreversible position  `json:"last_irreversible"`
	This         *position `json:"this_block"`
	Prev         *position `json:"prev_block"`
}

func (h *history) stream(s streamed, out io.Writer) error {
	if err := h.send(s.request()); err != nil {
		return err
	}
	name := "get_blocks_result_v" + s.version
	links := links{}
	for open := "["; ; open = "," {
		var r blockResult
		text, err := h.receive(name, &r)
		if err == nil {
			err = r.Head.check()
		}
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "%s\n{ %q:\n%s\n}\n", open, name, text); err != nil {
			return err
		}
		if r.This == nil {
			continue
		}
		if !s.irreversible {
			if err := links.add(&r); err != nil {
				return err
			}
		}
		if uint(r.This.Num) == s.last {
			_, err := io.WriteString(out, "]\n")
			return err
		}
	}
}

// links are the ids that were sent of each number; forks send several.
type links map[uint32]map[string]bool

// add takes a block that follows one of those, if there are any of the number before.
func (l links) add(r *blockResult) error {
	if r.Prev == nil {
		return nil
	}
	if before, known := l[r.This.Num-1]; known && !before[r.Prev.ID] {
		return fmt.Errorf("block %d %s follows %s, which was not sent", r.This.Num, r.This.ID, r.Prev.ID)
	}
	if l[r.This.Num] == nil {
		l[r.This.Num] = make(map[string]bool)
	}
	l[r.This.Num][r.This.ID] = true
	maps.DeleteFunc(l, func(num uint32, _ map[string]bool) bool { return num < r.Irreversible.Num })
	return nil
}
