;; A contract that shows what clients can meet: a table with an index of each kind,
;; console output, return values, notifications, failures.
;;
;; Rows of the table rows, with the contract as scope, as the ABI has them:
;;   key u64 0, word u64 8, wide u128 16, real float64 32, precise float128 40, hash checksum256 56
;; Secondary indices: 0 word, 1 wide, 2 hash, 3 real, 4 precise.
;;
;; Memory:
;;     16  the action's data
;;   4096  a hash as the index has it: two numbers of 128 bits
(module
  (import "env" "eosio_assert_message" (func $assert_message (param $test i32) (param $text i32) (param $size i32)))
  (import "env" "eosio_assert_code" (func $assert_code (param $test i32) (param $code i64)))
  (import "env" "require_auth" (func $require_auth (param $account i64)))
  (import "env" "require_recipient" (func $require_recipient (param $account i64)))
  (import "env" "action_data_size" (func $action_data_size (result i32)))
  (import "env" "read_action_data" (func $read_action_data (param $to i32) (param $size i32) (result i32)))
  (import "env" "prints_l" (func $print (param $text i32) (param $size i32)))
  (import "env" "set_action_return_value" (func $return_value (param $value i32) (param $size i32)))
  (import "env" "db_store_i64" (func $store
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (param $size i32) (result i32)))
  (import "env" "db_idx64_store" (func $store64
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (result i32)))
  (import "env" "db_idx128_store" (func $store128
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (result i32)))
  (import "env" "db_idx256_store" (func $store256
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (param $words i32) (result i32)))
  (import "env" "db_idx_double_store" (func $store_double
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (result i32)))
  (import "env" "db_idx_long_double_store" (func $store_quad
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (result i32)))

  (memory 1)

  (global $self (mut i64) (i64.const 0))
  (global $size (mut i32) (i32.const 0))

  ;; Names of actions and of the table, in base 32 as the chain has them.
  (global $add i64 (i64.const 0x3252000000000000))
  (global $fail i64 (i64.const 0x599d100000000000))
  (global $failcode i64 (i64.const 0x599d14512a000000))
  (global $say i64 (i64.const 0xc1bc000000000000))
  (global $spin i64 (i64.const 0xc55d300000000000))
  (global $notify i64 (i64.const 0x9d32e5f800000000))
  (global $nothing i64 (i64.const 0x9d32d74d80000000))
  (global $rows i64 (i64.const 0xbd39800000000000))

  ;; The bytes of a hash, first the highest, as two numbers whose lowest comes first.
  (func $turn-hash
    (local $i i32)
    (loop $bytes
      (i32.store8 offset=4096 (i32.xor (local.get $i) (i32.const 15)) (i32.load8_u offset=72 (local.get $i)))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $bytes (i32.lt_u (local.get $i) (i32.const 32)))))

  ;; add(row, payer name 104)
  (func $do-add
    (local $key i64) (local $payer i64)
    (local.set $key (i64.load (i32.const 16)))
    (local.set $payer (i64.load (i32.const 104)))
    (call $require_auth (local.get $payer))
    (call $turn-hash)
    (drop (call $store (global.get $self) (global.get $rows) (local.get $payer) (local.get $key) (i32.const 16) (i32.const 88)))
    (drop (call $store64 (global.get $self) (global.get $rows) (local.get $payer) (local.get $key) (i32.const 24)))
    (drop (call $store128 (global.get $self) (i64.add (global.get $rows) (i64.const 1)) (local.get $payer) (local.get $key) (i32.const 32)))
    (drop (call $store256 (global.get $self) (i64.add (global.get $rows) (i64.const 2)) (local.get $payer) (local.get $key) (i32.const 4096) (i32.const 2)))
    (drop (call $store_double (global.get $self) (i64.add (global.get $rows) (i64.const 3)) (local.get $payer) (local.get $key) (i32.const 48)))
    (drop (call $store_quad (global.get $self) (i64.add (global.get $rows) (i64.const 4)) (local.get $payer) (local.get $key) (i32.const 56))))

  ;; fail(text string), whose length has up to 14 bits
  (func $do-fail
    (if (i32.lt_u (i32.load8_u (i32.const 16)) (i32.const 128)) (then
      (call $assert_message (i32.const 0) (i32.const 17) (i32.load8_u (i32.const 16)))))
    (call $assert_message (i32.const 0) (i32.const 18) (i32.or
      (i32.and (i32.load8_u (i32.const 16)) (i32.const 127))
      (i32.shl (i32.load8_u (i32.const 17)) (i32.const 7)))))

  ;; The text of say(string) is shorter than 128 bytes: its length is one byte.
  (func (export "apply") (param $receiver i64) (param $contract i64) (param $action i64)
    (if (i64.ne (local.get $receiver) (local.get $contract)) (then (return)))
    (global.set $self (local.get $receiver))
    (global.set $size (call $action_data_size))
    (drop (call $read_action_data (i32.const 16) (i32.const 4000)))
    (if (i64.eq (local.get $action) (global.get $add)) (then (call $do-add) (return)))
    (if (i64.eq (local.get $action) (global.get $fail)) (then (call $do-fail) (return)))
    (if (i64.eq (local.get $action) (global.get $failcode)) (then
      (call $assert_code (i32.const 0) (i64.load (i32.const 16))) (return)))
    (if (i64.eq (local.get $action) (global.get $say)) (then
      (call $print (i32.const 17) (i32.load8_u (i32.const 16)))
      (call $return_value (i32.const 16) (global.get $size)) (return)))
    (if (i64.eq (local.get $action) (global.get $notify)) (then
      (call $require_recipient (i64.load (i32.const 16))) (return)))
    (if (i64.eq (local.get $action) (global.get $nothing)) (then (return)))
    (if (i64.eq (local.get $action) (global.get $spin)) (then (loop $for-ever (br $for-ever))))
    ;; The code by which contracts say that they have no such action.
    (call $assert_code (i32.const 0) (i64.const 8000000000000000000))))
