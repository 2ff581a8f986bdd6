package abi_test

import (
	"bytes"
	"strings"
	"testing"

	"tarn/antelope/abi"
	"tarn/antelope/exception"
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// resolver resolves one account.
func resolver(account string, c *abi.Codec) func(types.Name) *abi.Codec {
	return func(n types.Name) *abi.Codec {
		if n == types.N(account) {
			return c
		}
		return nil
	}
}

func TestActionTracesShowWhatTheABIKnows(t *testing.T) {
	c := mustCompile(t, `{"version":"eosio::abi/1.2","action_results":[{"name":"acttest","result_type":"string"}]}`)
	trace := &types.ActionTrace{
		CreatorOrdinal:                   1,
		ClosestUnnotifiedAncestorOrdinal: 2,
		Receiver:                         types.N("test"),
		Action: types.Action{
			Account:       types.N("acctest"),
			Name:          types.N("acttest"),
			Authorization: []types.PermissionLevel{{Actor: types.N("acctest"), Permission: types.N("active")}},
			Data:          serial.AppendString(nil, "test_data"),
		},
		Elapsed:   3,
		Console:   "console line",
		BlockNum:  4,
		BlockTime: 5,
	}
	const want = `{"action_ordinal":0,"creator_action_ordinal":1,"closest_unnotified_ancestor_action_ordinal":2,` +
		`"receipt":null,` +
		`"receiver":"test","act":{"account":"acctest","name":"acttest","authorization":[{"actor":"acctest",` +
		`"permission":"active"}],` +
		`"data":"09746573745f64617461","hex_data":"09746573745f64617461"},"context_free":false,"elapsed":3,` +
		`"console":"console line",` +
		`"trx_id":"0000000000000000000000000000000000000000000000000000000000000000","block_num":4,` +
		`"block_time":"2000-01-01T00:00:02.500",` +
		`"producer_block_id":null,"account_ram_deltas":[],"except":null,"error_code":null,"return_value_hex_data":`
	for _, v := range []struct{ value, more string }{
		{"\x02hi", `"026869","return_value_data":"hi"}`},
		{"\x05hi", `"056869"}`},
		{"", `""}`},
	} {
		trace.ReturnValue = []byte(v.value)
		contents := &abi.Contents{Resolve: resolver("acctest", c)}
		if got := string(contents.AppendActionTrace(nil, trace)); got != want+v.more {
			t.Errorf("got  %s\nwant %s", got, want+v.more)
		}
	}
	code := uint64(1 << 63)
	trace.Except = exception.New(exception.EosioAssertMessage, "assertion failure with message: ${s}", "s", "no")
	trace.ErrorCode = &code
	got := string((&abi.Contents{}).AppendActionTrace(nil, trace))
	for _, part := range []string{
		`"except":{"code":3050003,"name":"eosio_assert_message_exception","message":"eosio_assert_message assertion ` +
			`failure","stack":[{`,
		`"format":"assertion failure with message: ${s}","data":{"s":"no"}}]}`, `"error_code":"9223372036854775808"`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s\nis not in %s", part, got)
		}
	}
}

const transferABI = `{"version":"eosio::abi/1.0","structs":[{"name":"transfer","base":"","fields":[
	{"name":"from","type":"name"},{"name":"to","type":"name"},{"name":"quantity","type":"asset"},{"name":"memo","type":"string"}]},
	{"name":"none","base":"","fields":[]}],
	"actions":[{"name":"transfer","type":"transfer"},{"name":"none","type":"none"}]}`

const transferJSON = `{"expiration":"2021-12-20T15:30:00","ref_block_num":1,"ref_block_prefix":2,` +
	`"max_net_usage_words":15,` +
	`"max_cpu_usage_ms":43,"delay_sec":0,"context_free_actions":[],"actions":[{"account":"eosio.token",` +
	`"name":"transfer",` +
	`"authorization":[{"actor":"alice","permission":"active"}],` +
	`"data":{"from":"alice","to":"bob","quantity":"1.0000 SYS","memo":"m"},` +
	`"hex_data":"0000000000855c340000000000000e3d102700000000000004535953000000` + `00016d"}]}`

func TestTransactionsComeBackFromTheirJSON(t *testing.T) {
	c := &abi.Contents{Resolve: resolver("eosio.token", mustCompile(t, transferABI))}
	trx, err := c.Transaction(mustParse(t, transferJSON))
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.AppendTransaction(nil, trx)
	if err != nil || string(got) != transferJSON {
		t.Errorf("got  %s, %v\nwant %s", got, err, transferJSON)
	}
	var sig types.Signature
	for _, compression := range []types.Compression{types.CompressionNone, types.CompressionZlib} {
		p, err := types.Pack(trx, []types.Signature{sig}, [][]byte{{1}, nil}, compression)
		if err != nil {
			t.Fatal(err)
		}
		json, err := c.AppendPackedTransaction(nil, p)
		if err != nil {
			t.Fatal(err)
		}
		packed := string(p.AppendJSON(nil))
		unpacked := `{"signatures":["` + sig.String() + `"],"compression":"` + compression.String() +
			`","context_free_data":["01",""],"transaction":` + transferJSON + `}`
		for _, form := range []string{string(json), packed, unpacked} {
			back, err := c.PackedTransaction(mustParse(t, form))
			if err != nil {
				t.Errorf("%s: %v", form, err)
				continue
			}
			if !bytes.Equal(back.Append(nil), p.Append(nil)) {
				t.Errorf("%s came back as %x, want %x", form, back.Append(nil), p.Append(nil))
			}
		}
	}
}

func TestActionsTakeDataInEveryForm(t *testing.T) {
	c := &abi.Contents{Resolve: resolver("eosio.token", mustCompile(t, transferABI))}
	action := func(members string) string { return `{"account":"eosio.token","name":"transfer"` + members + `}` }
	for _, v := range []struct{ json, data string }{
		{action(`,"data":"00ff"`), "\x00\xff"},
		{action(`,"data":""`), ""},
		{action(`,"hex_data":"01"`), "\x01"},
		{action(`,"data":5,"hex_data":"01"`), "\x01"},
		{`{"account":"other","name":"transfer","data":{"from":"a"},"hex_data":"02"}`, "\x02"},
		{`{"account":"eosio.token","name":"none","data":{}}`, ""},
	} {
		a, err := c.Action(mustParse(t, v.json))
		if err != nil || string(a.Data) != v.data {
			t.Errorf("%s: %x, %v", v.json, a.Data, err)
		}
	}
	for _, v := range []struct {
		json    string
		kind    *exception.Kind
		message string
	}{
		{`{"name":"transfer"}`, exception.PackedTransactionType, "Missing account"},
		{`{"account":"a"}`, exception.PackedTransactionType, "Missing name"},
		{action(""), exception.PackedTransactionType, "Failed to deserialize data for eosio.token:transfer"},
		{action(`,"data":{"from":"alice"}`), exception.Pack, "Missing field 'to' in input object while processing struct 'transfer'"},
		{action(`,"data":"0"`), exception.FCAssert, "str.size() % 2 == 0: the length of hex string should be even number"},
		{`5`, exception.FCBadCast, "Invalid cast from type 'uint64_type' to Object"},
	} {
		_, err := c.Action(mustParse(t, v.json))
		checkError(t, err, v.kind, v.message)
	}
	for json, message := range map[string]string{
		`{"compression":0}`:                      "Missing signatures",
		`{"signatures":[]}`:                      "Missing compression",
		`{"signatures":[],"compression":"none"}`: "Missing transaction",
	} {
		_, err := c.PackedTransaction(mustParse(t, json))
		checkError(t, err, exception.PackedTransactionType, message)
	}
	for _, compression := range []string{`"lz4"`, `2`, `"2"`} {
		_, err := c.PackedTransaction(mustParse(t, `{"signatures":[],"compression":`+compression+`}`))
		checkError(t, err, exception.FCBadCast, "invalid index")
	}
}

func TestBlocksShowWhatTheirExtensionsSay(t *testing.T) {
	schedule := types.ProducerSchedule{Version: 7}
	features := types.AppendChecksums(nil, []types.Checksum256{{1}})
	sig := types.Signature{Type: types.R1}
	b := &types.SignedBlock{Transactions: []types.TransactionReceipt{{ID: types.Checksum256{2}}}}
	b.SignedBlockHeader.Extensions = types.Extensions{
		{Type: types.HeaderProtocolFeatures, Data: features},
		{Type: types.HeaderScheduleChange, Data: schedule.Append(nil)},
	}
	b.Extensions = types.Extensions{{Type: types.BlockMoreSignatures,
		Data: types.AppendSignatures(nil, []types.Signature{sig})}}
	got, err := (&abi.Contents{}).AppendBlock(nil, b)
	if err != nil {
		t.Fatal(err)
	}
	const zeros = "00000000000000000000000000000000000000000000000000000000000000"
	want := `{"timestamp":"2000-01-01T00:00:00.000","producer":"","confirmed":0,"previous":"` + zeros +
		`00","transaction_mroot":"` + zeros +
		`00","action_mroot":"` + zeros +
		`00","schedule_version":0,"new_producers":null,"new_protocol_features":[{"feature_digest":"01` + zeros +
		`"}],"new_producer_schedule":{"version":7,"producers":[]},"producer_signature":"` + types.Signature{}.String() +
		`","transactions":[{"status":"executed","cpu_usage_us":0,"net_usage_words":0,"trx":"02` + zeros +
		`"}],"additional_signatures":{"signatures":["` + sig.String() + `"]}}`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	b.Extensions = append(b.Extensions, b.Extensions[0])
	_, err = (&abi.Contents{}).AppendBlock(nil, b)
	checkError(t, err, exception.InvalidBlockHeaderExtension, "Block extension with id type 2 is not allowed to repeat")
}

// Names that come again and again take no more room than there is for all: what is beyond is hex.
func TestContentsGrowNoMoreThanTheyMay(t *testing.T) {
	name := strings.Repeat("n", 1<<20)
	c := &abi.Contents{Resolve: resolver("long", mustCompile(t, `{"version":"eosio::abi/1.1",
		"structs":[{"name":"s","base":"","fields":[{"name":"`+name+`","type":"uint8"}]}],
		"actions":[{"name":"a","type":"s","ricardian_contract":""}]}`))}
	a := types.Action{Account: types.N("long"), Name: types.N("a"), Data: []byte{1}}
	var named, hex int
	for range 100 {
		if out := c.AppendAction(nil, &a); len(out) > len(name) {
			named++
		} else if hex++; !bytes.Contains(out, []byte(`"data":"01","hex_data":"01"`)) {
			t.Fatalf("%s", out)
		}
	}
	if named < 10 || named > 20 || hex == 0 {
		t.Errorf("%d with names, %d without", named, hex)
	}
}
