package rpc

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"unicode"

	"tarn/antelope/exception"
	"tarn/antelope/rpc/dialect"
	"tarn/antelope/variant"
)

// maxDetails is how many details an error has with verbose-http-errors (Leap:
// error_info::details_limit).
const maxDetails = 10

// maxText is how much of a message a client gets unless verbose-http-errors is set:
// what nodeos leaves of one with a single long argument, such as that of eosio_assert
// (libfc: format_string).
const maxText = 1020

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
		if !a.Verbose && len(d.text) > maxText {
			d.text = d.text[:maxText] + "..."
		}
		b = d.append(b)
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

// detail is one of a failure, with the place in our source that it comes from, where
// nodeos has one in its own; a failure that is no exception has none.
type detail struct {
	text, file, function string
	line                 int
}

// details are at most so many of a failure, in the order of nodeos' log: what each
// exception in it says, what caused it, and then what was said of it later.
func details(err error, most int) []detail {
	list := appendDetails(nil, err)
	return list[:min(len(list), most)]
}

func appendDetails(list []detail, err error) []detail {
	if err == nil {
		return list
	}
	var x *exception.Error
	if !errors.As(err, &x) {
		return append(list, detail{text: err.Error()})
	}
	d := detail{text: x.Message}
	d.file, d.line, d.function = x.Place()
	list = appendDetails(append(list, d), x.Cause)
	for _, n := range x.Notes() {
		d.text = n.Message()
		d.file, d.line, d.function = n.Place()
		list = append(list, d)
	}
	return list
}

func (d *detail) append(b []byte) []byte {
	b = variant.AppendString(append(b, `{"message":`...), clean(d.text))
	b = variant.AppendString(append(b, `,"file":`...), d.file)
	b = strconv.AppendInt(append(b, `,"line_number":`...), int64(d.line), 10)
	return append(variant.AppendString(append(b, `,"method":`...), d.function), '}')
}

// clean returns a message as nodeos formats it: control characters, but for tabs and
// ends of lines, are escaped before the text is, so that clients see the escapes (libfc:
// variant.cpp, clean_append).
func clean(text string) string {
	if !strings.ContainsFunc(text, isControl) {
		return text
	}
	var out strings.Builder
	for _, r := range strings.ToValidUTF8(text, "") {
		if isControl(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.String()
}

func isControl(r rune) bool {
	return unicode.IsControl(r) && r != '\t' && r != '\n' && r != '\r'
}

// Faults is the bodies of requests that reach no endpoint (Leap:
// beast_http_session.hpp).
func Faults(b []byte, r dialect.Refusal, n int64) (int, []byte) {
	code, message := http.StatusServiceUnavailable, "Busy"
	what := ""
	switch r {
	case dialect.BadTarget:
		code, message = http.StatusBadRequest, "Illegal request-target"
	case dialect.BadHost:
		code, message = http.StatusBadRequest, "Disallowed HTTP HOST header in the request"
	case dialect.NotFound:
		x := exception.New(exception.FCUnspecified, "Unknown Endpoint")
		b = appendFault(b, http.StatusNotFound, "Not Found", x.Kind.Code, x.Kind.Name, x.Kind.What)
		return http.StatusNotFound, append(details(x, 1)[0].append(b), `]}}`...)
	case dialect.TooManyBytes:
		what = "Too many bytes in flight: " + strconv.FormatInt(n, 10)
	case dialect.TooManyRequests:
		what = "Too many requests in flight: " + strconv.FormatInt(n, 10)
	}
	if code == http.StatusBadRequest {
		return code, append(appendFault(b, code, message, 0, "", ""), `]}}`...)
	}
	return code, append(appendFault(b, code, message, int64(code), "Busy", what), `]}}`...)
}
