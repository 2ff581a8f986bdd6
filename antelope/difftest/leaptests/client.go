package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"tarn/antelope/abi"
)

// clientName is what this program is told to be by the script cleos.
const clientName = "cleos"

// nodeAddress is where cleos looks for a node if nothing is said.
const nodeAddress = "http://127.0.0.1:8888"

// base64Member is one of an answer that carries bytes, without padding.
var base64Member = regexp.MustCompile(`("(?:abi|wasm)":"[A-Za-z0-9+/]+)"`)

// runClient runs cleos, which is of version 4: it takes base64 for what it is only
// if it ends with an equals sign, which nodeos wrote in any case before version 5.
// It asks a node through a way that adds it. What set code and set abi do it does by an
// action, because those commands of version 4 always fail.
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
	args, done, err := byAction(args)
	if err != nil {
		return err
	}
	defer done()
	cmd := exec.CommandContext(ctx, program, append([]string{clientName}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	return cmd.Run()
}

// byAction returns arguments that do as an action what set code and set abi do, and others
// as they are. done is called when they have been used.
func byAction(args []string) (list []string, done func(), err error) {
	at := slices.Index(args, "set")
	if at < 0 || at+1 >= len(args) || args[at+1] != "code" && args[at+1] != "abi" {
		return args, func() {}, nil
	}
	what := args[at+1]
	list = append(slices.Clone(args[:at]), "push", "action", "eosio", "set"+what)
	var named []string // account and file
	for _, a := range args[at+2:] {
		if strings.HasPrefix(a, "-") {
			list = append(list, a)
		} else {
			named = append(named, a)
		}
	}
	if len(named) != 2 {
		return nil, nil, fmt.Errorf("set %s wants an account and a file, not %q", what, named)
	}
	data, err := setData(what, named[0], named[1])
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp("", "set-*.json")
	if err != nil {
		return nil, nil, err
	}
	done = func() { _ = os.Remove(file.Name()) }
	_, err = file.WriteString(data)
	if err = errors.Join(err, file.Close()); err != nil {
		done()
		return nil, nil, err
	}
	return append(list, file.Name(), "-p", named[0]+"@active"), done, nil
}

// setData returns the data of the action setcode or setabi, as JSON.
func setData(what, account, file string) (string, error) {
	b, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if what == "code" {
		return fmt.Sprintf(`{"account":%q,"vmtype":0,"vmversion":0,"code":"%x"}`, account, b), nil
	}
	def, err := abi.Parse(string(b))
	if err != nil {
		return "", fmt.Errorf("%s: %w", file, err)
	}
	return fmt.Sprintf(`{"account":%q,"abi":"%x"}`, account, def.Append(nil)), nil
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
