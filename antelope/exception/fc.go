package exception

import "fmt"

// The exceptions of nodeos' foundation library, which clients see when a value
// does not parse or does not unpack (libfc: exception.hpp). They are outside the
// ranges of the chain's, and none derives from ChainException. The columns are those of kinds.go.
var (
	FCUnspecified  = &Kind{0, "exception", "unspecified", nil}
	FCUnhandled    = &Kind{1, "unhandled_exception", "Unhandled 3rd Party Exceptions", FCUnspecified}
	FCTimeout      = &Kind{2, "timeout_exception", "Timeout", FCUnspecified}
	FCParseError   = &Kind{4, "parse_error_exception", "Parse Error", FCUnspecified}
	FCInvalidArg   = &Kind{5, "invalid_arg_exception", "Invalid Argument", FCUnspecified}
	FCKeyNotFound  = &Kind{6, "key_not_found_exception", "Key Not Found", FCUnspecified}
	FCBadCast      = &Kind{7, "bad_cast_exception", "Bad Cast", FCUnspecified}
	FCOutOfRange   = &Kind{8, "out_of_range_exception", "Out of Range", FCUnspecified}
	FCAssert       = &Kind{10, "assert_exception", "Assert Exception", FCUnspecified}
	FCEndOfFile    = &Kind{11, "eof_exception", "End Of File", FCUnspecified}
	FCStd          = &Kind{13, "std_exception", "Std Exception", FCUnspecified}
	FCNullOptional = &Kind{16, "null_optional", "null optional", FCUnspecified}
	FCOverflow     = &Kind{19, "overflow_exception", "Integer Overflow", FCUnspecified}
	FCUnderflow    = &Kind{20, "underflow_exception", "Integer Underflow", FCUnspecified}
	FCDivideByZero = &Kind{21, "divide_by_zero_exception", "Integer Divide By Zero", FCUnspecified}
)

// The C++ types of exceptions that are not nodeos' own, as its compiler names them:
// those of chainbase.
const (
	LogicError = "N5boost10wrapexceptISt11logic_errorEE"
	OutOfRange = "N5boost10wrapexceptISt12out_of_rangeEE"
)

// Standard returns what nodeos makes of an exception of a C++ type: an [FCStd] that
// has the name of the type, and what the exception says (libfc: exception.hpp,
// std_exception_wrapper).
func Standard(name, format string, args ...any) *Error {
	what := fmt.Sprintf(format, args...)
	return &Error{
		Kind:  &Kind{Code: FCStd.Code, Name: name, What: what, Base: FCStd},
		first: entry(LevelWarn, "rethrow ${what}: ", []any{"what", what}),
	}
}
