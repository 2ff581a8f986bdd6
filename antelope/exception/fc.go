package exception

import "fmt"

// The exceptions of nodeos' foundation library, which clients see when a value
// does not parse or does not unpack (libfc: exception.hpp). They are outside the
// ranges of the chain's, and none derives from ChainException.
var (
	FCUnspecified = &Kind{Code: 0, Name: "exception", What: "unspecified"}
	FCUnhandled   = &Kind{Code: 1, Name: "unhandled_exception", What: "Unhandled 3rd Party Exceptions",
		Base: FCUnspecified}
	FCTimeout      = &Kind{Code: 2, Name: "timeout_exception", What: "Timeout", Base: FCUnspecified}
	FCParseError   = &Kind{Code: 4, Name: "parse_error_exception", What: "Parse Error", Base: FCUnspecified}
	FCInvalidArg   = &Kind{Code: 5, Name: "invalid_arg_exception", What: "Invalid Argument", Base: FCUnspecified}
	FCKeyNotFound  = &Kind{Code: 6, Name: "key_not_found_exception", What: "Key Not Found", Base: FCUnspecified}
	FCBadCast      = &Kind{Code: 7, Name: "bad_cast_exception", What: "Bad Cast", Base: FCUnspecified}
	FCOutOfRange   = &Kind{Code: 8, Name: "out_of_range_exception", What: "Out of Range", Base: FCUnspecified}
	FCAssert       = &Kind{Code: 10, Name: "assert_exception", What: "Assert Exception", Base: FCUnspecified}
	FCEndOfFile    = &Kind{Code: 11, Name: "eof_exception", What: "End Of File", Base: FCUnspecified}
	FCStd          = &Kind{Code: 13, Name: "std_exception", What: "Std Exception", Base: FCUnspecified}
	FCNullOptional = &Kind{Code: 16, Name: "null_optional", What: "null optional", Base: FCUnspecified}
	FCOverflow     = &Kind{Code: 19, Name: "overflow_exception", What: "Integer Overflow", Base: FCUnspecified}
	FCUnderflow    = &Kind{Code: 20, Name: "underflow_exception", What: "Integer Underflow", Base: FCUnspecified}
	FCDivideByZero = &Kind{Code: 21, Name: "divide_by_zero_exception", What: "Integer Divide By Zero", Base: FCUnspecified}
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
