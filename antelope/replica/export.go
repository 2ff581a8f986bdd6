package replica

import (
	"fmt"

	"tarn/antelope/types"
	"tarn/fleet"
	"tarn/fleet/parquet"
)

// Exported is the ledger's part of an export: rows of the blocks that a fleet's nodes publish.
func Exported() parquet.Ledger {
	return parquet.NewLedger(Ledger, func(log uint8) bool { return log == logBlocks }, exportRows)
}

// exportedBlock is a row of the table blocks.
type exportedBlock struct {
	Block           uint64 `parquet:"block,delta"`
	ID              string `parquet:"id"`
	Previous        string `parquet:"previous"`
	Time            int64  `parquet:"time,timestamp(microsecond)"`
	Producer        string `parquet:"producer,dict"`
	Confirmed       uint32 `parquet:"confirmed"`
	TransactionRoot string `parquet:"transaction_mroot"`
	ActionRoot      string `parquet:"action_mroot"`
	ScheduleVersion uint32 `parquet:"schedule_version"`
	Transactions    uint32 `parquet:"transactions"`
}

// Size implements parquet.Row.
func (b exportedBlock) Size() int64 {
	const numbers = 3*8 + 3*4
	return numbers + int64(len(b.ID)+len(b.Previous)+len(b.Producer)+len(b.TransactionRoot)+len(b.ActionRoot))
}

// exportedTransaction is a row of the table transactions. What is nil, and the actions, are not known of one that the
// block names by its id alone.
type exportedTransaction struct {
	Block       uint64           `parquet:"block,delta"`
	Index       uint32           `parquet:"tx_index,delta"`
	ID          string           `parquet:"id"`
	Status      string           `parquet:"status,dict"`
	CPU         uint32           `parquet:"cpu_usage_us"`
	NetWords    uint32           `parquet:"net_usage_words"`
	Expiration  *int64           `parquet:"expiration,optional,timestamp(microsecond)"`
	DelaySec    *uint32          `parquet:"delay_sec,optional"`
	Authorizer  *string          `parquet:"first_authorizer,optional,dict"`
	ContextFree *uint32          `parquet:"context_free_actions,optional"`
	Actions     []exportedAction `parquet:"actions,list"`
}

// exportedAction is an action, context-free ones first.
type exportedAction struct {
	Account        string                  `parquet:"account,dict"`
	Name           string                  `parquet:"name,dict"`
	Authorizations []exportedAuthorization `parquet:"authorizations,list"`
	Data           []byte                  `parquet:"data"`
}

type exportedAuthorization struct {
	Actor      string `parquet:"actor,dict"`
	Permission string `parquet:"permission,dict"`
}

// Size implements parquet.Row.
func (t exportedTransaction) Size() int64 {
	const numbers, action, authorization = 64, 48, 32
	n := numbers + int64(len(t.ID)+len(t.Status))
	for i := range t.Actions {
		a := &t.Actions[i]
		n += action + int64(len(a.Data)) + authorization*int64(len(a.Authorizations))
	}
	return n
}

// exportRows makes the rows of a revision, which has several blocks if the node replayed them.
func exportRows(b *fleet.Block, block func(exportedBlock) error, transaction func(exportedTransaction) error) error {
	list, err := blocksOf(b)
	if err != nil {
		return err
	}
	if last := list[len(list)-1].Block.ID(); fleet.ID(last) != b.ID {
		return fmt.Errorf("%w: the record of block %d is of block %s", fleet.ErrDamaged, b.Revision, last)
	}
	for i := range list {
		x := list[i].Block
		if want := b.Parent.Revision + 1 + uint64(i); uint64(x.BlockNum()) != want {
			return fmt.Errorf("%w: block %d comes where %d is expected", fleet.ErrDamaged, x.BlockNum(), want)
		}
		if err := block(blockRow(x)); err != nil {
			return err
		}
		for j := range x.Transactions {
			row, err := transactionRow(x, j)
			if err == nil {
				err = transaction(row)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func blockRow(x *types.SignedBlock) exportedBlock {
	return exportedBlock{
		Block: uint64(x.BlockNum()), ID: x.ID().String(), Previous: x.Previous.String(),
		Time:     int64(x.Timestamp.TimePoint()),
		Producer: x.Producer.String(), Confirmed: uint32(x.Confirmed), TransactionRoot: x.TransactionMRoot.String(),
		ActionRoot: x.ActionMRoot.String(), ScheduleVersion: x.ScheduleVersion,
		Transactions: uint32(len(x.Transactions)),
	}
}

func transactionRow(x *types.SignedBlock, i int) (exportedTransaction, error) {
	r := &x.Transactions[i]
	row := exportedTransaction{Block: uint64(x.BlockNum()), Index: uint32(i), ID: r.ID.String(),
		Status: r.Status.String(),
		CPU:    r.CPUUsageUS, NetWords: r.NetUsageWords}
	if r.Packed == nil { // the state held it until its time came
		return row, nil
	}
	t, _, err := r.Packed.Unpack()
	if err != nil {
		return row, fmt.Errorf("%w: transaction %d of block %d: %w", fleet.ErrDamaged, i, row.Block, err)
	}
	row.ID = t.ID().String()
	row.Expiration, row.DelaySec = new(int64(t.Expiration.TimePoint())), &t.DelaySec
	row.Authorizer, row.ContextFree = new(t.FirstAuthorizer().String()), new(uint32(len(t.ContextFreeActions)))
	row.Actions = make([]exportedAction, 0, len(t.ContextFreeActions)+len(t.Actions))
	for _, list := range [][]types.Action{t.ContextFreeActions, t.Actions} {
		for j := range list {
			row.Actions = append(row.Actions, actionRow(&list[j]))
		}
	}
	return row, nil
}

func actionRow(a *types.Action) exportedAction {
	row := exportedAction{Account: a.Account.String(), Name: a.Name.String(), Data: a.Data,
		Authorizations: make([]exportedAuthorization, len(a.Authorization))}
	for i, p := range a.Authorization {
		row.Authorizations[i] = exportedAuthorization{p.Actor.String(), p.Permission.String()}
	}
	return row
}
