package softfloat

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// gccProgram answers each line of two quadruples with what the C compiler's library
// makes of them.
const gccProgram = `
#include <stdio.h>
#include <string.h>
typedef unsigned long long u;
static __float128 make(u hi, u lo) { u w[2] = {lo, hi}; __float128 r; memcpy(&r, w, 16); return r; }
static void put(__float128 v) { u w[2]; memcpy(w, &v, 16); printf("%016llx%016llx ", w[1], w[0]); }
int main(void) {
	u ah, al, bh, bl;
	while (scanf("%llx %llx %llx %llx", &ah, &al, &bh, &bl) == 4) {
		__float128 a = make(ah, al), b = make(bh, bl);
		put(a + b); put(a - b); put(a * b); put(a / b);
		double d = a; float f = a; u x; unsigned y;
		memcpy(&x, &d, 8); memcpy(&y, &f, 4);
		printf("%016llx %08x %.18Le\n", x, y, (long double)a);
	}
	return 0;
}
`

func TestQuadruplesAreThoseOfTheCCompiler(t *testing.T) {
	gcc, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("there is no gcc to compare with")
	}
	if runtime.GOARCH != "amd64" {
		t.Skip("long double is another format here")
	}
	dir := t.TempDir()
	source, program := filepath.Join(dir, "quad.c"), filepath.Join(dir, "quad")
	if err := os.WriteFile(source, []byte(gccProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(gcc, "-O1", "-o", program, source).CombinedOutput(); err != nil {
		t.Skipf("gcc does not make a program: %v\n%s", err, out)
	}
	r := random(t)
	type pair struct{ a, b F128 }
	var pairs []pair
	var in strings.Builder
	for len(pairs) < 20_000 {
		a, b := randomF128(r), randomF128(r)
		if r.IntN(3) == 0 {
			b = near(r, a)
		}
		if a.IsNaN() || b.IsNaN() { // NaNs have other rules there
			continue
		}
		pairs = append(pairs, pair{a, b})
		fmt.Fprintf(&in, "%x %x %x %x\n", a.Hi, a.Lo, b.Hi, b.Lo)
	}
	cmd := exec.Command(program)
	cmd.Stdin = strings.NewReader(in.String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(out), "\n")
	for i, p := range pairs {
		var got strings.Builder
		for _, v := range []F128{p.a.Add(p.b), p.a.Sub(p.b), p.a.Mul(p.b), p.a.Div(p.b)} {
			fmt.Fprintf(&got, "%016x%016x ", v.Hi, v.Lo)
		}
		fmt.Fprintf(&got, "%016x %08x %s", uint64(p.a.F64()), uint32(p.a.F32()), p.a.AppendScientific(nil))
		if got.String() != lines[i] {
			t.Fatalf("%016x and %016x:\ngot  %s\nwant %s", p.a, p.b, got.String(), lines[i])
		}
	}
}
