#include "textflag.h"

// func prefetch(page unsafe.Pointer)
TEXT ·prefetch(SB), NOSPLIT, $0-8
	MOVQ page+0(FP), AX
	PREFETCHT0 (AX)
	PREFETCHT0 64(AX)
	PREFETCHT0 128(AX)
	PREFETCHT0 192(AX)
	RET

// func prefetchLine(at unsafe.Pointer)
TEXT ·prefetchLine(SB), NOSPLIT, $0-8
	MOVQ at+0(FP), AX
	PREFETCHT0 (AX)
	RET
