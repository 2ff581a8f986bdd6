package contracts_test

import (
	"bytes"
	"flag"
	"os"
	"regexp"
	"strconv"
	"testing"

	"tarn/antelope/types"
	"tarn/contracts"
	"tarn/contracts/wat"
)

var write = flag.Bool("write", false, "write the modules that the sources give")

var all = map[string]contracts.Contract{
	"token": contracts.Token(), "boot": contracts.Boot(), "bios": contracts.Bios(),
	"finalizers": contracts.Finalizers(),
}

// A module that is not its source's would hide what it does. After a change:
//
//	go test ./contracts -run Modules -write
func TestModulesAreWhatTheirSourcesGive(t *testing.T) {
	for name, c := range all {
		source, err := os.ReadFile(name + "/" + name + ".wat")
		if err != nil {
			t.Fatal(err)
		}
		code, err := wat.Assemble(string(source))
		if err != nil {
			t.Fatalf("%s.wat: %v", name, err)
		}
		if *write {
			if err := os.WriteFile(name+"/"+name+".wasm", code, 0o644); err != nil {
				t.Fatal(err)
			}
		} else if !bytes.Equal(code, c.Code) {
			t.Errorf("%s.wasm is not what %s.wat gives; run this test with -write", name, name)
		}
	}
}

func TestNamesInSourcesHaveTheirValues(t *testing.T) {
	global := regexp.MustCompile(`\(global \$([a-z1-5.]+) i64 \(i64\.const (0x[0-9a-f]+)\)\)`)
	for name := range all {
		source, err := os.ReadFile(name + "/" + name + ".wat")
		if err != nil {
			t.Fatal(err)
		}
		found := global.FindAllStringSubmatch(string(source), -1)
		if len(found) == 0 {
			t.Errorf("%s.wat has no names", name)
		}
		for _, m := range found {
			if v, err := strconv.ParseUint(m[2], 0, 64); err != nil || types.Name(v) != types.N(m[1]) {
				t.Errorf("%s.wat: $%s is %s, want %#x", name, m[1], m[2], uint64(types.N(m[1])))
			}
		}
	}
}
