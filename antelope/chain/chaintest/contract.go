package chaintest

import (
	"tarn/antelope/serial"
	"tarn/antelope/types"
)

// SystemCode is a contract for the system account whose actions hand their data to
// host functions: setprods (set_proposed_producers), defer (send_deferred: sender id,
// payer, transaction), put (db_store_i64: primary key, value) and those in preactivate
// (preactivate_feature), which the chain allows once PREACTIVATE_FEATURE is active. All
// other actions do nothing.
func SystemCode(preactivate ...string) []byte { return systemCode(preactivate, "") }

// FinalityCode is SystemCode with the action preactivate, and one more, finalize
// (set_finalizers), which the chain allows once SAVANNA is active.
func FinalityCode() []byte { return systemCode([]string{"preactivate"}, "finalize") }

func systemCode(preactivate []string, finalize string) []byte {
	const i32, i64 = 0x7f, 0x7e
	type function struct {
		name            string
		params, results []byte
	}
	imports := []function{
		{"action_data_size", nil, []byte{i32}},
		{"read_action_data", []byte{i32, i32}, []byte{i32}},
		{"set_proposed_producers", []byte{i32, i32}, []byte{i64}},
		{"send_deferred", []byte{i32, i64, i32, i32, i32}, nil},
		{"db_store_i64", []byte{i64, i64, i64, i64, i32, i32}, []byte{i32}},
	}
	if len(preactivate) > 0 {
		imports = append(imports, function{"preactivate_feature", []byte{i32}, nil})
	}
	if finalize != "" {
		imports = append(imports, function{"set_finalizers", []byte{i64, i32, i32}, nil})
	}
	out := []byte{0, 'a', 's', 'm', 1, 0, 0, 0}
	section := func(id byte, count int, body []byte) {
		out = serial.AppendBytes(append(out, id), append(serial.AppendCount(nil, count), body...))
	}
	apply := byte(len(imports))
	var kinds, names []byte
	for i, f := range imports {
		kinds = serial.AppendBytes(serial.AppendBytes(append(kinds, 0x60), f.params), f.results)
		names = serial.AppendString(serial.AppendString(names, "env"), f.name)
		names = append(names, 0, byte(i))
	}
	kinds = serial.AppendBytes(serial.AppendBytes(append(kinds, 0x60), []byte{i64, i64, i64}), nil)
	section(1, len(imports)+1, kinds)
	section(2, len(imports), names)
	section(3, 1, []byte{apply})
	section(5, 1, []byte{0, 1})
	section(7, 1, append(serial.AppendString(nil, "apply"), 0, apply))
	// The data are read to 16, since nothing may be at 0; their size is local 3.
	body := []byte{1, 1, i32, 0x10, 0, 0x22, 3, 0x1a, 0x41, 16, 0x20, 3, 0x10, 1, 0x1a}
	on := func(action string, code ...byte) {
		body = append(appendConst64(append(body, 0x20, 2), int64(types.N(action))), 0x51, 0x04, 0x40)
		body = append(append(body, code...), 0x0b)
	}
	on("setprods", 0x41, 16, 0x20, 3, 0x10, 2, 0x1a)
	// send_deferred(16, load64(32), 40, size-24, 0)
	on("defer", 0x41, 16, 0x41, 32, 0x29, 3, 0, 0x41, 40, 0x20, 3, 0x41, 24, 0x6b, 0x41, 0, 0x10, 3)
	// db_store_i64(1, 2, receiver, load64(16), 24, size-8)
	on("put", 0x42, 1, 0x42, 2, 0x20, 0, 0x41, 16, 0x29, 3, 0, 0x41, 24, 0x20, 3, 0x41, 8, 0x6b, 0x10, 4, 0x1a)
	for _, action := range preactivate {
		on(action, 0x41, 16, 0x10, 5)
	}
	if finalize != "" {
		on(finalize, 0x42, 0, 0x41, 16, 0x20, 3, 0x10, 6) // set_finalizers(0, 16, size)
	}
	section(10, 1, serial.AppendBytes(nil, append(body, 0x0b)))
	return out
}

// appendConst64 appends i64.const.
func appendConst64(b []byte, v int64) []byte {
	b = append(b, 0x42)
	for {
		low := byte(v & 0x7f)
		v >>= 7
		if v == 0 && low&0x40 == 0 || v == -1 && low&0x40 != 0 {
			return append(b, low)
		}
		b = append(b, low|0x80)
	}
}
