package types

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/serial"
)

// The clock of blocks (Leap: config.hpp).
const (
	BlockIntervalMS     = 500
	BlockTimestampEpoch = 946684800000 // ms since 1970: 2000-01-01
)

// AddSeconds returns t moved by s seconds.
func (t TimePoint) AddSeconds(s int64) TimePoint { return t + TimePoint(s*1_000_000) }

// Sec returns the second that t lies in, as nodeos narrows it.
func (t TimePoint) Sec() TimePointSec { return TimePointSec(uint32(int64(t) / 1_000_000)) }

// Time returns t as the library's time.
func (t TimePoint) Time() time.Time { return time.UnixMicro(int64(t)).UTC() }

// TimePoint returns the start of the second.
func (t TimePointSec) TimePoint() TimePoint { return TimePoint(int64(t) * 1_000_000) }

// TimePoint returns the time of the slot.
func (t BlockTimestamp) TimePoint() TimePoint {
	return TimePoint((int64(t)*BlockIntervalMS + BlockTimestampEpoch) * 1000)
}

// NewBlockTimestamp returns the slot that t lies in. Times before 2000 wrap, as
// they do in nodeos (Leap: block_timestamp.hpp).
func NewBlockTimestamp(t TimePoint) BlockTimestamp {
	ms := int64(t) / 1000
	return BlockTimestamp(uint32((uint64(ms) - BlockTimestampEpoch) / BlockIntervalMS))
}

const (
	layoutSeconds = "2006-01-02T15:04:05"
	layoutMillis  = "2006-01-02T15:04:05.000"
)

// AppendText appends the time to the millisecond, what is below cut off. A time
// before 1970 is written like a duration, as nodeos does (libfc: time.cpp).
func (t TimePoint) AppendText(b []byte) []byte {
	if t >= 0 {
		return t.Time().AppendFormat(b, layoutMillis)
	}
	us := -uint64(t)
	sec := us / 1_000_000
	b = fmt.Appendf(b, "-%02d%02d%02d", sec/3600, sec/60%60, sec%60)
	if frac := us % 1_000_000; frac != 0 {
		b = fmt.Appendf(b, ".%06d", frac)
	}
	return b
}

// String returns the time to the millisecond: 2020-01-01T00:00:00.000.
func (t TimePoint) String() string { return string(t.AppendText(nil)) }

// AppendText appends the time to the second.
func (t TimePointSec) AppendText(b []byte) []byte {
	return time.Unix(int64(t), 0).UTC().AppendFormat(b, layoutSeconds)
}

// String returns the time to the second: 2020-01-01T00:00:00.
func (t TimePointSec) String() string { return string(t.AppendText(nil)) }

// String returns the slot's time to the millisecond.
func (t BlockTimestamp) String() string { return t.TimePoint().String() }

// AppendText appends the slot's time to the millisecond.
func (t BlockTimestamp) AppendText(b []byte) []byte { return t.TimePoint().AppendText(b) }

// ParseTimePointSec reads 2020-01-01T00:00:00, which may have a fraction (it is
// dropped), or 20200101T000000.
func ParseTimePointSec(s string) (TimePointSec, error) {
	sec, ok := parseSeconds(s)
	if !ok {
		return 0, exception.New(exception.FCUnspecified, "unable to convert ISO-formatted string to fc::time_point_sec")
	}
	return TimePointSec(uint32(sec)), nil
}

// ParseTimePoint reads 2020-01-01T00:00:00, with or without a fraction. A
// fraction of more than three digits makes what it makes in nodeos, which takes
// the number that a 1 and the digits are, less 1000, for milliseconds (libfc:
// time_point::from_iso_string).
func ParseTimePoint(s string) (TimePoint, error) {
	sec, ok := parseSeconds(s)
	t := TimePointSec(uint32(sec)).TimePoint()
	if dot := strings.IndexByte(s, '.'); ok && dot >= 0 {
		digits := "1" + s[dot+1:]
		for len(digits) < 4 {
			digits += "0"
		}
		ms, err := strconv.ParseInt(digits, 10, 64)
		ok = err == nil
		t += TimePoint((ms - 1000) * 1000)
	}
	if !ok {
		return 0, exception.New(exception.FCUnspecified, "unable to convert ISO-formatted string to fc::time_point")
	}
	return t, nil
}

// ParseBlockTimestamp reads what [ParseTimePoint] reads.
func ParseBlockTimestamp(s string) (BlockTimestamp, error) {
	t, err := ParseTimePoint(s)
	return NewBlockTimestamp(t), err
}

// parseSeconds returns the seconds since 1970 of a date and time, of which the
// time may be less than complete.
func parseSeconds(s string) (int64, bool) {
	date, clock, _ := strings.Cut(s, "T")
	var layout string
	if len(s) >= 5 && s[4] == '-' {
		layout = "2006-1-2"
	} else {
		layout = "20060102"
	}
	day, err := time.Parse(layout, date)
	if err != nil {
		return 0, false
	}
	clock, fraction, _ := strings.Cut(clock, ".")
	if strings.Trim(fraction, "0123456789") != "" {
		return 0, false
	}
	var parts []string
	switch {
	case clock == "":
	case layout == "20060102":
		for ; len(clock) >= 2; clock = clock[2:] {
			parts = append(parts, clock[:2])
		}
		if clock != "" {
			return 0, false
		}
	default:
		parts = strings.Split(clock, ":")
	}
	if len(parts) > 3 {
		return 0, false
	}
	sec, unit := day.Unix(), int64(3600)
	for _, p := range parts {
		v, err := strconv.ParseUint(p, 10, 16)
		if err != nil {
			return 0, false
		}
		sec += int64(v) * unit
		unit /= 60
	}
	return sec, true
}

// Append appends the microseconds.
func (t TimePoint) Append(b []byte) []byte { return serial.AppendInt64(b, int64(t)) }

// Append appends the seconds.
func (t TimePointSec) Append(b []byte) []byte { return serial.AppendUint32(b, uint32(t)) }

// Append appends the slot.
func (t BlockTimestamp) Append(b []byte) []byte { return serial.AppendUint32(b, uint32(t)) }

// Read reads the microseconds.
func (t *TimePoint) Read(r *serial.Reader) { *t = TimePoint(r.Int64()) }

// Read reads the seconds.
func (t *TimePointSec) Read(r *serial.Reader) { *t = TimePointSec(r.Uint32()) }

// Read reads the slot.
func (t *BlockTimestamp) Read(r *serial.Reader) { *t = BlockTimestamp(r.Uint32()) }
