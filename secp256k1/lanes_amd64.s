#include "textflag.h"

// Arithmetic in eight lanes. A number has five limbs of 52 bits, the lowest first, each in a
// register of eight; VPMADD52LUQ and VPMADD52HUQ add the lower and the upper 52 bits of
// products of limbs. Numbers in memory, see [lanes], have limbs below 2^52, and a last one of
// at most 2^48 + 2^6: they may be above the prime, and are below 2^256 + 2^215.
//
// Z0 to Z4 and Z5 to Z9 are the limbs of factors. Z10 to Z14 are those of a result, not
// carried, and Z4 what a product has above them. Z28 to Z31 are constants. The others are
// columns of a product.

DATA limb<>+0(SB)/8, $0xffffffffffff // 48 bits
DATA limb<>+8(SB)/8, $0x1000003d1 // 2^256 modulo the prime
DATA limb<>+16(SB)/8, $0x1000003d10 // 2^260 modulo the prime
DATA limb<>+24(SB)/8, $0xfffffffffffff // 52 bits
GLOBL limb<>(SB), RODATA|NOPTR, $32

// Two, four and nine times the prime, each limb times as much: limb 0, limbs 1 to 3, limb 4.
// One, three and eight numbers can be subtracted from them without a limb below zero.
DATA twice<>+0(SB)/8, $0x1ffffdfffff85e
DATA twice<>+8(SB)/8, $0x1ffffffffffffe
DATA twice<>+16(SB)/8, $0x1fffffffffffe
GLOBL twice<>(SB), RODATA|NOPTR, $24
DATA fourfold<>+0(SB)/8, $0x3ffffbfffff0bc
DATA fourfold<>+8(SB)/8, $0x3ffffffffffffc
DATA fourfold<>+16(SB)/8, $0x3fffffffffffc
GLOBL fourfold<>(SB), RODATA|NOPTR, $24
DATA ninefold<>+0(SB)/8, $0x8ffff6ffffdda7
DATA ninefold<>+8(SB)/8, $0x8ffffffffffff7
DATA ninefold<>+16(SB)/8, $0x8fffffffffff7
GLOBL ninefold<>(SB), RODATA|NOPTR, $24

// The cube root of one that the endomorphism multiplies by.
DATA beta<>+0(SB)/8, $0x96c28719501ee
DATA beta<>+8(SB)/8, $0x7512f58995c13
DATA beta<>+16(SB)/8, $0xc3434e99cf049
DATA beta<>+24(SB)/8, $0x7106e64479ea
DATA beta<>+32(SB)/8, $0x7ae96a2b657c
GLOBL beta<>(SB), RODATA|NOPTR, $40

#define CONSTANTS \
	VPBROADCASTQ limb<>+0(SB), Z28; \
	VPBROADCASTQ limb<>+8(SB), Z29; \
	VPBROADCASTQ limb<>+16(SB), Z30; \
	VPBROADCASTQ limb<>+24(SB), Z31

#define LOAD(at, r, z0, z1, z2, z3, z4) \
	VMOVDQU64 (at+0)(r), z0; \
	VMOVDQU64 (at+64)(r), z1; \
	VMOVDQU64 (at+128)(r), z2; \
	VMOVDQU64 (at+192)(r), z3; \
	VMOVDQU64 (at+256)(r), z4

#define STORE(at, r) \
	VMOVDQU64 Z10, (at+0)(r); \
	VMOVDQU64 Z11, (at+64)(r); \
	VMOVDQU64 Z12, (at+128)(r); \
	VMOVDQU64 Z13, (at+192)(r); \
	VMOVDQU64 Z14, (at+256)(r)

// KEEP puts the number that is at a place into the lanes of K2.
#define KEEP(at, r) \
	VMOVDQU64 (at+0)(r), K2, Z10; \
	VMOVDQU64 (at+64)(r), K2, Z11; \
	VMOVDQU64 (at+128)(r), K2, Z12; \
	VMOVDQU64 (at+192)(r), K2, Z13; \
	VMOVDQU64 (at+256)(r), K2, Z14

// ROW adds the products of one limb to the columns of lower and of upper halves.
#define ROW(x, l0, l1, l2, l3, l4, h0, h1, h2, h3, h4) \
	VPMADD52LUQ Z5, x, l0; \
	VPMADD52HUQ Z5, x, h0; \
	VPMADD52LUQ Z6, x, l1; \
	VPMADD52HUQ Z6, x, h1; \
	VPMADD52LUQ Z7, x, l2; \
	VPMADD52HUQ Z7, x, h2; \
	VPMADD52LUQ Z8, x, l3; \
	VPMADD52HUQ Z8, x, h3; \
	VPMADD52LUQ Z9, x, l4; \
	VPMADD52HUQ Z9, x, h4

#define CLEAR9(a, b, c, d, e, f, g, h, i) \
	VPXORQ a, a, a; \
	VPXORQ b, b, b; \
	VPXORQ c, c, c; \
	VPXORQ d, d, d; \
	VPXORQ e, e, e; \
	VPXORQ f, f, f; \
	VPXORQ g, g, g; \
	VPXORQ h, h, h; \
	VPXORQ i, i, i

// FOLD makes ten columns, Z10 to Z18 below 2^56 and Z27 below 2^52, five and what is above:
// the upper five count for 2^260 modulo the prime in the lower, and what they have above 52
// bits for as much in the next one.
#define FOLD \
	VPSRLQ $52, Z15, Z0; \
	VPSRLQ $52, Z16, Z1; \
	VPSRLQ $52, Z17, Z2; \
	VPSRLQ $52, Z18, Z3; \
	VPXORQ Z4, Z4, Z4; \
	VPMADD52LUQ Z15, Z30, Z10; \
	VPMADD52LUQ Z16, Z30, Z11; \
	VPMADD52LUQ Z17, Z30, Z12; \
	VPMADD52LUQ Z18, Z30, Z13; \
	VPMADD52LUQ Z27, Z30, Z14; \
	VPMADD52HUQ Z27, Z30, Z4; \
	VPMADD52HUQ Z15, Z30, Z11; \
	VPMADD52HUQ Z16, Z30, Z12; \
	VPMADD52HUQ Z17, Z30, Z13; \
	VPMADD52HUQ Z18, Z30, Z14; \
	VPMADD52LUQ Z0, Z30, Z11; \
	VPMADD52LUQ Z1, Z30, Z12; \
	VPMADD52LUQ Z2, Z30, Z13; \
	VPMADD52LUQ Z3, Z30, Z14

// MULTIPLY makes the product of Z0 to Z4 and Z5 to Z9.
#define MULTIPLY \
	CLEAR9(Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18); \
	CLEAR9(Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27); \
	ROW(Z0, Z10, Z11, Z12, Z13, Z14, Z19, Z20, Z21, Z22, Z23); \
	ROW(Z1, Z11, Z12, Z13, Z14, Z15, Z20, Z21, Z22, Z23, Z24); \
	ROW(Z2, Z12, Z13, Z14, Z15, Z16, Z21, Z22, Z23, Z24, Z25); \
	ROW(Z3, Z13, Z14, Z15, Z16, Z17, Z22, Z23, Z24, Z25, Z26); \
	ROW(Z4, Z14, Z15, Z16, Z17, Z18, Z23, Z24, Z25, Z26, Z27); \
	VPADDQ Z23, Z15, Z15; \
	VPADDQ Z24, Z16, Z16; \
	VPADDQ Z25, Z17, Z17; \
	VPADDQ Z26, Z18, Z18; \
	VPADDQ Z19, Z11, Z11; \
	VPADDQ Z20, Z12, Z12; \
	VPADDQ Z21, Z13, Z13; \
	VPADDQ Z22, Z14, Z14; \
	FOLD

#define PRODUCT(x, rx, y, ry) \
	LOAD(x, rx, Z0, Z1, Z2, Z3, Z4); \
	LOAD(y, ry, Z5, Z6, Z7, Z8, Z9); \
	MULTIPLY

// SQUARED makes the square of Z0 to Z4: products of two limbs once, doubled, and the squares
// of limbs.
#define SQUARED \
	CLEAR9(Z10, Z11, Z12, Z13, Z14, Z15, Z16, Z17, Z18); \
	CLEAR9(Z19, Z20, Z21, Z22, Z23, Z24, Z25, Z26, Z27); \
	VPMADD52LUQ Z0, Z1, Z11; \
	VPMADD52HUQ Z0, Z1, Z20; \
	VPMADD52LUQ Z0, Z2, Z12; \
	VPMADD52HUQ Z0, Z2, Z21; \
	VPMADD52LUQ Z0, Z3, Z13; \
	VPMADD52HUQ Z0, Z3, Z22; \
	VPMADD52LUQ Z0, Z4, Z14; \
	VPMADD52HUQ Z0, Z4, Z23; \
	VPMADD52LUQ Z1, Z4, Z15; \
	VPMADD52HUQ Z1, Z4, Z24; \
	VPMADD52LUQ Z2, Z4, Z16; \
	VPMADD52HUQ Z2, Z4, Z25; \
	VPMADD52LUQ Z3, Z4, Z17; \
	VPMADD52HUQ Z3, Z4, Z18; \
	VPMADD52LUQ Z1, Z2, Z13; \
	VPMADD52HUQ Z1, Z2, Z22; \
	VPMADD52LUQ Z1, Z3, Z14; \
	VPMADD52HUQ Z1, Z3, Z23; \
	VPMADD52LUQ Z2, Z3, Z15; \
	VPMADD52HUQ Z2, Z3, Z24; \
	VPADDQ Z11, Z11, Z11; \
	VPADDQ Z20, Z12, Z12; \
	VPADDQ Z21, Z13, Z13; \
	VPADDQ Z22, Z14, Z14; \
	VPADDQ Z23, Z15, Z15; \
	VPADDQ Z24, Z16, Z16; \
	VPADDQ Z25, Z17, Z17; \
	VPADDQ Z18, Z18, Z18; \
	VPADDQ Z12, Z12, Z12; \
	VPADDQ Z13, Z13, Z13; \
	VPADDQ Z14, Z14, Z14; \
	VPADDQ Z15, Z15, Z15; \
	VPADDQ Z16, Z16, Z16; \
	VPADDQ Z17, Z17, Z17; \
	VPMADD52LUQ Z0, Z0, Z10; \
	VPMADD52HUQ Z0, Z0, Z11; \
	VPMADD52LUQ Z1, Z1, Z12; \
	VPMADD52HUQ Z1, Z1, Z13; \
	VPMADD52LUQ Z2, Z2, Z14; \
	VPMADD52HUQ Z2, Z2, Z15; \
	VPMADD52LUQ Z3, Z3, Z16; \
	VPMADD52HUQ Z3, Z3, Z17; \
	VPMADD52LUQ Z4, Z4, Z18; \
	VPMADD52HUQ Z4, Z4, Z27; \
	FOLD

#define SQUARE(x, rx) \
	LOAD(x, rx, Z0, Z1, Z2, Z3, Z4); \
	SQUARED

// CARRY makes all limbs but the last shorter than 52 bits.
#define CARRY \
	VPSRLQ $52, Z10, Z5; \
	VPANDQ Z31, Z10, Z10; \
	VPADDQ Z5, Z11, Z11; \
	VPSRLQ $52, Z11, Z6; \
	VPANDQ Z31, Z11, Z11; \
	VPADDQ Z6, Z12, Z12; \
	VPSRLQ $52, Z12, Z7; \
	VPANDQ Z31, Z12, Z12; \
	VPADDQ Z7, Z13, Z13; \
	VPSRLQ $52, Z13, Z8; \
	VPANDQ Z31, Z13, Z13; \
	VPADDQ Z8, Z14, Z14

// REDUCE makes a number of the limbs of a product: what is above 256 bits counts for
// 2^256 modulo the prime.
#define REDUCE \
	VPSRLQ $48, Z14, Z5; \
	VPSLLQ $4, Z4, Z4; \
	VPADDQ Z5, Z4, Z4; \
	VPANDQ Z28, Z14, Z14; \
	VPMADD52LUQ Z4, Z29, Z10; \
	VPMADD52HUQ Z4, Z29, Z11; \
	CARRY

// SETTLE is REDUCE for a sum, which has nothing above Z14.
#define SETTLE \
	VPSRLQ $48, Z14, Z4; \
	VPANDQ Z28, Z14, Z14; \
	VPMADD52LUQ Z4, Z29, Z10; \
	CARRY

// MULTIPLE adds a multiple of the prime.
#define MULTIPLE(p) \
	VPADDQ.BCST p<>+0(SB), Z10, Z10; \
	VPADDQ.BCST p<>+8(SB), Z11, Z11; \
	VPADDQ.BCST p<>+8(SB), Z12, Z12; \
	VPADDQ.BCST p<>+8(SB), Z13, Z13; \
	VPADDQ.BCST p<>+16(SB), Z14, Z14

#define SUBTRACT(x, rx) \
	VPSUBQ (x+0)(rx), Z10, Z10; \
	VPSUBQ (x+64)(rx), Z11, Z11; \
	VPSUBQ (x+128)(rx), Z12, Z12; \
	VPSUBQ (x+192)(rx), Z13, Z13; \
	VPSUBQ (x+256)(rx), Z14, Z14

// SUBTRACTTIMES subtracts a number times 2^n.
#define SUBTRACTTIMES(n, x, rx) \
	VPSLLQ $n, (x+0)(rx), Z5; \
	VPSLLQ $n, (x+64)(rx), Z6; \
	VPSLLQ $n, (x+128)(rx), Z7; \
	VPSLLQ $n, (x+192)(rx), Z8; \
	VPSLLQ $n, (x+256)(rx), Z9; \
	VPSUBQ Z5, Z10, Z10; \
	VPSUBQ Z6, Z11, Z11; \
	VPSUBQ Z7, Z12, Z12; \
	VPSUBQ Z8, Z13, Z13; \
	VPSUBQ Z9, Z14, Z14

// FROM makes Z10 to Z14 what they leave of Z0 to Z4.
#define FROM \
	VPSUBQ Z10, Z0, Z10; \
	VPSUBQ Z11, Z1, Z11; \
	VPSUBQ Z12, Z2, Z12; \
	VPSUBQ Z13, Z3, Z13; \
	VPSUBQ Z14, Z4, Z14

#define DOUBLE(l) \
	VPADDQ l, l, l

#define TRIPLE(l, t) \
	VPADDQ l, l, t; \
	VPADDQ l, t, l

// func multiplyLanes(z, x, y *lanes)
TEXT ·multiplyLanes(SB), NOSPLIT, $0-24
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	CONSTANTS
	PRODUCT(0, SI, 0, DX)
	REDUCE
	STORE(0, DI)
	VZEROUPPER
	RET

// func squareLanes(z, x *lanes, n int)
TEXT ·squareLanes(SB), NOSPLIT, $0-24
	MOVQ z+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	CONSTANTS
	LOAD(0, SI, Z10, Z11, Z12, Z13, Z14)

again:
	VMOVDQA64 Z10, Z0
	VMOVDQA64 Z11, Z1
	VMOVDQA64 Z12, Z2
	VMOVDQA64 Z13, Z3
	VMOVDQA64 Z14, Z4
	SQUARED
	REDUCE
	DECQ CX
	JNZ again
	STORE(0, DI)
	VZEROUPPER
	RET

// The numbers of a sum, by their places in it.
#define X 0
#define Y 320
#define Z 640
#define H 960
#define A 1280
#define B 1600
#define C 1920
#define D 2240
#define E 2560

// func doubleLanes(s *sum, n int)
//
// With B = Y^2, T = X B, E = 3 X^2: X becomes E^2 - 8 T, Y becomes E (4 T - X) - 8 B^2 and Z
// becomes 2 Y Z. T is in A and 4 T - X in D.
TEXT ·doubleLanes(SB), NOSPLIT, $0-16
	MOVQ s+0(FP), DI
	MOVQ n+8(FP), CX
	CONSTANTS

again:
	SQUARE(Y, DI)
	REDUCE
	STORE(B, DI)
	SQUARE(X, DI)
	TRIPLE(Z4, Z5)
	TRIPLE(Z10, Z6)
	TRIPLE(Z11, Z7)
	TRIPLE(Z12, Z8)
	TRIPLE(Z13, Z9)
	TRIPLE(Z14, Z5)
	REDUCE
	STORE(E, DI)
	PRODUCT(X, DI, B, DI)
	REDUCE
	STORE(A, DI)
	PRODUCT(Y, DI, Z, DI)
	DOUBLE(Z4)
	DOUBLE(Z10)
	DOUBLE(Z11)
	DOUBLE(Z12)
	DOUBLE(Z13)
	DOUBLE(Z14)
	REDUCE
	STORE(Z, DI)
	SQUARE(E, DI)
	MULTIPLE(ninefold)
	SUBTRACTTIMES(3, A, DI)
	REDUCE
	STORE(X, DI)
	VPSLLQ $2, (A+0)(DI), Z0
	VPSLLQ $2, (A+64)(DI), Z1
	VPSLLQ $2, (A+128)(DI), Z2
	VPSLLQ $2, (A+192)(DI), Z3
	VPSLLQ $2, (A+256)(DI), Z4
	FROM
	MULTIPLE(twice)
	SETTLE
	STORE(D, DI)
	SQUARE(B, DI)
	REDUCE
	STORE(C, DI)
	PRODUCT(E, DI, D, DI)
	MULTIPLE(ninefold)
	SUBTRACTTIMES(3, C, DI)
	REDUCE
	STORE(Y, DI)
	DECQ CX
	JNZ again
	VZEROUPPER
	RET

// WORDS loads two words of each of eight points, the one at the place in bytes and the next.
#define WORDS(at, w0, w1) \
	VMOVDQU at(R8), X0; \
	VINSERTI32X4 $1, at(R10), Z0, Z0; \
	VINSERTI32X4 $2, at(R12), Z0, Z0; \
	VINSERTI32X4 $3, at(R14), Z0, Z0; \
	VMOVDQU at(R9), X1; \
	VINSERTI32X4 $1, at(R11), Z1, Z1; \
	VINSERTI32X4 $2, at(R13), Z1, Z1; \
	VINSERTI32X4 $3, at(R15), Z1, Z1; \
	VPUNPCKLQDQ Z1, Z0, w0; \
	VPUNPCKHQDQ Z1, Z0, w1

// MIDDLE makes a limb of the upper bits of one word and the lower of the next.
#define MIDDLE(down, w0, up, w1, l) \
	VPSRLQ $down, w0, Z5; \
	VPSLLQ $up, w1, Z6; \
	VPORQ Z5, Z6, l; \
	VPANDQ Z31, l, l

// LIMBS makes limbs, Z10 to Z14, of words, Z16 to Z19.
#define LIMBS \
	VPANDQ Z31, Z16, Z10; \
	MIDDLE(52, Z16, 12, Z17, Z11); \
	MIDDLE(40, Z17, 24, Z18, Z12); \
	MIDDLE(28, Z18, 36, Z19, Z13); \
	VPSRLQ $16, Z19, Z14

// func addLanes(s *sum, base *point, c *choice)
//
// With (x, y) the point that is added, H = x Z^2 - X, R = y Z^3 - Y, V = X H^2: X becomes
// R^2 - H^3 - 2 V, Y becomes R (V - X) - Y H^3 and Z becomes Z H.
TEXT ·addLanes(SB), NOSPLIT, $0-24
	MOVQ s+0(FP), DI
	MOVQ base+8(FP), SI
	MOVQ c+16(FP), DX
	MOVLQZX 0(DX), R8
	MOVLQZX 4(DX), R9
	MOVLQZX 8(DX), R10
	MOVLQZX 12(DX), R11
	MOVLQZX 16(DX), R12
	MOVLQZX 20(DX), R13
	MOVLQZX 24(DX), R14
	MOVLQZX 28(DX), R15
	ADDQ SI, R8
	ADDQ SI, R9
	ADDQ SI, R10
	ADDQ SI, R11
	ADDQ SI, R12
	ADDQ SI, R13
	ADDQ SI, R14
	ADDQ SI, R15
	KMOVW 32(DX), K1
	KMOVW 34(DX), K2
	MOVWLZX 36(DX), AX
	CONSTANTS
	WORDS(32, Z16, Z17)
	WORDS(48, Z18, Z19)
	LIMBS
	STORE(B, DI)
	WORDS(0, Z16, Z17)
	WORDS(16, Z18, Z19)
	LIMBS
	TESTL AX, AX
	JZ mapped
	VMOVDQA64 Z10, Z0
	VMOVDQA64 Z11, Z1
	VMOVDQA64 Z12, Z2
	VMOVDQA64 Z13, Z3
	VMOVDQA64 Z14, Z4
	VPBROADCASTQ beta<>+0(SB), Z5
	VPBROADCASTQ beta<>+8(SB), Z6
	VPBROADCASTQ beta<>+16(SB), Z7
	VPBROADCASTQ beta<>+24(SB), Z8
	VPBROADCASTQ beta<>+32(SB), Z9
	MULTIPLY
	REDUCE

mapped:
	STORE(A, DI)
	SQUARE(Z, DI)
	REDUCE
	STORE(C, DI)
	PRODUCT(A, DI, C, DI)
	MULTIPLE(twice)
	SUBTRACT(X, DI)
	REDUCE
	STORE(H, DI)
	PRODUCT(Z, DI, C, DI)
	REDUCE
	STORE(D, DI)
	SQUARE(H, DI)
	REDUCE
	STORE(C, DI)
	PRODUCT(B, DI, D, DI)
	REDUCE

	// y Z^3, or the opposite in the lanes of K1, less Y.
	VPBROADCASTQ twice<>+0(SB), Z5
	VPBROADCASTQ twice<>+8(SB), Z6
	VPBROADCASTQ twice<>+16(SB), Z7
	VPSUBQ Z10, Z5, K1, Z10
	VPSUBQ Z11, Z6, K1, Z11
	VPSUBQ Z12, Z6, K1, Z12
	VPSUBQ Z13, Z6, K1, Z13
	VPSUBQ Z14, Z7, K1, Z14
	MULTIPLE(twice)
	SUBTRACT(Y, DI)
	SETTLE
	STORE(E, DI)
	PRODUCT(X, DI, C, DI)
	REDUCE
	STORE(D, DI)
	PRODUCT(H, DI, C, DI)
	REDUCE
	STORE(C, DI)
	PRODUCT(Z, DI, H, DI)
	REDUCE
	KEEP(Z, DI)
	STORE(Z, DI)
	PRODUCT(Y, DI, C, DI)
	REDUCE
	STORE(B, DI)
	SQUARE(E, DI)
	MULTIPLE(fourfold)
	SUBTRACT(C, DI)
	SUBTRACTTIMES(1, D, DI)
	REDUCE
	KEEP(X, DI)
	STORE(X, DI)
	LOAD(D, DI, Z0, Z1, Z2, Z3, Z4)
	FROM
	MULTIPLE(twice)
	SETTLE
	STORE(A, DI)
	PRODUCT(E, DI, A, DI)
	MULTIPLE(twice)
	SUBTRACT(B, DI)
	REDUCE
	KEEP(Y, DI)
	STORE(Y, DI)
	VZEROUPPER
	RET

// JOINED makes a word of the upper bits of one limb and the lower of the next.
#define JOINED(down, l0, up, l1, w) \
	VPSRLQ $down, l0, Z5; \
	VPSLLQ $up, l1, Z6; \
	VPORQ Z5, Z6, w

// PACKED makes words of limbs, which are below 2^256 when they are settled again.
#define PACKED(w0, w1, w2, w3) \
	SETTLE; \
	VPSLLQ $52, Z11, Z5; \
	VPORQ Z5, Z10, w0; \
	JOINED(12, Z11, 40, Z12, w1); \
	JOINED(24, Z12, 28, Z13, w2); \
	JOINED(36, Z13, 16, Z14, w3)

// SPREAD stores two words of each of eight points.
#define SPREAD(at, w0, w1) \
	VPUNPCKLQDQ w1, w0, Z0; \
	VPUNPCKHQDQ w1, w0, Z1; \
	VMOVDQU X0, (at+0)(DI); \
	VMOVDQU X1, (at+64)(DI); \
	VEXTRACTI32X4 $1, Z0, (at+128)(DI); \
	VEXTRACTI32X4 $1, Z1, (at+192)(DI); \
	VEXTRACTI32X4 $2, Z0, (at+256)(DI); \
	VEXTRACTI32X4 $2, Z1, (at+320)(DI); \
	VEXTRACTI32X4 $3, Z0, (at+384)(DI); \
	VEXTRACTI32X4 $3, Z1, (at+448)(DI)

// func packLanes(to *[8]point, x, y *lanes)
TEXT ·packLanes(SB), NOSPLIT, $0-24
	MOVQ to+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), DX
	CONSTANTS
	LOAD(0, SI, Z10, Z11, Z12, Z13, Z14)
	PACKED(Z16, Z17, Z18, Z19)
	LOAD(0, DX, Z10, Z11, Z12, Z13, Z14)
	PACKED(Z20, Z21, Z22, Z23)
	SPREAD(0, Z16, Z17)
	SPREAD(16, Z18, Z19)
	SPREAD(32, Z20, Z21)
	SPREAD(48, Z22, Z23)
	VZEROUPPER
	RET
