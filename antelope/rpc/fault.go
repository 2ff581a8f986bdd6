package rpc

import (
	"net/http"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/variant"
)

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
	for i, d := range details(err, limit) {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendDetail(b, d, !a.Verbose)
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

// details are at most so many of a failure: what was said of the exception that it is, in the
// order of nodeos' log, or the text of what is none.
func details(err error, most int) []*exception.Entry {
	list := []*exception.Entry{exception.Unplaced(err.Error())}
	if x := exception.Of(err); x != nil {
		list = x.Stack()
	}
	return list[:min(len(list), most)]
}

// appendDetail appends one, with the place in our source that it comes from, where nodeos has one
// in its own. A text may be limited.
func appendDetail(b []byte, said *exception.Entry, limited bool) []byte {
	text := said.Text
	if limited {
		text = said.Limited
	}
	file, line, function := said.Place()
	b = variant.AppendString(append(b, `{"message":`...), text())
	b = variant.AppendString(append(b, `,"file":`...), file)
	b = strconv.AppendInt(append(b, `,"line_number":`...), int64(line), 10)
	return append(variant.AppendString(append(b, `,"method":`...), function), '}')
}

// Faults is the bodies of requests that reach no endpoint (Leap:
// beast_http_session.hpp).
func Faults(b []byte, r nodeoshttp.Refusal, n int64) (int, []byte) {
	code, message := http.StatusServiceUnavailable, "Busy"
	what := ""
	switch r {
	case nodeoshttp.BadTarget:
		code, message = http.StatusBadRequest, "Illegal request-target"
	case nodeoshttp.BadHost:
		code, message = http.StatusBadRequest, "Disallowed HTTP HOST header in the request"
	case nodeoshttp.NotFound:
		x := exception.New(exception.FCUnspecified, "Unknown Endpoint")
		b = appendFault(b, http.StatusNotFound, "Not Found", x.Kind.Code, x.Kind.Name, x.Kind.What)
		return http.StatusNotFound, append(appendDetail(b, x.Said(), true), `]}}`...)
	case nodeoshttp.TooManyBytes:
		what = "Too many bytes in flight: " + strconv.FormatInt(n, 10)
	case nodeoshttp.TooManyRequests:
		what = "Too many requests in flight: " + strconv.FormatInt(n, 10)
	}
	if code == http.StatusBadRequest {
		return code, append(appendFault(b, code, message, 0, "", ""), `]}}`...)
	}
	return code, append(appendFault(b, code, message, int64(code), "Busy", what), `]}}`...)
}
