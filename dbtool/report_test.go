package dbtool

import (
	"os"
	"reflect"
	"strings"
	"testing"
)

// Scripts read these fields: each must stand in the documentation.
func TestEveryJSONFieldIsDocumented(t *testing.T) {
	doc, err := os.ReadFile("../docs/db.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, report := range []any{Info{}, Age{}, Verification{}, Conversion{}, Checkpoint{}, Table{}, Damage{}} {
		typ := reflect.TypeOf(report)
		for i := range typ.NumField() {
			name := typ.Field(i).Tag.Get("json")
			if name == "" {
				t.Errorf("%s.%s has no name for scripts", typ.Name(), typ.Field(i).Name)
			} else if !strings.Contains(string(doc), "`"+name+"`") {
				t.Errorf("%s.%s: field %q is not in docs/db.md", typ.Name(), typ.Field(i).Name, name)
			}
		}
	}
}
