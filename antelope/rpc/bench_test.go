package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// benchmark asks over so many connections at once.
func benchmark(b *testing.B, n *node, path, body string) {
	b.Helper()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	b.SetParallelism(15) // 30 connections on two cores
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			res, err := client.Post(n.base+path, "application/json", bytes.NewReader([]byte(body)))
			if err != nil {
				b.Error(err)
				return
			}
			_, err = io.Copy(io.Discard, res.Body)
			if err != nil || res.StatusCode != 200 {
				b.Errorf("%d %v", res.StatusCode, err)
			}
			res.Body.Close()
		}
	})
}

func benchNode(b *testing.B) *node {
	n := newNode(b, func(s *state.State) {
		fillAccounts(b, s)
		f := filler{b, s}
		k := table("eosio.token", "eosio.token", "rows")
		f.table(k, 1000)
		for i := range uint64(1000) {
			f.row(k, i, serial.AppendString(serial.AppendUint64(nil, i), fmt.Sprint("row ", i)))
		}
		f.account("wide", wideABI)
		k = table("wide", "wide", "rows")
		f.table(k, 1000)
		for i := range uint64(1000) {
			value := serial.AppendUint64(serial.AppendUint64(serial.AppendUint64(serial.AppendUint64(nil, i),
				uint64(types.N("wide"))), 1_700_000_000_000_000+i), i*i)
			f.row(k, i, append(value, make([]byte, 96)...))
		}
		for i := range uint64(100) {
			f.table(state.TableKey{Code: types.N("wide"), Scope: types.Name(1<<60 | i<<50), Table: types.N("accounts")},
				1)
		}
	})
	return n.start(nodeoshttp.Options{})
}

// wideABI has rows as chains' large tables have them.
const wideABI = `{"version":"eosio::abi/1.2","structs":[{"name":"row","base":"","fields":[{"name":"id","type":"uint64"},{"name":"owner","type":"name"},
{"name":"since","type":"time_point"},{"name":"amount","type":"int64"},{"name":"digest","type":"checksum256"},{"name":"proof","type":"checksum512"}]}],
"tables":[{"name":"rows","index_type":"i64","key_names":[],"key_types":[],"type":"row"}]}`

const wideRows = `{"json":true,"code":"wide","scope":"wide","table":"rows","lower_bound":"500","limit":10}`

const benchRows = `{"json":true,"code":"eosio.token","scope":"eosio.token","table":"rows","lower_bound":"500","limit":%d}`

func BenchmarkTableRows10(b *testing.B) {
	benchmark(b, benchNode(b), "/v1/chain/get_table_rows", fmt.Sprintf(benchRows, 10))
}

func BenchmarkTableRows100(b *testing.B) {
	benchmark(b, benchNode(b), "/v1/chain/get_table_rows", fmt.Sprintf(benchRows, 100))
}

func BenchmarkAccount(b *testing.B) {
	benchmark(b, benchNode(b), "/v1/chain/get_account", `{"account_name":"alice"}`)
}

func BenchmarkInfo(b *testing.B) {
	benchmark(b, benchNode(b), "/v1/chain/get_info", ``)
}

// BenchmarkCalls is the calls without HTTP.
func BenchmarkCalls(b *testing.B) {
	n := benchNode(b)
	for _, c := range []struct{ path, body string }{
		{"/v1/chain/get_info", ``}, {"/v1/chain/get_account", `{"account_name":"alice"}`},
		{"/v1/chain/get_table_rows", fmt.Sprintf(benchRows, 10)},
		{"/v1/chain/get_table_rows", fmt.Sprintf(benchRows, 100)},
		{"/v1/chain/get_table_rows", wideRows},
		{"/v1/chain/get_table_by_scope", `{"code":"wide","table":"accounts","limit":10}`},
	} {
		for _, e := range n.api.Calls() {
			if e.Path != c.path {
				continue
			}
			b.Run(c.path[len("/v1/chain/"):]+fmt.Sprint(len(c.body)), func(b *testing.B) {
				b.ReportAllocs()
				var buf []byte
				for b.Loop() {
					status, out := e.Handle(&nodeoshttp.Request{Context: context.Background(), Body: c.body}, buf[:0])
					if status != 200 {
						b.Fatal(string(out))
					}
					buf = out
				}
			})
		}
	}
}
