package lint

import (
	"go/ast"
	"testing"
)

// manyMethods is how many methods a type may have.
const manyMethods = 40

// largeTypes have more, and how many: a number may only fall, and no type may come to them.
var largeTypes = map[string]int{
	"antelope/blocklog: Log":           44,
	"antelope/chain: Chain":            67,
	"antelope/consensus: ForkDatabase": 41,
	"antelope/deepmind: Logger":        42,
	"antelope/node: Node":              58,
	"antelope/p2p: Network":            56,
	"antelope/p2p: conn":               42,
	"antelope/producer: Producer":      69,
	"antelope/ship/shiplog: Log":       47,
	"antelope/snapshot: document":      41,
	"antelope/tracelog/slicefile: Log": 45,
	"antelope/wasm: rewriter":          49,
	"opera/chain: Chain":               50,
	"opera/emitter: Emitter":           45,
	"opera/llr: Ledger":                42,
	"opera/node: invocation":           42,
	"opera/difftest: Work":             49,
	"opera/p2p: Node":                  41,
	"opera/state: Block":               52,
	"store/page: Engine":               76,
}

// A type with more methods than a reader keeps in mind is often two things.
func TestTypesHaveFewMethods(t *testing.T) {
	methods := map[string]int{} // "folder: type"
	functions(goFiles(t), func(f file, _ string, d *ast.FuncDecl) {
		if d.Recv != nil {
			methods[f.dir()+": "+receiver(d)]++
		}
	})
	for name, n := range methods {
		switch most := largeTypes[name]; {
		case n > max(most, manyMethods):
			t.Errorf("%s has %d methods, more than %d: is it one thing?", name, n, max(most, manyMethods))
		case n < most:
			t.Errorf("%s has %d methods: let its bound, %d, fall", name, n, most)
		}
	}
	for name, most := range largeTypes {
		if methods[name] == 0 || most <= manyMethods {
			t.Errorf("%s, with a bound of %d, has no place in the list", name, most)
		}
	}
}
