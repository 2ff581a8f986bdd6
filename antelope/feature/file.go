package feature

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"

	"tarn/antelope/exception"
	"tarn/antelope/types"
	"tarn/antelope/variant"
)

// maxFile bounds the size of a file of the directory.
const maxFile = 1 << 20

// file is the content of f's file, to the byte what nodeos writes.
func (f *Feature) file() []byte {
	var b bytes.Buffer
	b.WriteString("{\n  \"protocol_feature_type\": \"builtin\",\n  \"dependencies\": [")
	for i := range f.Dependencies {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, "\n    \"%x\"", f.Dependencies[i][:])
	}
	if len(f.Dependencies) > 0 {
		b.WriteString("\n  ")
	}
	fmt.Fprintf(&b, "],\n  \"description_digest\": \"%x\",\n", f.Description[:])
	fmt.Fprintf(&b, "  \"subjective_restrictions\": {\n    \"earliest_allowed_activation_time\": \"%s\",\n",
		f.EarliestActivation)
	fmt.Fprintf(&b, "    \"preactivation_required\": %v,\n    \"enabled\": %v\n  },\n",
		f.PreactivationRequired, f.Enabled)
	fmt.Fprintf(&b, "  \"builtin_feature_codename\": \"%s\"\n}", f.Codename)
	return b.Bytes()
}

func readFile(path string) (Feature, error) {
	file, err := os.Open(path)
	if err != nil {
		return Feature{}, err
	}
	defer file.Close()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err != nil {
		return Feature{}, err
	}
	if len(b) > maxFile {
		return Feature{}, fmt.Errorf("file of more than %d bytes", maxFile)
	}
	return parseFile(b)
}

// parseFile reads what file writes. As in nodeos a field that is missing has the
// zero value, and fields that nobody knows are ignored.
func parseFile(b []byte) (Feature, error) {
	var v struct {
		Type         string   `json:"protocol_feature_type"`
		Dependencies []digest `json:"dependencies"`
		Description  digest   `json:"description_digest"`
		Codename     string   `json:"builtin_feature_codename"`
		Restrictions struct {
			Earliest      moment `json:"earliest_allowed_activation_time"`
			Preactivation truth  `json:"preactivation_required"`
			Enabled       truth  `json:"enabled"`
		} `json:"subjective_restrictions"`
	}
	if err := variant.Unmarshal(b, &v); err != nil {
		return Feature{}, err
	}
	if v.Type != "builtin" {
		return Feature{}, exception.New(exception.ProtocolFeatureValidation,
			"Unsupported protocol feature type: ${type}", "type", v.Type)
	}
	c, ok := parseCodename(v.Codename)
	if !ok {
		return Feature{}, exception.New(exception.ProtocolFeatureValidation,
			"Unsupported builtin protocol feature codename: ${codename}", "codename", v.Codename)
	}
	f := Feature{Codename: c, Description: types.Checksum256(v.Description), Restrictions: Restrictions{
		EarliestActivation:    types.TimePoint(v.Restrictions.Earliest),
		PreactivationRequired: bool(v.Restrictions.Preactivation),
		Enabled:               bool(v.Restrictions.Enabled),
	}}
	for _, d := range v.Dependencies {
		f.Dependencies = append(f.Dependencies, types.Checksum256(d))
	}
	slices.SortFunc(f.Dependencies, types.Checksum256.Compare)
	f.Dependencies = slices.Compact(f.Dependencies)
	return f, nil
}

// digest is a digest in hexadecimal; what is missing of it is zero, as in nodeos.
type digest types.Checksum256

// UnmarshalJSON implements json.Unmarshaler.
func (d *digest) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	c, err := types.ParseChecksum256(s)
	*d = digest(c)
	return err
}

// moment is a time in ISO 8601.
type moment types.TimePoint

// UnmarshalJSON implements json.Unmarshaler.
func (m *moment) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	t, err := types.ParseTimePoint(s)
	*m = moment(t)
	return err
}

// truth is what nodeos takes for a bool: one, a number, or the word.
type truth bool

// UnmarshalJSON implements json.Unmarshaler.
func (t *truth) UnmarshalJSON(b []byte) error {
	switch s := string(b); s {
	case "true", `"true"`:
		*t = true
	case "false", `"false"`, "null":
		*t = false
	default:
		n, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return fmt.Errorf("%s is no bool", s)
		}
		*t = n != 0
	}
	return nil
}
