package replica

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/ethereum/go-ethereum/core/types"

	"tarn/fleet"
	"tarn/fleet/parquet"
	"tarn/fleet/parquet/parquettest"
	"tarn/opera/chain"
	"tarn/opera/inter"
)

// changedRow is a row of the table rows.
type changedRow struct {
	Block uint64  `parquet:"block"`
	Table string  `parquet:"table_name"`
	Key   []byte  `parquet:"key"`
	Value *[]byte `parquet:"value,optional"`
}

// exportAll feeds a node with all events, and exports what it tells.
func exportAll(t *testing.T, n *node) string {
	t.Helper()
	r := rand.New(rand.NewPCG(*seedFlag, 9))
	at := PointOf(n.Head())
	n.feed(t, events(t))
	n.settle(t)
	var moves []*fleet.Move
	for {
		m, err := n.origin.Line().Next(at, r.Int64N(200_000))
		if err != nil {
			t.Fatal(err)
		}
		if m == nil {
			break
		}
		at, moves = m.To(), append(moves, m)
	}
	dir := t.TempDir()
	err := parquet.Run(t.Context(), parquet.Options{Dir: dir, Ledger: Exported(), Stream: parquettest.Publish(t, moves),
		BlocksPerFile: 25, RowGroup: 50_000, Until: at.Revision})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// rowsOf are the rows that all nodes have alike, by table and key.
func rowsOf(t *testing.T, n *node) map[string][]byte {
	t.Helper()
	v, err := chain.NewTeller(n.Chain.Chain).View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	all := map[string][]byte{}
	for _, table := range v.Tables() {
		c, err := v.Cursor(table.ID)
		if err != nil {
			t.Fatal(err)
		}
		for ok := c.First(); ok; ok = c.Next() {
			all[table.Name+"/"+string(c.Key())] = bytes.Clone(c.Value())
		}
		if err := errors.Join(c.Err(), c.Close()); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// An export has the node's blocks, transactions and receipts, and rows that lead from the state at its beginning to the
// node's.
func TestAChainIsExported(t *testing.T) {
	n := newNode(t)
	first, state := n.Head().Number+1, rowsOf(t, n)
	dir := exportAll(t, n)
	v, err := n.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	blocks := parquettest.Read[exportedBlock](t, dir, "blocks")
	transactions := parquettest.Read[exportedTransaction](t, dir, "transactions")
	if len(blocks) != int(v.Head().Number+1-first) {
		t.Fatalf("%d blocks are exported, from %d to %d", len(blocks), first, v.Head().Number)
	}
	logs := 0
	for i, row := range blocks {
		b, err := v.Block(first + inter.BlockNumber(i))
		if err != nil {
			t.Fatal(err)
		}
		root, err := v.Root(b.Number)
		if err != nil {
			t.Fatal(err)
		}
		previous := v.BlockID(b.Number - 1)
		want := exportedBlock{uint64(b.Number), b.ID.String(), previous.String(), uint32(b.ID.Epoch()),
			int64(b.Time), b.GasUsed,
			hexOf(root[:]), uint32(len(b.Txs))}
		if i == 0 {
			want.Previous = hexOf(make([]byte, 32)) // a genesis has no id that a fleet knows
		}
		if row != want {
			t.Fatalf("block %d is\n%+v\nand should be\n%+v", b.Number, row, want)
		}
		for j := range b.Txs {
			logs += sameTransaction(t, b, j, transactions[0])
			transactions = transactions[1:]
		}
	}
	if len(transactions) > 0 || logs == 0 {
		t.Errorf("%d transactions more, %d logs", len(transactions), logs)
	}
	sameState(t, state, parquettest.Read[changedRow](t, dir, "rows"), rowsOf(t, n))
}

// sameTransaction compares a transaction and its receipt with its row.
func sameTransaction(t *testing.T, b *chain.Block, i int, row exportedTransaction) (logs int) {
	t.Helper()
	tx, r := b.Txs[i], b.Receipts[i]
	to, made := "", ""
	if row.To != nil {
		to = *row.To
	}
	if row.Contract != nil {
		made = *row.Contract
	}
	if tx.To() != nil && to != hexOf(tx.To()[:]) ||
		tx.To() == nil && (to != "" || made != hexOf(r.ContractAddress[:])) ||
		row.Block != uint64(b.Number) || row.Index != uint32(i) || row.Hash != r.TxHash.Hex() ||
		row.From != hexOf(b.Senders[i][:]) ||
		row.Nonce != tx.Nonce() || row.Value != tx.Value().String() || row.Gas != tx.Gas() ||
		row.GasUsed != r.GasUsed ||
		uint64(row.Status) != r.Status || !bytes.Equal(row.Input, tx.Data()) || row.Type != uint32(tx.Type()) ||
		len(row.Logs) != len(r.Logs) {
		t.Fatalf("transaction %d of block %d is\n%+v\nand its receipt\n%+v", i, b.Number, row, r)
	}
	for j, l := range r.Logs {
		sameLog(t, l, row.Logs[j])
	}
	return len(r.Logs)
}

func sameLog(t *testing.T, l *types.Log, x exportedLog) {
	t.Helper()
	same := uint(x.Index) == l.Index && x.Address == hexOf(l.Address[:]) && bytes.Equal(x.Data, l.Data) &&
		len(x.Topics) == len(l.Topics)
	for i := 0; same && i < len(l.Topics); i++ {
		same = x.Topics[i] == l.Topics[i].Hex()
	}
	if !same {
		t.Fatalf("a log is %+v, and should be %+v", x, l)
	}
}

// sameState plays changes, and compares what they lead to. The head's row says of the node's logs what no other node
// has.
func sameState(t *testing.T, state map[string][]byte, changes []changedRow, want map[string][]byte) {
	t.Helper()
	for _, c := range changes {
		if name := c.Table + "/" + string(c.Key); c.Value == nil {
			delete(state, name)
		} else {
			state[name] = *c.Value
		}
	}
	if len(state) != len(want) {
		t.Fatalf("the rows lead to %d rows, the node has %d", len(state), len(want))
	}
	differ := 0
	for name, value := range want {
		if !bytes.Equal(state[name], value) {
			differ++
		}
	}
	if differ > 1 {
		t.Errorf("%d rows of %d differ", differ, len(want))
	}
}

// DuckDB and ClickHouse read the files, and say what the chain says.
func TestOthersReadAnExport(t *testing.T) {
	parquettest.Python(t)
	n := newNode(t)
	first := n.Head().Number + 1
	dir := exportAll(t, n)
	v, err := n.View()
	if err != nil {
		t.Fatal(err)
	}
	defer v.Close()
	var transactions, logs int
	var gas uint64
	logged := ""
	for number := first; number <= v.Head().Number; number++ {
		b, err := v.Block(number)
		if err != nil {
			t.Fatal(err)
		}
		transactions += len(b.Txs)
		for _, r := range b.Receipts {
			logs += len(r.Logs)
			gas += r.GasUsed
			if logged == "" && len(r.Logs) > 0 && len(r.Logs[0].Topics) > 0 {
				logged = r.TxHash.Hex() + "\t" + hexOf(r.Logs[0].Address[:]) + "\t" + r.Logs[0].Topics[0].Hex()
			}
		}
	}
	parquettest.Ask(t, dir, []parquettest.Question{
		{SQL: "select count(*), min(block), max(block) from {blocks}", Want: fmt.Sprintf("%d\t%d\t%d", v.Head().Number+1-first, first, v.Head().Number)},
		{SQL: "select count(*), sum(gas_used) from {transactions}", Want: fmt.Sprintf("%d\t%d", transactions, gas)},
		{SQL: "select sum(len(logs)) from {transactions}", ClickHouse: "select sum(length(logs)) from {transactions}", Want: fmt.Sprint(logs)},
		{SQL: "select hash, logs[1].address, logs[1].topics[1] from {transactions} where len(logs) > 0 order by block, tx_index limit 1",
			ClickHouse: "select hash, logs[1].address, logs[1].topics[1] from {transactions} where length(logs) > 0 order by block, tx_index limit 1",
			Want:       logged},
		{SQL: "select count(*) from {transactions} t join {blocks} b on b.block = t.block where t.status in (0, 1)", Want: fmt.Sprint(transactions)},
		{SQL: "select count(*) from {transactions} where to_address is null and contract_address is null", Want: "0"},
		{SQL: "select cast(epoch_ns(time) as bigint) from {blocks} order by block desc limit 1",
			ClickHouse: "select toUnixTimestamp64Nano(time) from {blocks} order by block desc limit 1",
			Want:       fmt.Sprint(int64(v.Head().Time))},
	})
}

// A record that is none of a block is refused.
func TestARecordThatIsNoBlockIsNotExported(t *testing.T) {
	n := newNode(t)
	at := PointOf(n.Head())
	n.feed(t, events(t)[:200])
	n.settle(t)
	m, err := n.origin.Line().Next(at, 1<<30)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*chain.Told){
		"an event is missing": func(x *chain.Told) { x.Events = x.Events[1:] },
		"an event comes twice": func(x *chain.Told) {
			x.Block.Events = append(x.Block.Events, 0)
			x.Events = append(x.Events, x.Events[0])
		},
		"an event of no place":     func(x *chain.Told) { x.Block.Events[0] = 1 << 40 },
		"an event that is none":    func(x *chain.Told) { x.Events[0].Raw = x.Events[0].Raw[:10] },
		"a receipt is missing":     func(x *chain.Told) { x.Block.Receipts = x.Block.Receipts[1:] },
		"more gas used before":     func(x *chain.Told) { x.Block.Receipts[0].CumulativeGasUsed = 1 << 60 },
		"a transaction is skipped": func(x *chain.Told) { x.Block.Skipped = append(x.Block.Skipped, 0) },
	} {
		found := false
		for _, b := range m.Blocks {
			x, err := decodeTold(&b)
			if err != nil {
				t.Fatal(err)
			}
			if len(x.Block.Receipts) < 2 || len(x.Block.Events) == 0 || len(x.Block.Skipped) > 0 {
				continue
			}
			found = true
			change(x)
			b.Records = []fleet.Record{{Log: recordTold, Data: []byte(encode(t, x))}}
			err = exportRows(&b, func(exportedBlock) error { return nil }, func(exportedTransaction) error { return nil })
			if !errors.Is(err, fleet.ErrDamaged) {
				t.Errorf("%s: %v", name, err)
			}
			break
		}
		if !found {
			t.Fatal("no block has two transactions")
		}
	}
}
