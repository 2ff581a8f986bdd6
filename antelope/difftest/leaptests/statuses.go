package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"time"
)

// statusName is the client of state history that asks for the status again and again;
// its script tells this program to be it.
const statusName = "ship_client"

// askStatuses asks as often as its arguments say. The answers go to out as a list, and
// to errs what it has come to, which tests read as a list of objects too.
func askStatuses(ctx context.Context, args []string, out, errs io.Writer) error {
	var target string
	var requests, version uint
	flags := flag.NewFlagSet(statusName, flag.ContinueOnError)
	for _, name := range []string{"a", "socket-address"} {
		flags.StringVar(&target, name, defaultHistory, "HOST:PORT, or ws+unix:///PATH")
	}
	for _, name := range []string{"n", "num-requests"} {
		flags.UintVar(&requests, name, 1, "how often to ask")
	}
	flags.UintVar(&version, "version", 0, "highest version of requests; those below it are sent in turn")
	if err := flags.Parse(args); err != nil {
		return err
	}
	say := func(status string) error {
		_, err := fmt.Fprintf(errs, "{\n   \"status\": %q,\n   \"time\": %d\n},\n", status, time.Now().Unix())
		return err
	}
	if _, err := io.WriteString(errs, "[\n"); err != nil {
		return err
	}
	if err := say("construct"); err != nil {
		return err
	}
	h, err := dialHistory(ctx, target)
	if err != nil {
		return err
	}
	defer h.c.Close()
	if err := say("set_abi"); err != nil {
		return err
	}
	first, last, err := h.statuses(requests, version, out)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(errs,
		"{\n   \"status\": \"done\",\n   \"time\": %d,\n   \"first_block_num\": %d,\n   \"last_block_num\": %d\n}\n]\n",
		time.Now().Unix(), first, last)
	return err
}

// statuses asks so often, each time when it has the answer before, and returns the heads
// of the first and the last answer. The last request is of version 0.
func (h *history) statuses(requests, version uint, to io.Writer) (first, last uint32, err error) {
	out := bufio.NewWriter(to)
	open := "["
	for i := range requests {
		v := (requests - 1 - i) % (version + 1)
		if err := h.send(fmt.Sprintf(`["get_status_request_v%d",{}]`, v)); err != nil {
			return 0, 0, err
		}
		var status struct {
			Head *position `json:"head"`
		}
		text, err := h.receive(fmt.Sprintf("get_status_result_v%d", v), &status)
		if err == nil {
			err = status.Head.check()
		}
		if err != nil {
			return 0, 0, fmt.Errorf("answer %d: %w", i+1, err)
		}
		if last = status.Head.Num; i == 0 {
			first = last
		}
		if _, err := fmt.Fprintf(out, "%s\n{ \"get_status_result_v0\":\n%s\n}\n", open, text); err != nil {
			return 0, 0, err
		}
		open = ","
	}
	if _, err := out.WriteString("]\n"); err != nil {
		return 0, 0, err
	}
	return first, last, out.Flush()
}
