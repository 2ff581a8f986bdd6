package replica

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/fleet/parquet"
	"tarn/fleet/parquet/parquettest"
)

// changedRow is a row of the table rows.
type changedRow struct {
	Block uint64  `parquet:"block"`
	Table string  `parquet:"table_name"`
	Key   []byte  `parquet:"key"`
	Value *[]byte `parquet:"value,optional"`
}

// told is what a node told its fleet.
type told struct {
	moves []*fleet.Move
	rows  map[fleet.Point][]byte
	final fleet.Point
}

// tell gives a node with histories all blocks of a chain that forks, and takes moves now and then.
func tell(t *testing.T, n *node, blocks []*types.SignedBlock) (x told) {
	t.Helper()
	r := rand.New(rand.NewPCG(*seedFlag, 9))
	x.rows = map[fleet.Point][]byte{}
	at := PointOf(n.Head().HeaderState)
	for i, b := range blocks {
		n.push(t, b)
		for r.IntN(4) == 0 || i == len(blocks)-1 {
			m, err := n.origin.Line().Next(at, r.Int64N(200_000))
			if err != nil {
				t.Fatal(err)
			}
			if m == nil {
				break
			}
			at, x.final = m.To(), m.Final
			x.moves = append(x.moves, m)
			for _, b := range m.Blocks {
				x.rows[b.Point] = b.Rows
			}
		}
	}
	return x
}

// finalBlocks are the blocks of a chain that lead to the irreversible one.
func finalBlocks(list []*types.SignedBlock, final fleet.Point) (chain []*types.SignedBlock) {
	known := map[types.Checksum256]*types.SignedBlock{}
	for _, b := range list {
		known[b.ID()] = b
	}
	for b := known[types.Checksum256(final.ID)]; b != nil; b = known[b.Previous] {
		chain = append([]*types.SignedBlock{b}, chain...)
	}
	return chain
}

// exportAll exports what was told, up to the last irreversible block.
func exportAll(t *testing.T, x told) string {
	t.Helper()
	dir := t.TempDir()
	err := parquet.Run(t.Context(), parquet.Options{Dir: dir, Ledger: Exported(), Stream: parquettest.Publish(t, x.moves),
		BlocksPerFile: 25, Until: x.final.Revision})
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// An export of a chain that forks and goes over to Savanna's rules has its irreversible blocks, their transactions with
// all actions, and the rows that they changed.
func TestAChainIsExported(t *testing.T) {
	p := forks(t, *seedFlag, 60)
	x := tell(t, newNode(t, p, true), p.Blocks)
	dir := exportAll(t, x)
	chain := finalBlocks(p.Blocks, x.final)
	blocks := parquettest.Read[exportedBlock](t, dir, "blocks")
	transactions := parquettest.Read[exportedTransaction](t, dir, "transactions")
	rows := parquettest.Read[changedRow](t, dir, "rows")
	if len(blocks) != len(chain) || uint64(len(chain)) != x.final.Revision-1 {
		t.Fatalf("%d blocks are exported, %d are irreversible up to block %d", len(blocks), len(chain),
			x.final.Revision)
	}
	actions := 0
	for i, b := range chain {
		row := blocks[i]
		if row.ID != b.ID().String() || row.Block != uint64(b.BlockNum()) || row.Previous != b.Previous.String() ||
			row.Producer != b.Producer.String() || row.Time != b.Timestamp.TimePoint().Time().UnixMicro() ||
			int(row.Transactions) != len(b.Transactions) {
			t.Fatalf("block %d is %+v", b.BlockNum(), row)
		}
		for j := range b.Transactions {
			actions += sameTransaction(t, b, j, transactions[0])
			transactions = transactions[1:]
		}
		rows = sameRows(t, row.Block, x.rows[fleet.Point{Revision: row.Block, ID: fleet.ID(b.ID())}], rows)
	}
	if len(transactions) > 0 || len(rows) > 0 || actions == 0 {
		t.Errorf("%d transactions and %d rows more, %d actions", len(transactions), len(rows), actions)
	}
}

// sameTransaction compares a transaction of a block with its row.
func sameTransaction(t *testing.T, b *types.SignedBlock, i int, row exportedTransaction) (actions int) {
	t.Helper()
	r := &b.Transactions[i]
	if r.Packed == nil { // the state held it
		if row.ID != r.ID.String() || row.Status != r.Status.String() || row.Authorizer != nil || len(row.Actions) > 0 {
			t.Fatalf("transaction %d of block %d is %+v", i, b.BlockNum(), row)
		}
		return 0
	}
	trx, _, err := r.Packed.Unpack()
	if err != nil {
		t.Fatal(err)
	}
	all := append(append([]types.Action(nil), trx.ContextFreeActions...), trx.Actions...)
	if row.Block != uint64(b.BlockNum()) || row.Index != uint32(i) || row.ID != trx.ID().String() ||
		row.Status != r.Status.String() ||
		row.CPU != r.CPUUsageUS || row.NetWords != r.NetUsageWords ||
		*row.Authorizer != trx.FirstAuthorizer().String() ||
		*row.Expiration != int64(trx.Expiration)*1_000_000 || len(row.Actions) != len(all) {
		t.Fatalf("transaction %d of block %d is %+v", i, b.BlockNum(), row)
	}
	for j := range all {
		a, x := &all[j], &row.Actions[j]
		if x.Account != a.Account.String() || x.Name != a.Name.String() || !bytes.Equal(x.Data, a.Data) ||
			len(x.Authorizations) != len(a.Authorization) {
			t.Fatalf("action %d of transaction %d of block %d is %+v", j, i, b.BlockNum(), x)
		}
		for k, p := range a.Authorization {
			if x.Authorizations[k] != (exportedAuthorization{p.Actor.String(), p.Permission.String()}) {
				t.Fatalf("action %d of transaction %d of block %d is %+v", j, i, b.BlockNum(), x)
			}
		}
	}
	return len(all)
}

// sameRows compares the rows that a block changed with the first of those that are left.
func sameRows(t *testing.T, block uint64, told []byte, rows []changedRow) []changedRow {
	t.Helper()
	err := fleet.EachRow(told, func(table string, key, value []byte, present bool) error {
		if len(rows) == 0 {
			return errors.New("there are no more")
		}
		x := rows[0]
		rows = rows[1:]
		if x.Block != block || x.Table != table || !bytes.Equal(x.Key, key) || (x.Value != nil) != present ||
			present && !bytes.Equal(*x.Value, value) {
			return fmt.Errorf("%+v should be row %x of table %s", x, key, table)
		}
		return nil
	})
	if err != nil {
		t.Fatalf("the rows of block %d: %v", block, err)
	}
	return rows
}

// DuckDB and ClickHouse read the files, and say what the chain says.
func TestOthersReadAnExport(t *testing.T) {
	parquettest.Python(t)
	p := forks(t, *seedFlag, 60)
	x := tell(t, newNode(t, p, false), p.Blocks)
	chain := finalBlocks(p.Blocks, x.final)
	transactions, first, byProducer := 0, "", map[string]int{}
	for _, b := range chain {
		byProducer[b.Producer.String()]++
		for j := range b.Transactions {
			r := &b.Transactions[j]
			if r.Status == types.StatusExecuted {
				transactions++
			}
			if first != "" || r.Packed == nil {
				continue
			}
			if trx, _, err := r.Packed.Unpack(); err == nil {
				first = fmt.Sprintf("%s\t%s\t%s", trx.ID(), trx.Actions[0].Account, trx.Actions[0].Name)
			}
		}
	}
	rows, gone := 0, 0
	for _, b := range chain {
		err := fleet.EachRow(x.rows[fleet.Point{Revision: uint64(b.BlockNum()), ID: fleet.ID(b.ID())}],
			func(_ string, _, _ []byte, present bool) error {
				rows++
				if !present {
					gone++
				}
				return nil
			})
		if err != nil {
			t.Fatal(err)
		}
	}
	last := chain[len(chain)-1]
	parquettest.Ask(t, exportAll(t, x), []parquettest.Question{
		{SQL: "select count(*), min(block), max(block) from {blocks}", Want: fmt.Sprintf("%d\t%d\t%d", len(chain), chain[0].BlockNum(), last.BlockNum())},
		{SQL: "select id, producer from {blocks} order by block desc limit 1", Want: last.ID().String() + "\t" + last.Producer.String()},
		{SQL: "select count(*) from {blocks} where producer = '" + last.Producer.String() + "'", Want: fmt.Sprint(byProducer[last.Producer.String()])},
		{SQL: "select cast(epoch_us(time) as bigint) from {blocks} order by block limit 1",
			ClickHouse: "select toUnixTimestamp64Micro(time) from {blocks} order by block limit 1",
			Want:       fmt.Sprint(chain[0].Timestamp.TimePoint().Time().UnixMicro())},
		{SQL: "select count(*) from {transactions} where status = 'executed'", Want: fmt.Sprint(transactions)},
		{SQL: "select id, actions[1].account, actions[1].name from {transactions} where delay_sec is not null order by block, tx_index limit 1", Want: first},
		{SQL: "select count(*), sum(case when value is null then 1 else 0 end) from {rows}", Want: fmt.Sprintf("%d\t%d", rows, gone)},
	})
}

// A record that is none of a block is refused.
func TestARecordThatIsNoBlockIsNotExported(t *testing.T) {
	p := forks(t, *seedFlag, 12)
	x := tell(t, newNode(t, p, false), p.Blocks)
	b := x.moves[0].Blocks[0]
	for name, change := range map[string]func(*fleet.Block){
		"no record":            func(b *fleet.Block) { b.Records = nil },
		"half a block":         func(b *fleet.Block) { b.Records[0].Data = b.Records[0].Data[:40] },
		"another block's":      func(b *fleet.Block) { b.ID[5]++ },
		"a block in its place": func(b *fleet.Block) { b.Parent.Revision++ },
	} {
		c := b
		c.Records = append([]fleet.Record(nil), b.Records...)
		change(&c)
		err := exportRows(&c, func(exportedBlock) error { return nil }, func(exportedTransaction) error { return nil })
		if !errors.Is(err, fleet.ErrDamaged) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
