package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tarn/antelope/crypto"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// generatorName is the generator of transactions that tests start; its script tells
// this program to be it.
const generatorName = "trx_generator"

// messageTransaction is a packed transaction's number among the messages of peers.
const messageTransaction = 8

// generator sends transfers back and forth between two accounts, as a peer that
// sends nothing but transactions, not even a handshake.
type generator struct {
	id       string
	chain    types.Checksum256
	ref      types.Checksum256
	contract types.Name
	accounts []types.Name
	keys     []crypto.PrivateKey
	length   time.Duration
	rate     int
	logs     string
	sent     int
}

// generate takes the arguments that the tests' library passes.
func generate(ctx context.Context, args []string) error {
	var g generator
	flags := flag.NewFlagSet(generatorName, flag.ContinueOnError)
	flags.StringVar(&g.id, "generator-id", "0", "number among the generators")
	chain := flags.String("chain-id", "", "chain")
	ref := flags.String("last-irreversible-block-id", "", "block that transactions refer to")
	contract := flags.String("contract-owner-account", "", "contract of the transfers")
	accounts := flags.String("accounts", "", "two accounts, comma between")
	keys := flags.String("priv-keys", "", "their keys, comma between")
	seconds := flags.Int("trx-gen-duration", 60, "seconds to go on")
	flags.IntVar(&g.rate, "target-tps", 1, "transactions in a second")
	flags.StringVar(&g.logs, "log-dir", "", "folder for the id of the first transaction")
	kind := flags.String("peer-endpoint-type", "p2p", "p2p alone is served")
	host := flags.String("peer-endpoint", "127.0.0.1", "node")
	port := flags.String("port", "9876", "its port")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *kind != "p2p" {
		return fmt.Errorf("peer-endpoint-type %s is not served", *kind)
	}
	for to, from := range map[*types.Checksum256]*string{&g.chain: chain, &g.ref: ref} {
		if n, err := hex.Decode(to[:], []byte(*from)); err != nil || n != len(to) {
			return fmt.Errorf("%q is no id", *from)
		}
	}
	g.contract, g.length = types.N(*contract), time.Duration(*seconds)*time.Second
	for _, name := range strings.Split(*accounts, ",") {
		g.accounts = append(g.accounts, types.N(name))
	}
	for _, text := range strings.Split(*keys, ",") {
		k, err := crypto.ParsePrivateKey(text)
		if err != nil {
			return err
		}
		g.keys = append(g.keys, k)
	}
	if len(g.accounts) != 2 || len(g.keys) != 2 {
		return fmt.Errorf("two accounts with two keys are needed")
	}
	return g.run(ctx, net.JoinHostPort(*host, *port))
}

func (g *generator) run(ctx context.Context, address string) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "tcp4", address)
	if err != nil {
		return err
	}
	defer conn.Close()
	tick := time.NewTicker(time.Second / time.Duration(max(g.rate, 1)))
	defer tick.Stop()
	for end := time.Now().Add(g.length); time.Now().Before(end); {
		p, id, err := g.next()
		if err != nil {
			return err
		}
		m := p.Append([]byte{messageTransaction})
		if _, err := conn.Write(append(serial.AppendUint32(nil, uint32(len(m))), m...)); err != nil {
			return err
		}
		if g.sent++; g.sent == 1 {
			name := filepath.Join(g.logs, fmt.Sprintf("first_trx_%d.txt", os.Getpid()))
			if err := os.WriteFile(name, []byte(id.String()+"\n"), 0o644); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
	return nil
}

// next makes a transfer that no other is equal to.
func (g *generator) next() (*types.PackedTransaction, types.Checksum256, error) {
	i := g.sent % 2
	from, to := g.accounts[i], g.accounts[1-i]
	data := to.Append(from.Append(nil))
	data = serial.AppendInt64(data, 10000)
	data = append(data, 4, 'C', 'U', 'R', 0, 0, 0, 0)
	data = serial.AppendString(data, fmt.Sprint(os.Getpid()))
	nonce := serial.AppendString(nil, fmt.Sprintf("%s:%d:%d:%d", g.id, os.Getpid(), g.sent, time.Now().UnixNano()))
	trx := &types.Transaction{
		TransactionHeader:  types.TransactionHeader{Expiration: types.TimePointSec(time.Now().Add(time.Hour).Unix())},
		ContextFreeActions: []types.Action{{Account: types.N("eosio.null"), Name: types.N("nonce"), Data: nonce}},
		Actions: []types.Action{{Account: g.contract, Name: types.N("transfer"), Data: data,
			Authorization: []types.PermissionLevel{{Actor: from, Permission: types.N("active")}}}},
	}
	trx.SetRefBlock(g.ref)
	signature, err := g.keys[i].Sign(trx.SigningDigest(g.chain, nil))
	if err != nil {
		return nil, types.Checksum256{}, err
	}
	p, err := types.Pack(trx, []types.Signature{signature}, nil, 0)
	return p, trx.ID(), err
}
