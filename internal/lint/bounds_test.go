package lint

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"testing"
)

// boundedRooms keep what strangers may cost in one file, limits.go.
var boundedRooms = []string{"antelope/p2p", "antelope/rpc", "antelope/ship", "opera/p2p",
	"opera/p2p/fsnap", "opera/rpc"}

// mostPlain is the largest number that may stand in other files of those rooms, and mostNamed the
// largest that a constant may have there.
const mostPlain, mostNamed = 99, 9

// Numbers of other files of those rooms that bound nothing, each with its reason. One that is no
// longer needed is an error.
var unbounding = map[string]string{ // "path: function, constant or variable"
	"antelope/ship/ship.go: adoptedBytes":                       "about what a block takes beside its entries",
	"antelope/p2p/address.go: unitFactor":                       "units of rates in addresses",
	"antelope/p2p/transit.go: Block.frame":                      "room for a header, so that a slice grows once",
	"antelope/p2p/clock.go: clock.handleTime":                   "nanoseconds are shown as microseconds",
	"antelope/p2p/clock.go: nanoseconds":                        "tells units of time apart by their size",
	"antelope/p2p/link.go: link.flush":                          "bytes a second become a time",
	"antelope/p2p/log.go: bucket.spend":                         "units a second become a time",
	"antelope/p2p/log.go: printable":                            "ranges of characters",
	"antelope/p2p/network.go: Network.listen":                   "a rate is shown in megabytes",
	"antelope/p2p/options.go: DefaultOptions":                   "nodeos' options, which an operator sets",
	"antelope/p2p/p2p.go: protocolGossip":                       "the protocol's versions",
	"antelope/p2p/p2p.go: protocolNack":                         "the protocol's versions",
	"antelope/p2p/p2p.go: versionBase":                          "the protocol's versions",
	"antelope/p2p/p2p.go: versionRange":                         "the protocol's versions",
	"antelope/p2p/relay.go: Network.broadcastTransaction":       "room for signatures, so that a slice grows once",
	"antelope/p2p/sync.go: conn.extend":                         "bytes a second become a time",
	"antelope/p2p/transaction.go: peek":                         "the length of a signature",
	"antelope/p2p/transaction.go: trxShards":                    "locks that an index is shared out to",
	"antelope/ship/ration.go: ration.read":                      "where a slice begins to grow",
	"antelope/ship/recent.go: recorded.size":                    "what a block takes beside its contents, about",
	"antelope/p2p/log.go: agentShown":                           "how lines look",
	"antelope/rpc/call.go: query.timeLimit":                     "milliseconds become a time",
	"antelope/rpc/tablekey.go: keyType.highest":                 "the bits of an infinite number",
	"antelope/rpc/tablekey.go: keyType.lowest":                  "the bits of an infinite number",
	"antelope/rpc/tablekey.go: parse256":                        "the bits of a key",
	"antelope/rpc/operator.go: operator.getUnapplied":           "nodeos' rows where a client asks for no number",
	"antelope/rpc/transaction.go: transactions.getRequiredKeys": "seconds become microseconds",
	"opera/p2p/intake.go: budget.usedPercent":                   "percent",
	"opera/p2p/message.go: withoutChunks":                       "the protocol's versions",
	"opera/p2p/message.go: newest":                              "the protocol's versions",
	"opera/p2p/node.go: recipients":                             "go-opera's weight of a size",
	"opera/p2p/queue.go: passing":                               "the order of two kinds of messages",
	"opera/rpc/arguments.go: Service.checkFee":                  "the parts of an FTM",
	"opera/rpc/block.go: block.headerSize":                      "go-opera's size of a header",
	"opera/rpc/block.go: block.weight":                          "what a block takes beside its contents, about",
	"opera/rpc/block.go: gasLimit":                              "what blocks say of theirs",
	"opera/rpc/block.go: genesisTime":                           "the time of a block, go-opera's",
	"opera/rpc/codes.go: newCodes":                              "what a code takes beside its bytes, about",
	"opera/rpc/debug.go: debugBlocks.SeedHash":                  "Ethereum's blocks of a seed",
	"opera/rpc/envelope.go: scanner.text":                       "ranges of characters",
	"opera/rpc/envelope.go: scanner.value":                      "ranges of characters",
	"opera/rpc/eth.go: Service.feeHistory":                      "percent, and go-opera's share of gas that is used",
	"opera/rpc/eth.go: checkPercentiles":                        "percent",
	"opera/rpc/eth.go: syncedAge":                               "go-opera's age of the head of a node that syncs",
	"opera/rpc/hub.go: logWeight":                               "what a log takes beside its data, about",
	"opera/rpc/logs.go: Criteria.weight":                        "what criteria take, about",
	"opera/rpc/logs.go: fewBlocks":                              "which of two ways to search is quicker",
	"opera/rpc/personal.go: personal.UnlockAccount":             "seconds become a time; go-opera's where none are asked for",
	"opera/rpc/plain.go: zipFrom":                               "what is worth compressing",
	"opera/rpc/profile.go: pause":                               "seconds become a time",
	"opera/rpc/quick.go: appendError":                           "a code of errors",
	"opera/rpc/quick.go: countAnswer":                           "go-ethereum's sample of a metric",
	"opera/rpc/elsewhere.go: noMethod":                          "a code of errors",
	"opera/rpc/elsewhere.go: overLimit":                         "a code of errors",
	"opera/rpc/server.go: Service.Listen":                       "modes of files",
	"opera/rpc/server.go: crossing":                             "go-opera's seconds for browsers to remember",
	"opera/rpc/tracebound.go: frame":                            "what a call takes in an answer beside its data, about",
	"opera/rpc/tracefilter.go: flatTraces.Filter":               "stands for no bound where a client asks for none",
	"opera/rpc/txpool.go: decodeTx":                             "the form of a transaction",
	"opera/rpc/websocket.go: parseError.ErrorCode":              "a code of errors",
	"opera/rpc/websocket.go: socket.read":                       "bytes a second become a time",
}

// A bound on strangers is a field of Limits, or a constant beside it: a reader
// finds all of them in one file, a test sets them, and they are checked together. So no other file
// of the room has a time, a size that is shifted, or a large number.
func TestBoundsOnStrangersStandInLimits(t *testing.T) {
	allowed := except(unbounding)
	for _, f := range goFiles(t) {
		if f.isTest() || !slices.Contains(boundedRooms, f.dir()) || path.Base(f.path) == "limits.go" {
			continue
		}
		numbers(f, func(name, what string, at token.Pos) {
			if !allowed.has(f.path + ": " + name) {
				t.Errorf("%s:%d: %s has %s, which belongs to limits.go, or on the list of what is no bound",
					f.path, f.line(at), name, what)
			}
		})
	}
	allowed.unused(t)
}

// numbers calls fn for each number of a file that could be a bound, with the function, constant
// or variable that it is in.
func numbers(f file, fn func(name, what string, at token.Pos)) {
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d) + "." + name
			}
			look(d, mostPlain, func(what string, at token.Pos) { fn(name, what, at) })
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if v, ok := s.(*ast.ValueSpec); ok {
					look(v, most(d.Tok), func(what string, at token.Pos) { fn(v.Names[0].Name, what, at) })
				}
			}
		}
	}
}

// most is the largest number that a declaration of a kind may have.
func most(kind token.Token) uint64 {
	if kind == token.CONST {
		return mostNamed
	}
	return mostPlain
}

// look calls fn for each number below a node that could be a bound: units of time, shifts of
// literals, and literals above most.
func look(n ast.Node, most uint64, fn func(what string, at token.Pos)) {
	ast.Inspect(n, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			if n.Tok != token.CONST {
				return true
			}
			for _, s := range n.Specs {
				look(s, mostNamed, fn)
			}
			return false
		case *ast.SelectorExpr:
			units := []string{"Nanosecond", "Microsecond", "Millisecond", "Second", "Minute", "Hour"}
			if p, ok := n.X.(*ast.Ident); ok && p.Name == "time" && slices.Contains(units, n.Sel.Name) {
				fn("time."+n.Sel.Name, n.Pos())
			}
		case *ast.BinaryExpr:
			if n.Op == token.SHL && literal(n.X) && literal(n.Y) {
				fn("a shifted number", n.Pos())
			}
		case *ast.BasicLit:
			if n.Kind == token.FLOAT {
				fn(n.Value, n.Pos())
			}
			if v, err := strconv.ParseUint(n.Value, 0, 64); n.Kind == token.INT && (err != nil || v > most) {
				fn(n.Value, n.Pos())
			}
		}
		return true
	})
}

func literal(x ast.Expr) bool {
	l, ok := x.(*ast.BasicLit)
	return ok && l.Kind == token.INT
}
