package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"syscall"
	"testing"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/rpc"
	"tarn/antelope/rpc/nodeoshttp"
	"tarn/antelope/state"
	"tarn/antelope/types"
	"tarn/store"
)

// failing refuses every transaction with err.
type failing struct {
	err     error
	refuses bool // all of them
}

func (f *failing) RefusesTransactions() bool { return f.refuses }

func (f *failing) Transaction(
	context.Context, *types.PackedTransaction, execute.TransactionOptions,
) (*types.TransactionTrace, error) {
	return nil, f.err
}

func (f *failing) Block(context.Context, *types.SignedBlock, types.Checksum256) error { return f.err }

// A state that cannot be read is the operator's emergency, whatever the call made of it,
// and no mistake of the client's, who does not learn where the files are.
func TestDamageIsToldTheOperatorAndNotTheClient(t *testing.T) {
	hurt := &store.CorruptError{Path: "/srv/secret/state.tarn", Page: 7, Detail: "checksum"}
	f := &failing{}
	n := newNode(t, nil)
	n.config.Transactions = f
	var told []error
	n.config.Damaged = func(err error) bool {
		if errors.Is(err, store.ErrCorrupt) {
			told = append(told, err)
			return true
		}
		return false
	}
	n.start(nodeoshttp.Options{})
	for i, err := range []error{
		fmt.Errorf("read a row: %w", hurt),
		exception.Wrap(exception.AccountQuery, hurt, "unable to retrieve account info (${what})", "what", hurt.Error()),
		exception.Wrap(exception.InvalidHTTPRequest, hurt, "Unable to parse valid input from POST body"),
	} {
		f.err = err
		status, answer := n.ask("/v1/chain/push_transaction", packedTrx)
		if status != 500 || strings.Contains(answer, "secret") ||
			!strings.Contains(answer, "stored data of this node is damaged") || len(told) != i+1 {
			t.Errorf("%v: %d %s, told %d times", err, status, answer, len(told))
		}
	}
}

// A full disk and a file that cannot be used are the operator's, too: the log has them,
// with the paths that clients do not get.
func TestFailuresOfFilesAreLoggedAndNotShown(t *testing.T) {
	f := &failing{}
	n := newNode(t, nil)
	var log bytes.Buffer
	n.config.Log = slog.New(slog.NewTextHandler(&log, nil))
	n.config.Transactions = f
	n.start(nodeoshttp.Options{})
	for _, c := range []struct {
		err  error
		want string
	}{
		{fmt.Errorf("write: %w", &os.PathError{Op: "write", Path: "/srv/secret/.incomplete-1", Err: syscall.ENOSPC}),
			"a disk of the node is full"},
		{exception.Wrap(exception.SnapshotFinalization,
			&os.LinkError{Op: "rename", Old: "/srv/secret/a", New: "/srv/secret/b", Err: syscall.EIO},
			"Unable to finalize"),
			"cannot use one of its files"},
	} {
		f.err = c.err
		log.Reset()
		status, answer := n.ask("/v1/chain/push_transaction", packedTrx)
		if status != 500 || strings.Contains(answer, "secret") || !strings.Contains(answer, c.want) {
			t.Errorf("%v: %d %s", c.err, status, answer)
		}
		if said := log.String(); !strings.Contains(said, "level=ERROR") || !strings.Contains(said, "/srv/secret") {
			t.Errorf("%v: the log says %q", c.err, said)
		}
	}
}

const packedTrx = `{"signatures":[],"compression":"none","packed_context_free_data":"","packed_trx":"00000000000000000000000000000000"}`

func body(status int, message string, code int64, name, what, detail string) string {
	return fmt.Sprintf(
		`{"code":%d,"message":"%s","error":{"code":%d,"name":"%s","what":"%s","details":[{"message":"%s","file":"","line_number":0,"method":""}]}}`,
		status, message, code, name, what, detail)
}

// invalidRequest is the body for what is asked wrongly.
func invalidRequest(detail string) string {
	return body(400, "Invalid Request", 3200006, "invalid_http_request", "invalid http request", detail)
}

const unparsed = "Unable to parse valid input from POST body"

func TestFailuresHaveTheBodiesOfNodeos(t *testing.T) {
	f := &failing{}
	n := newNode(t, nil)
	n.config.Transactions = f
	n.start(nodeoshttp.Options{})
	for _, c := range []struct {
		err    error
		status int
		body   string
	}{
		{exception.New(exception.UnsatisfiedAuthorization, "x"), 401,
			body(401, "UnAuthorized", 3090003, "unsatisfied_authorization",
				"Provided keys, permissions, and delays do not satisfy declared authorizations", "x")},
		{exception.New(exception.TxDuplicate, "duplicate transaction 00"), 409,
			body(409, "Conflict", 3040008, "tx_duplicate", "Duplicate transaction", "duplicate transaction 00")},
		{exception.New(exception.TxDuplicate, "in a block").Copied(), 500,
			body(500, "Internal Service Error", 3040008, "tx_duplicate", "Duplicate transaction", "in a block")},
		{exception.New(exception.FCEndOfFile, "e").Copied(), 422, body(422, "Unprocessable Entity", 11, "eof_exception", "End Of File", "e")},
		{exception.New(exception.EosioAssertMessage, "a\tb\x01c\xffd"), 500,
			body(500, "Internal Service Error", 3050003,
				"eosio_assert_message_exception", "eosio_assert_message assertion failure", `a\tb\\u0001cd`)},
		{exception.New(exception.ExpiredTx, "a \"b\""), 500,
			body(500, "Internal Service Error", 3040005, "expired_tx_exception", "Expired Transaction", `a \"b\"`)},
		{exception.New(exception.EosioAssertMessage, "assertion failure with message: no"), 500, body(500,
			"Internal Service Error", 3050003,
			"eosio_assert_message_exception", "eosio_assert_message assertion failure",
			"assertion failure with message: no")},
		{exception.New(exception.FCEndOfFile, "e"), 422, body(422, "Unprocessable Entity", 11, "eof_exception", "End Of File", "e")},
		{exception.New(exception.AccountQuery, "q"), 400, body(400, "Account lookup", 3060002, "account_query_exception", "Account Query Exception", "q")},
		{errors.New("other"), 500, body(500, "Internal Service Error", 0, "exception", "unspecified", "other")},
		{fmt.Errorf("while: %w", exception.New(exception.TxDuplicate, "d")), 409, body(409, "Conflict", 3040008, "tx_duplicate", "Duplicate transaction", "d")},
	} {
		f.err = c.err
		n.expect("/v1/chain/send_transaction", packedTrx, c.status, c.body)
		n.expect("/v1/chain/push_transaction", packedTrx, c.status, c.body)
		n.expect("/v1/chain/send_transaction2", `{"transaction":`+packedTrx+`}`, c.status, c.body)
		n.expect("/v1/chain/compute_transaction", `{"transaction":`+packedTrx+`}`, c.status, c.body)
	}
	n.contains("/v1/chain/push_transactions", `[`+packedTrx+`]`, 202, `[{"transaction_id":"`+strings.Repeat("0",
		64)+`","processed":{"error":"while: 3040008 tx_duplicate: Duplicate transaction: d"}}]`)
	n.expect("/v1/chain/push_transactions", `[`+strings.TrimSuffix(strings.Repeat("{},", 1001), ",")+`]`, 500,
		body(500, "Internal Service Error", 3040012, "too_many_tx_at_once", "Pushing too many transactions at once",
			"Attempt to push too many transactions at once"))
	n.expect("/v1/chain/send_read_only_transaction", `{"transaction":`+packedTrx+`}`, 500,
		body(500, "Internal Service Error", 3100008, "unsupported_feature", "Feature is currently unsupported",
			"read-only transactions execution not enabled on API node. Set read-only-threads > 0"))
	n.expect("/v1/chain/send_transaction2", `{"retry_trx":true,"transaction":`+packedTrx+`}`, 500,
		body(500, "Internal Service Error", 3100008, "unsupported_feature", "Feature is currently unsupported",
			"Transaction retry not enabled on node. transaction-retry-max-storage-size-gb is 0"))
}

func TestDetailsAreMoreWhenTheyAreVerbose(t *testing.T) {
	n := newNode(t, nil)
	n.config.Verbose = true
	third := exception.New(exception.FCAssert, "second")
	n.config.Transactions = &failing{err: exception.Wrap(exception.PackedTransactionType, third, "first").
		With("${x}", "x", "third")}
	n.start(nodeoshttp.Options{})
	_, got := n.ask("/v1/chain/send_transaction", packedTrx)
	first, second, last := strings.Index(got, `{"message":"first","file":"fault_test.go"`),
		strings.Index(got, `{"message":"second","file":"fault_test.go"`), strings.Index(got, `{"message":"third",`)
	if strings.Count(got, `"message":`) != 4 || first < 0 || second < first || last < second {
		t.Error(got)
	}
}

func TestAnExceptionOfTheChainIsNotedWhereAnAccountIsLookedUp(t *testing.T) {
	n := newNode(t, nil)
	n.config.Verbose = true
	n.start(nodeoshttp.Options{})
	n.contains("/v1/chain/get_code", `{"account_name":"eosio","code_as_wasm":false}`, 500,
		`{"message":"unable to retrieve account code","file":"account.go"`)
}

func TestDetailsAreLimited(t *testing.T) {
	n := newNode(t, nil)
	n.config.Verbose = true
	err := exception.New(exception.FCAssert, "0")
	for i := range 20 {
		err = exception.Wrap(exception.FCAssert, err, "${i}", "i", i).With("note")
	}
	n.config.Transactions = &failing{err: err}
	n.start(nodeoshttp.Options{})
	if _, got := n.ask("/v1/chain/send_transaction", packedTrx); strings.Count(got, `"line_number":`) != 10 {
		t.Error(got)
	}
}

func TestDetailsNameTheirPlace(t *testing.T) {
	f := &failing{err: exception.New(exception.TxDuplicate, "x")}
	n := newNode(t, nil)
	n.config.Transactions = f
	n.start(nodeoshttp.Options{})
	n.contains("/v1/chain/send_transaction", packedTrx, 409,
		`"details":[{"message":"x","file":"fault_test.go","line_number":`)
	n.contains("/v1/chain/send_transaction", packedTrx, 409, `"method":"TestDetailsNameTheirPlace"}]`)
	n.contains("/v1/chain/none", packedTrx, 404,
		`"details":[{"message":"Unknown Endpoint","file":"fault.go","line_number":`)
	f.err = errors.New("no exception")
	n.contains("/v1/chain/send_transaction", packedTrx, 500,
		`{"message":"no exception","file":"","line_number":0,"method":""}`)
}

func TestLongMessagesAreCutUnlessErrorsAreVerbose(t *testing.T) {
	const said = "assertion failure with message: "
	for _, verbose := range []bool{false, true} {
		f := &failing{}
		n := newNode(t, nil)
		n.config.Transactions, n.config.Verbose = f, verbose
		n.start(nodeoshttp.Options{})
		for _, length := range []int{987, 988, 989, 1024} {
			f.err = exception.New(exception.EosioAssertMessage, said+"${s}", "s", strings.Repeat("x", length))
			want := said + strings.Repeat("x", length)
			if !verbose && length > 988 {
				want = said + strings.Repeat("x", 988) + "..."
			}
			n.contains("/v1/chain/send_transaction", packedTrx, 500, `{"message":"`+want+`",`)
		}
	}
}

func TestANodeThatTakesNoTransactionsSaysSo(t *testing.T) {
	for _, byOption := range []bool{true, false} {
		n := newNode(t, nil)
		n.config.Transactions, n.config.NoTransactions = &failing{refuses: !byOption}, byOption
		n.start(nodeoshttp.Options{})
		want := body(500, "Internal Service Error", 3110001, "missing_chain_api_plugin_exception",
			"Missing Chain API Plugin", "Not allowed, node has api-accept-transactions = false")
		n.expect("/v1/chain/send_transaction", packedTrx, 500, want)
		n.expect("/v1/chain/push_block", `{}`, 500, want)
	}
}

func TestWhatIsAskedWronglyIsRefusedAsByNodeos(t *testing.T) {
	n := tablesNode(t)
	n.config.Finality = unknown{}
	n.config.Authorizers = nobody{}
	n.start(nodeoshttp.Options{})
	n.play("refused.txt")
}

// unknown tracks no transaction.
type unknown struct{}

func (unknown) Status(types.Checksum256) (rpc.Status, rpc.StatusChain) {
	return rpc.Status{}, rpc.StatusChain{}
}

// nobody authorises nothing.
type nobody struct{}

func (nobody) Accounts(
	*state.View, []types.PermissionLevel, []types.PublicKey, func(int) error,
) ([]rpc.Authorized, error) {
	return nil, nil
}

// A block of the log that cannot be read as it was written is not told to be missing.
func TestADamagedBlockIsNoMissingOne(t *testing.T) {
	n := newNode(t, nil)
	told := 0
	n.config.Damaged = func(err error) bool {
		if errors.Is(err, store.ErrCorrupt) {
			told++
			return true
		}
		return false
	}
	n.start(nodeoshttp.Options{})
	n.log.mu.Lock()
	logged := len(n.log.blocks) > 0
	n.log.hurt = fmt.Errorf("/srv/secret/blocks.log: %w", store.ErrCorrupt)
	n.log.mu.Unlock()
	if !logged {
		t.Fatal("no block is in the log")
	}
	for i, c := range []struct{ path, body string }{
		{"get_block", `{"block_num_or_id":2}`}, {"get_raw_block", `{"block_num_or_id":2}`},
		{"get_block_info", `{"block_num":2}`},
		{"get_block_header", `{"block_num_or_id":2}`},
		{"get_block_header", `{"block_num_or_id":2,"include_extensions":true}`},
	} {
		status, answer := n.ask("/v1/chain/"+c.path, c.body)
		if status != 500 || strings.Contains(answer, "secret") ||
			!strings.Contains(answer, "stored data of this node is damaged") || told != i+1 {
			t.Errorf("%s %s: %d %s, told %d times", c.path, c.body, status, answer, told)
		}
	}
}
