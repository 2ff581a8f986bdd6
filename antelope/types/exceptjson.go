package types

import (
	"fmt"
	"reflect"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/variant"
)

// AppendException appends an exception as nodeos shows it: its stack is all that was said of it,
// with the places in our source.
func AppendException(b []byte, e *exception.Error) []byte {
	o := jsonObject(variant.AppendInt64(openObject(b).key("code"), e.Kind.Code))
	o = variant.AppendString(o.key("name"), e.Kind.Name)
	o = variant.AppendString(o.key("message"), e.Kind.What)
	b = append(o.key("stack"), '[')
	for i, s := range e.Stack() {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendStackEntry(b, s, e.Thread())
	}
	return append(b, `]}`...)
}

func appendStackEntry(b []byte, e *exception.Entry, thread string) []byte {
	file, line, function := e.Place()
	o := openObject(openObject(b).key("context"))
	o = variant.AppendString(o.key("level"), string(e.Level))
	o = variant.AppendString(o.key("file"), file)
	o = strconv.AppendInt(o.key("line"), int64(line), 10)
	o = variant.AppendString(o.key("method"), function)
	o = variant.AppendString(o.key("hostname"), "")
	o = variant.AppendString(o.key("thread_name"), thread)
	at := TimePoint(0)
	if !e.Time().IsZero() {
		at = TimePoint(e.Time().UnixMicro())
	}
	b = o.json("timestamp", at).close()
	o = variant.AppendString(append(b, `,"format":`...), e.Format)
	o = append(o, `,"data":{`...)
	e.Values(func(key string, value any) { o = appendValue(variant.AppendKey(o, key), value) })
	return append(o, `}}`...)
}

// appendValue appends what an exception says of one of its keys.
func appendValue(b []byte, value any) []byte {
	switch v := value.(type) {
	case string:
		return variant.AppendString(b, v)
	case exception.JSON:
		return v.AppendJSON(b)
	case bool:
		return variant.AppendBool(b, v)
	}
	switch r := reflect.ValueOf(value); {
	case r.CanInt():
		return variant.AppendInt64(b, r.Int())
	case r.CanUint():
		return variant.AppendUint64(b, r.Uint())
	}
	return variant.AppendString(b, fmt.Sprint(value))
}
