package rpc

import (
	"encoding/json"
	"slices"
	"strings"
)

// difference is an answer that may be another than go-opera's, and why.
type difference struct {
	why string
	is  func(method, body, ours, theirs string) bool
}

const missing = `"message":"missing value for required argument `

// differences are all that there are.
var differences = []difference{
	{
		"logs are in the order of their indexes, as Ethereum asks for; go-opera's are by the hashes of transactions " +
			"within a block",
		func(method, _, ours, theirs string) bool {
			return method == "eth_getLogs" && sortAnswer(ours) == sortAnswer(theirs)
		},
	},
	{
		"go-ethereum's package of today takes null for an argument that is missing",
		func(_, body, ours, _ string) bool {
			return strings.Contains(ours, missing) && strings.Contains(body, "null")
		},
	},
	{
		"errors of the library have another code today",
		func(_, _, ours, theirs string) bool {
			return strings.Replace(ours, "-32601", "-32000", 1) == theirs &&
				strings.Contains(ours, "notifications not supported")
		},
	},
	{
		"what follows a request makes it no request today",
		func(method, _, ours, theirs string) bool {
			return method == "" && strings.Contains(ours, "parse error")
		},
	},
	{
		"go-opera crashes",
		func(_, _, ours, theirs string) bool { return strings.Contains(theirs, "method handler crashed") },
	},
	{
		"an access list needs neither gas nor money, and is told of executions that fail",
		func(method, body, ours, theirs string) bool {
			failed := strings.Contains(theirs, `"error":{`) &&
				(!strings.Contains(body, `"gas":`) || strings.Contains(theirs, "insufficient funds"))
			return method == "eth_createAccessList" && failed && (strings.Contains(ours, `"result":{"accessList":`) ||
				strings.Contains(ours, "err: intrinsic gas too low"))
		},
	},
	{
		"what is no storage key is refused",
		func(_, _, ours, theirs string) bool {
			return strings.Contains(ours, `"message":"the storage key `) && strings.Contains(theirs, `"result":`)
		},
	},
	{
		"names of Go's types stand in the text",
		func(_, _, ours, theirs string) bool {
			return strings.ReplaceAll(strings.ReplaceAll(ours, "rpc.", ""), "BlockTag",
				"BlockNumber") == strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(theirs, "rpc.", ""),
				"filters.", ""), "ethapi.", "")
		},
	},
}

// sortAnswer is a list of results in an order that does not depend on theirs.
func sortAnswer(answer string) string {
	var a struct{ Result []json.RawMessage }
	if err := json.Unmarshal([]byte(answer[strings.Index(answer, " ")+1:]), &a); err != nil {
		return answer
	}
	slices.SortFunc(a.Result, func(x, y json.RawMessage) int { return strings.Compare(string(x), string(y)) })
	text, err := json.Marshal(a.Result)
	if err != nil {
		return answer
	}
	return string(text)
}

// diffAnswers returns why an answer may differ from go-opera's, empty if it may not.
func diffAnswers(body, ours, theirs string) string {
	var call struct{ Method string }
	if json.Unmarshal([]byte(body), &call) != nil {
		call.Method = ""
	}
	for _, d := range differences {
		if d.is(call.Method, body, ours, theirs) {
			return d.why
		}
	}
	return ""
}
