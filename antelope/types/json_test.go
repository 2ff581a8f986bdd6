package types_test

import (
	"encoding/hex"
	"encoding/json"
	"strings"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/types"
)

func TestValuesPrintAsNodeosPrintsThem(t *testing.T) {
	const zeros = "0000000000000000000000000000000000000000000000000000000000000000"
	sig := types.Signature{}
	const sys = types.Symbol(4 | 'S'<<8 | 'Y'<<16 | 'S'<<24)
	level := types.PermissionLevel{Actor: types.N("alice"), Permission: types.N("active")}
	packed := &types.PackedTransaction{Signatures: []types.Signature{sig}, Compression: types.CompressionZlib,
		PackedTrx: []byte{0xab}}
	packedJSON := `{"signatures":["` + sig.String() +
		`"],"compression":"zlib","packed_context_free_data":"","packed_trx":"ab"}`
	roots := `"timestamp":"2000-01-01T00:00:00.500","producer":"bp","confirmed":3,"previous":"` + zeros +
		`","transaction_mroot":"` + zeros +
		`","action_mroot":"` + zeros + `","schedule_version":4`
	header := types.BlockHeader{Timestamp: 1, Producer: types.N("bp"), Confirmed: 3, ScheduleVersion: 4}
	withSchedule := header
	withSchedule.NewProducers = &types.LegacySchedule{Version: 5,
		Producers: []types.LegacyProducerKey{{Producer: types.N("bp"), Key: key(1)}}}
	block := types.SignedBlock{Transactions: []types.TransactionReceipt{{}}}
	block.BlockHeader = header
	authority := types.ProducerAuthority{Producer: types.N("bp"),
		Authority: types.BlockSigningAuthority{Threshold: 1, Keys: []types.KeyWeight{{Key: key(1), Weight: 2}}}}
	keys := `{"threshold":1,"keys":[{"key":"` + key(1).String() + `","weight":2}]}`
	trx := types.Transaction{
		Actions: []types.Action{
			{Account: types.N("a"), Name: types.N("b"), Authorization: []types.PermissionLevel{level},
				Data: []byte{1}}}, Extensions: types.Extensions{{Type: 9, Data: []byte{0xff}}}}
	for want, v := range map[string]interface{ AppendJSON([]byte) []byte }{
		`"alice"`:                                types.N("alice"),
		`"` + zeros + `"`:                        types.Checksum256{},
		`"` + zeros[:40] + `"`:                   types.Checksum160{},
		`"` + zeros + zeros + `"`:                types.Checksum512{},
		`"5"`:                                    types.U128(5),
		`"-1"`:                                   types.Int128{Lo: 1<<64 - 1, Hi: 1<<64 - 1},
		`"0x0100000000000000` + zeros[:16] + `"`: types.Float128{Lo: 1},
		`"1970-01-01T00:00:00.001"`:              types.TimePoint(1999),
		`"1970-01-01T00:00:09"`:                  types.TimePointSec(9),
		`"2000-01-01T00:00:00.500"`:              types.BlockTimestamp(1),
		`"4,SYS"`:                                sys,
		`"SYS"`:                                  sys.Code(),
		`"0.0001 SYS"`:                           types.Asset{Amount: 1, Symbol: sys},
		`{"quantity":"0.0001 SYS","contract":"c"}`: types.ExtendedAsset{Quantity: types.Asset{Amount: 1, Symbol: sys}, Contract: types.N("c")},
		`{"actor":"alice","permission":"active"}`:  level,
		`{"threshold":1,"keys":[{"key":"` + key(1).String() +
			`","weight":1}],"accounts":[{"permission":{"actor":"alice","permission":"active"},"weight":2}],` +
			`"waits":[{"wait_sec":3,"weight":4}]}`: types.Authority{
			Threshold: 1, Keys: []types.KeyWeight{{Key: key(1), Weight: 1}},
			Accounts: []types.PermissionLevelWeight{{Permission: level, Weight: 2}},
			Waits:    []types.WaitWeight{{WaitSec: 3, Weight: 4}}},
		packedJSON: packed,
		`{"status":"soft_fail","cpu_usage_us":7,"net_usage_words":8,"trx":[0,"` + zeros +
			`"]}`: types.TransactionReceipt{TransactionReceiptHeader: types.TransactionReceiptHeader{
			Status: types.StatusSoftFail, CPUUsageUS: 7, NetUsageWords: 8}},
		`{"status":"9","cpu_usage_us":0,"net_usage_words":0,"trx":[1,` + packedJSON +
			`]}`: types.TransactionReceipt{TransactionReceiptHeader: types.TransactionReceiptHeader{Status: 9},
			Packed: packed},
		`{"expiration":"1970-01-01T00:00:00","ref_block_num":0,"ref_block_prefix":0,"max_net_usage_words":0,` +
			`"max_cpu_usage_ms":0,"delay_sec":0,"context_free_actions":[],` +
			`"actions":[{"account":"a","name":"b","authorization":[{"actor":"alice","permission":"active"}],` +
			`"data":"01"}],"transaction_extensions":[[9,"ff"]]}`: trx,
		`{"receiver":"","act_digest":"` + zeros +
			`","global_sequence":"4294967296","recv_sequence":1,"auth_sequence":[["alice",2]],"code_sequence":3,` +
			`"abi_sequence":4}`: types.ActionReceipt{
			GlobalSequence: 1 << 32, RecvSequence: 1,
			AuthSequence: []types.AuthSequence{{Account: types.N("alice"), Sequence: 2}}, CodeSequence: 3,
			ABISequence: 4},
		`{"account":"alice","delta":-5}`:                                 types.AccountDelta{Account: types.N("alice"), Delta: -5},
		`{"sender_trx_id":"` + zeros + `","sender_id":"5","sender":"a"}`: types.GenerationContext{SenderID: types.U128(5), Sender: types.N("a")},
		`{` + roots + `,"header_extensions":[]}`:                         header,
		`{` + roots + `,"new_producers":{"version":5,"producers":[{"producer_name":"bp","block_signing_key":"` +
			key(1).String() + `"}]},"header_extensions":[]}`: withSchedule,
		`{` + roots + `,"header_extensions":[],"producer_signature":"` + sig.String() +
			`"}`: block.SignedBlockHeader,
		`{` + roots + `,"header_extensions":[],"producer_signature":"` + sig.String() +
			`","transactions":[{"status":"executed","cpu_usage_us":0,"net_usage_words":0,"trx":[0,"` + zeros +
			`"]}],"block_extensions":[]}`: block,
		`{"version":2,"producers":[{"producer_name":"bp","authority":[0,` + keys +
			`]}]}`: types.ProducerSchedule{Version: 2, Producers: []types.ProducerAuthority{authority}},
	} {
		got := string(v.AppendJSON([]byte("x")))[1:]
		if got != want {
			t.Errorf("%T is printed as\n%s, want\n%s", v, got, want)
		}
		if !json.Valid([]byte(got)) {
			t.Errorf("%s is no JSON", got)
		}
	}
	wasm := string(types.DefaultWasmConfig().AppendJSON(nil))
	if !strings.HasPrefix(wasm, `{"max_mutable_global_bytes":1024,"max_table_elements":1024,`) ||
		!strings.HasSuffix(wasm, `"max_pages":528,"max_call_depth":251}`) {
		t.Errorf("wasm configuration %s", wasm)
	}
	if got := string(types.DefaultChainConfig().AppendJSON(nil)); !strings.HasSuffix(got,
		`"max_authority_depth":6,"max_action_return_value_size":256}`) {
		t.Errorf("configuration %s", got)
	}
	e := string(types.AppendException(nil, exception.New(exception.TxDuplicate, "said \"${s}\"", "s", "x")))
	if !json.Valid([]byte(e)) ||
		!strings.HasPrefix(e,
			`{"code":3040008,"name":"tx_duplicate","message":"Duplicate transaction",`+
				`"stack":[{"context":{"level":"error","file":"json_test.go","line":`) ||
		!strings.Contains(e, `,"method":"Test`) ||
		!strings.HasSuffix(e, `"format":"said \"${s}\"","data":{"s":"x"}}]}`) ||
		!strings.Contains(e, `,"hostname":"","thread_name":"nodeos","timestamp":"20`) {
		t.Errorf("exception %s", e)
	}
}

func TestHexOfOddLengthIsRefused(t *testing.T) {
	b, err := types.ParseHex("00fF")
	if err != nil || hex.EncodeToString(b) != "00ff" {
		t.Errorf("%x, %v", b, err)
	}
	_, err = types.ParseHex("0")
	checkError(t, err, exception.FCAssert, "str.size() % 2 == 0: the length of hex string should be even number")
	_, err = types.ParseHex("0x")
	checkError(t, err, exception.FCUnspecified, "Invalid hex character 'x'")
}
