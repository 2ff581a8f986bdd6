package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// clientName is what this program is told to be by the script cleos.
const clientName = "cleos"

// nodeAddress is where cleos looks for a node if nothing is said.
const nodeAddress = "http://127.0.0.1:8888"

// base64Member is one of an answer that carries bytes, without padding.
var base64Member = regexp.MustCompile(`("(?:abi|wasm)":"[A-Za-z0-9+/]+)"`)

// runClient runs cleos, which is of version 4: it takes base64 for what it is only
// if it ends with an equals sign, which nodeos wrote in any case before version 5.
// It asks a node through a way that adds it.
func runClient(ctx context.Context, program string, args []string) error {
	at, address := nodeArgument(args)
	if to, err := url.Parse(address); err == nil && answers(to.Host) {
		way, stop, err := padding(ctx, to)
		if err != nil {
			return err
		}
		defer stop()
		if at >= 0 {
			args[at] = way
		} else {
			args = append([]string{"--url", way}, args...)
		}
	}
	cmd := exec.CommandContext(ctx, program, append([]string{clientName}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// nodeArgument returns the node's address and its place among the arguments, below
// 0 if it is not there.
func nodeArgument(args []string) (at int, address string) {
	for i, a := range args {
		if (a == "-u" || a == "--url") && i+1 < len(args) {
			return i + 1, args[i+1]
		}
	}
	return -1, nodeAddress
}

// answers tells whether anybody listens there; cleos says best what it means if not.
func answers(host string) bool {
	conn, err := net.DialTimeout("tcp", host, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

// padding serves what a node answers, with its base64 padded.
func padding(ctx context.Context, to *url.URL) (address string, stop func(), err error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", nil, err
	}
	asker := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := forward(w, r, asker, to); err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
		}
	})
	server := &http.Server{Handler: handler, ReadHeaderTimeout: time.Minute}
	go server.Serve(listener)
	return fmt.Sprintf("http://%s", listener.Addr()), func() { _ = server.Close() }, nil
}

// forward asks the node what cleos asks, and answers when it has all of it.
func forward(w http.ResponseWriter, r *http.Request, asker *http.Client, to *url.URL) error {
	question, err := io.ReadAll(r.Body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(context.WithoutCancel(r.Context()), r.Method,
		to.JoinPath(r.URL.Path).String(), bytes.NewReader(question))
	if err != nil {
		return err
	}
	request.Header = r.Header.Clone()
	answer, err := asker.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	if strings.HasPrefix(r.URL.Path, "/v1/chain/get_raw_") {
		body = base64Member.ReplaceAll(body, []byte(`$1="`))
	}
	w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(answer.StatusCode)
	_, err = w.Write(body)
	return err
}
