package antelope

import (
	"context"
	"fmt"

	"tarn/antelope/abi"
	"tarn/antelope/chain/chaintest"
	"tarn/antelope/serial"
	"tarn/antelope/types"
	"tarn/contracts/wat"
)

// The table that is asked for, and that makes a state large: rows of a usual size, so many of
// them in each action and block. They take up to so many times their size in a state. Three
// quarters of a row cannot be compressed, as engines do that compress.
const (
	rowBytes    = 128
	fewRows     = 1000
	rowsAtOnce  = 10_000
	blockRows   = 10 * rowsAtOnce
	rowRoom     = 4
	rowContract = `(module
(import "env" "read_action_data" (func $read (param i32 i32) (result i32)))
(import "env" "db_store_i64" (func $store (param i64 i64 i64 i64 i32 i32) (result i32)))
(memory 1)
(func (export "apply") (param $self i64) (param $contract i64) (param $action i64)
(local $at i32) (local $random i64)
(drop (call $read (i32.const 16) (i32.const 16)))
(block $end (loop $next
(br_if $end (i64.eq (i64.load (i32.const 16)) (i64.load (i32.const 24))))
(i64.store (i32.const 64) (i64.load (i32.const 16)))
(i64.store (i32.const 72) (local.get $self))
(i64.store (i32.const 88) (i64.load (i32.const 16)))
(local.set $random (i64.mul (i64.load (i32.const 16)) (i64.const -7046029254386353131)))
(local.set $at (i32.const 96))
(loop $digit
(local.set $random (i64.add (i64.mul (local.get $random) (i64.const 6364136223846793005)) (i64.const 1442695040888963407)))
(i64.store (local.get $at) (i64.rotl (local.get $random) (i64.const 32)))
(local.set $at (i32.add (local.get $at) (i32.const 8)))
(br_if $digit (i32.lt_u (local.get $at) (i32.const 192))))
(drop (call $store (local.get $self) (i64.const %d) (local.get $self) (i64.load (i32.const 16)) (i32.const 64) (i32.const %d)))
(i64.store (i32.const 16) (i64.add (i64.load (i32.const 16)) (i64.const 1)))
(br $next)))))`
	rowABI = `{"version":"eosio::abi/1.2","types":[],"structs":[
{"name":"row","base":"","fields":[{"name":"id","type":"uint64"},{"name":"owner","type":"name"},{"name":"since","type":"time_point"},{"name":"amount","type":"int64"},
{"name":"digest","type":"checksum256"},{"name":"proof","type":"checksum512"}]},
{"name":"fill","base":"","fields":[{"name":"from","type":"uint64"},{"name":"to","type":"uint64"}]}],
"actions":[{"name":"fill","type":"fill","ricardian_contract":""}],
"tables":[{"name":"rows","index_type":"i64","key_names":[],"key_types":[],"type":"row"}],
"ricardian_clauses":[],"error_messages":[],"abi_extensions":[],"variants":[],"action_results":[]}`
)

// rowAccount has the table, under its own scope; keys count from 0.
var rowAccount, rowTable = types.N("rows"), types.N("rows")

// rowCount is how many rows there are for so many megabytes of them.
func rowCount(megabytes int) int { return max(fewRows, megabytes<<20/rowBytes) }

// fillTable makes the account, its contract and its table.
func fillTable(ctx context.Context, m *chaintest.Maker, megabytes int) error {
	code, err := wat.Assemble(fmt.Sprintf(rowContract, int64(rowTable), rowBytes))
	if err != nil {
		return err
	}
	if _, err := m.Block(m.CreateAccount(rowAccount), chaintest.SetCode(rowAccount, code)); err != nil {
		return err
	}
	if err := setABI(m, rowAccount, rowABI); err != nil {
		return err
	}
	all := rowCount(megabytes)
	for from := 0; from < all; from += blockRows {
		if err := ctx.Err(); err != nil {
			return err
		}
		var actions []types.Action
		for at := from; at < min(all, from+blockRows); at += rowsAtOnce {
			data := serial.AppendUint64(serial.AppendUint64(nil, uint64(at)), uint64(min(all, at+rowsAtOnce)))
			actions = append(actions, chaintest.Action(rowAccount, types.N("fill"), rowAccount, data))
		}
		if _, err := m.Block(actions...); err != nil {
			return err
		}
	}
	return nil
}

// setABI puts an ABI, in JSON, on an account, in a block of its own.
func setABI(m *chaintest.Maker, account types.Name, text string) error {
	def, err := abi.Parse(text)
	if err != nil {
		return fmt.Errorf("read the ABI of %s: %w", account, err)
	}
	_, err = m.Block(chaintest.SetABI(account, def.Append(nil)))
	return err
}
