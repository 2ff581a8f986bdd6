package wire

import (
	_ "embed"
	"strings"
)

// Version is whose messages a server and a client exchange. Spring has all of Leap's, and more.
type Version uint8

// Versions of the protocol: those of nodeos in Leap 5 and in Spring 1.2.
const (
	Leap Version = iota
	Spring
)

// ABI is the first frame that a client gets, a text: it says what the others are. It is nodeos'
// own, byte by byte.
func (v Version) ABI() []byte {
	if v == Leap {
		return leapABI
	}
	return springABI()
}

// leapABI is Leap's; see abi.json.license.
//
//go:embed abi.json
var leapABI []byte

// structure is a type of the ABI: its name, after which other type it stands, which type it
// extends, and its fields, each a name and a type.
type structure struct {
	name, after, base string
	fields            []string
}

// extend returns the fields of a type of Leap's ABI, with more of them.
func extend(fields []string, more ...string) []string {
	return append(fields[:len(fields):len(fields)], more...)
}

// springStructures are the types that Spring's ABI has and Leap's has not, in the order in which
// they stand.
func springStructures() []structure {
	status := []string{
		"head block_position", "last_irreversible block_position", "trace_begin_block uint32", "trace_end_block uint32",
		"chain_state_begin_block uint32", "chain_state_end_block uint32", "chain_id checksum256",
	}
	request := []string{
		"start_block_num uint32", "end_block_num uint32", "max_messages_in_flight uint32",
		"have_positions block_position[]",
		"irreversible_only bool", "fetch_block bool", "fetch_traces bool", "fetch_deltas bool",
	}
	result := []string{
		"head block_position", "last_irreversible block_position", "this_block block_position?",
		"prev_block block_position?",
		"block bytes?", "traces bytes?", "deltas bytes?",
	}
	authority := []string{"description string", "weight uint64"}
	return []structure{
		{name: "get_status_request_v1", after: "get_status_request_v0"},
		{name: "get_status_result_v1", after: "get_status_result_v0",
			fields: extend(status, "finality_data_begin_block uint32", "finality_data_end_block uint32")},
		{name: "get_blocks_request_v1", after: "get_blocks_request_v0",
			fields: extend(request, "fetch_finality_data bool")},
		{name: "get_blocks_result_v1", after: "get_blocks_result_v0", fields: extend(result, "finality_data bytes?")},
		{name: "finalizer_authority", fields: extend(authority, "public_key bytes")},
		{name: "finalizer_authority_with_string_key", fields: extend(authority, "public_key string")},
		{name: "finalizer_policy_with_string_key", fields: []string{"generation uint32", "threshold uint64",
			"finalizers finalizer_authority_with_string_key[]"}},
		{name: finalityData, fields: []string{
			"major_version uint32", "minor_version uint32", "active_finalizer_policy_generation uint32",
			"action_mroot checksum256",
			"reversible_blocks_mroot checksum256", "latest_qc_claim_block_num uint32",
			"latest_qc_claim_finality_digest checksum256",
			"latest_qc_claim_timestamp block_timestamp_type", "base_digest checksum256",
			"pending_finalizer_policy finalizer_policy_with_string_key?",
			"last_pending_finalizer_policy_generation uint32",
		}},
		{name: "protocol_feature_activation_extension", fields: []string{"protocol_features checksum256[]"}},
		{name: "producer_schedule_change_extension", base: "producer_authority_schedule"},
		{name: "qc_claim", fields: []string{"block_num uint32", "is_strong_qc bool"}},
		{name: "insert_finalizer_policy_index_pair", fields: []string{"index uint16", "value finalizer_authority"}},
		{name: "finalizer_policy_diff", fields: []string{
			"generation uint32", "threshold uint64", "remove_indexes uint16[]",
			"insert_indexes insert_finalizer_policy_index_pair[]",
		}},
		{name: "insert_proposer_policy_index_pair", fields: []string{"index uint16", "value producer_authority"}},
		{name: "proposer_policy_diff", fields: []string{
			"version uint32", "proposal_time block_timestamp_type", "remove_indexes uint16[]",
			"insert_indexes insert_proposer_policy_index_pair[]",
		}},
		{name: "finality_extension", fields: []string{
			"qc_claim qc_claim", "new_finalizer_policy_diff finalizer_policy_diff?",
			"new_proposer_policy_diff proposer_policy_diff?",
		}},
	}
}

// springABI is Leap's ABI with the types that Spring has added, written in the form of Leap's file.
func springABI() []byte {
	text := string(leapABI)
	insert := func(at int, s string) { text = text[:at] + s + text[at:] }
	const between = "\n        },"
	for _, x := range springStructures() {
		if x.after == "" { // the last ones stand where the list ends
			insert(strings.Index(text, "\n        }\n    ],"), between+x.text())
			continue
		}
		at := strings.Index(text, `"name": "`+x.after+`"`)
		insert(at+strings.Index(text[at:], between), between+x.text())
	}
	variant := func(last string, more ...string) {
		at := strings.Index(text, `"`+last+`"] }`) + len(last) + len(`""`)
		insert(at, `, "`+strings.Join(more, `", "`)+`"`)
	}
	variant("get_blocks_ack_request_v0", "get_blocks_request_v1", "get_status_request_v1")
	variant("get_blocks_result_v0", "get_blocks_result_v1", "get_status_result_v1")
	const last = `"types": ["block_signing_authority_v0"] }`
	insert(strings.Index(text, last)+len(last), ",\n"+
		`        { "name": "block_header_extension", "types": ["protocol_feature_activation_extension", "producer_schedule_change_extension", "finality_extension"] }`)
	return []byte(text)
}

// text is a type as Leap's file has it, without its end.
func (x *structure) text() string {
	var b strings.Builder
	b.WriteString("\n        {\n            \"name\": \"" + x.name + `", `)
	if x.base != "" {
		b.WriteString(`"base": "` + x.base + `", `)
	}
	b.WriteString(`"fields": [`)
	for i, f := range x.fields {
		if i > 0 {
			b.WriteString(",")
		}
		name, typ, _ := strings.Cut(f, " ")
		b.WriteString("\n                { \"name\": \"" + name + `", "type": "` + typ + `" }`)
	}
	if len(x.fields) > 0 {
		b.WriteString("\n            ")
	}
	b.WriteString("]")
	return b.String()
}
