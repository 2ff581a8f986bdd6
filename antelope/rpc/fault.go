package rpc

import (
	"errors"
	"net/http"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/variant"
	"tarn/serve"
)

// maxDetails is how many details an error has with verbose-http-errors (Leap:
// error_info::details_limit).
const maxDetails = 10

// status returns the status code and the message of a failure (Leap:
// http_plugin::handle_exception).
func status(e *exception.Error) (int, string) {
	if e == nil {
		return http.StatusInternalServerError, "Internal Service Error"
	}
	switch {
	case e.Kind.Is(exception.UnknownBlock):
		return http.StatusBadRequest, "Unknown Block"
	case e.Kind.Is(exception.InvalidHTTPRequest):
		return http.StatusBadRequest, "Invalid Request"
	case e.Kind.Is(exception.AccountQuery):
		return http.StatusBadRequest, "Account lookup"
	case e.Kind.Is(exception.UnsatisfiedAuthorization):
		return http.StatusUnauthorized, "UnAuthorized"
	case e.Kind.Is(exception.TxDuplicate):
		return http.StatusConflict, "Conflict"
	case e.Kind.Is(exception.FCEndOfFile):
		return http.StatusUnprocessableEntity, "Unprocessable Entity"
	}
	return http.StatusInternalServerError, "Internal Service Error"
}

// fault appends the body for a failure.
func (a *API) fault(b []byte, err error) (int, []byte) {
	e := exception.Of(err)
	code, message := status(e)
	kind := exception.FCUnspecified
	if e != nil {
		kind = e.Kind
	}
	b = appendFault(b, code, message, kind.Code, kind.Name, kind.What)
	limit := 1
	if a.Verbose {
		limit = maxDetails
	}
	for n := 0; err != nil && n < limit; n++ {
		text := err.Error()
		var x *exception.Error
		if errors.As(err, &x) {
			text, err = x.Message, x.Cause
		} else {
			err = nil
		}
		if n > 0 {
			b = append(b, ',')
		}
		b = appendDetail(b, text)
	}
	return code, append(b, `]}}`...)
}

// appendFault appends a body up to the list of details.
func appendFault(b []byte, status int, message string, code int64, name, what string) []byte {
	b = strconv.AppendInt(append(b, `{"code":`...), int64(status), 10)
	b = variant.AppendString(append(b, `,"message":`...), message)
	b = variant.AppendInt64(append(b, `,"error":{"code":`...), code)
	b = variant.AppendString(append(b, `,"name":`...), name)
	b = variant.AppendString(append(b, `,"what":`...), what)
	return append(b, `,"details":[`...)
}

// appendDetail appends a detail. The place in the source, which nodeos adds, would
// be of nodeos' source; it is empty.
func appendDetail(b []byte, text string) []byte {
	b = variant.AppendString(append(b, `{"message":`...), text)
	return append(b, `,"file":"","line_number":0,"method":""}`...)
}

// Faults is the bodies of requests that reach no endpoint (Leap:
// beast_http_session.hpp).
func Faults(b []byte, r serve.Refusal, n int64) (int, []byte) {
	code, message := http.StatusServiceUnavailable, "Busy"
	what := ""
	switch r {
	case serve.BadTarget:
		code, message = http.StatusBadRequest, "Illegal request-target"
	case serve.BadHost:
		code, message = http.StatusBadRequest, "Disallowed HTTP HOST header in the request"
	case serve.NotFound:
		kind := exception.FCUnspecified
		b = appendFault(b, http.StatusNotFound, "Not Found", kind.Code, kind.Name, kind.What)
		return http.StatusNotFound, append(appendDetail(b, "Unknown Endpoint"), `]}}`...)
	case serve.TooManyBytes:
		what = "Too many bytes in flight: " + strconv.FormatInt(n, 10)
	case serve.TooManyRequests:
		what = "Too many requests in flight: " + strconv.FormatInt(n, 10)
	}
	if code == http.StatusBadRequest {
		return code, append(appendFault(b, code, message, 0, "", ""), `]}}`...)
	}
	return code, append(appendFault(b, code, message, int64(code), "Busy", what), `]}}`...)
}
