;; A token contract in the interface of eosio.token: the same actions, tables and
;; messages, so that wallets and explorers take it for one.
;;
;; Rows, as the ABI has them:
;;   accounts  scope: the owner        key: the symbol's code  balance asset
;;   stat      scope: a symbol's code  key: the same           supply asset, max_supply asset, issuer name
;; An asset is an amount (i64) and a symbol (i64: the precision in the lowest byte,
;; above it the code, its first letter lowest).
;;
;; Memory:
;;     16  the action's data; what is needed of the longest is 37 bytes
;;    128  a row of accounts: amount 128, symbol 136
;;    160  a row of stat: supply 160, symbol 168, max_supply 176, symbol 184, issuer 192
;;    256  messages, each ended by a zero
(module
  (import "env" "eosio_assert" (func $assert (param $test i32) (param $message i32)))
  (import "env" "eosio_assert_code" (func $assert_code (param $test i32) (param $code i64)))
  (import "env" "require_auth" (func $require_auth (param $account i64)))
  (import "env" "has_auth" (func $has_auth (param $account i64) (result i32)))
  (import "env" "is_account" (func $is_account (param $account i64) (result i32)))
  (import "env" "require_recipient" (func $require_recipient (param $account i64)))
  (import "env" "action_data_size" (func $action_data_size (result i32)))
  (import "env" "read_action_data" (func $read_action_data (param $to i32) (param $size i32) (result i32)))
  (import "env" "db_find_i64" (func $db_find
    (param $contract i64) (param $scope i64) (param $table i64) (param $key i64) (result i32)))
  (import "env" "db_get_i64" (func $db_get (param $row i32) (param $to i32) (param $size i32) (result i32)))
  (import "env" "db_store_i64" (func $db_store
    (param $scope i64) (param $table i64) (param $payer i64) (param $key i64) (param $from i32) (param $size i32) (result i32)))
  (import "env" "db_update_i64" (func $db_update (param $row i32) (param $payer i64) (param $from i32) (param $size i32)))
  (import "env" "db_remove_i64" (func $db_remove (param $row i32)))

  (memory 1)

  ;; The account that this contract is on, and the size of the action's data.
  (global $self (mut i64) (i64.const 0))
  (global $size (mut i32) (i32.const 0))

  ;; Names of actions and tables, in base 32 as the chain has them.
  (global $create i64 (i64.const 0x45d46ca800000000))
  (global $issue i64 (i64.const 0x7631a50000000000))
  (global $retire i64 (i64.const 0xbab2eba800000000))
  (global $transfer i64 (i64.const 0xcdcd3c2d57000000))
  (global $open i64 (i64.const 0xa555300000000000))
  (global $close i64 (i64.const 0x4469850000000000))
  (global $accounts i64 (i64.const 0x32114d4f38000000))
  (global $stat i64 (i64.const 0xc64d900000000000))

  (global $past-end i32 (i32.const 256)) (data (i32.const 256) "datastream attempted to read past the end\00")
  (global $bad-symbol i32 (i32.const 304)) (data (i32.const 304) "invalid symbol name\00")
  (global $bad-supply i32 (i32.const 336)) (data (i32.const 336) "invalid supply\00")
  (global $no-supply i32 (i32.const 352)) (data (i32.const 352) "max-supply must be positive\00")
  (global $exists i32 (i32.const 384)) (data (i32.const 384) "token with symbol already exists\00")
  (global $long-memo i32 (i32.const 432)) (data (i32.const 432) "memo has more than 256 bytes\00")
  (global $no-token i32 (i32.const 464)) (data (i32.const 464) "token with symbol does not exist, create token before issue\00")
  (global $not-issuer i32 (i32.const 528)) (data (i32.const 528) "tokens can only be issued to issuer account\00")
  (global $bad-quantity i32 (i32.const 576)) (data (i32.const 576) "invalid quantity\00")
  (global $no-issue i32 (i32.const 608)) (data (i32.const 608) "must issue positive quantity\00")
  (global $other-precision i32 (i32.const 640)) (data (i32.const 640) "symbol precision mismatch\00")
  (global $too-much i32 (i32.const 672)) (data (i32.const 672) "quantity exceeds available supply\00")
  (global $unknown-token i32 (i32.const 720)) (data (i32.const 720) "token with symbol does not exist\00")
  (global $no-retire i32 (i32.const 768)) (data (i32.const 768) "must retire positive quantity\00")
  (global $to-self i32 (i32.const 800)) (data (i32.const 800) "cannot transfer to self\00")
  (global $no-receiver i32 (i32.const 832)) (data (i32.const 832) "to account does not exist\00")
  (global $no-key i32 (i32.const 864)) (data (i32.const 864) "unable to find key\00")
  (global $no-transfer i32 (i32.const 896)) (data (i32.const 896) "must transfer positive quantity\00")
  (global $no-balance i32 (i32.const 928)) (data (i32.const 928) "no balance object found\00")
  (global $overdrawn i32 (i32.const 960)) (data (i32.const 960) "overdrawn balance\00")
  (global $no-owner i32 (i32.const 992)) (data (i32.const 992) "owner account does not exist\00")
  (global $no-symbol i32 (i32.const 1024)) (data (i32.const 1024) "symbol does not exist\00")
  (global $no-row i32 (i32.const 1056)) (data (i32.const 1056) "Balance row already deleted or never existed. Action won't have any effect.\00")
  (global $not-zero i32 (i32.const 1136)) (data (i32.const 1136) "Cannot close because the balance is not zero.\00")

  ;; Actions read their data from 16 on; those that are shorter than they must be fail.
  (func $need (param $bytes i32)
    (call $assert (i32.ge_u (global.get $size) (local.get $bytes)) (global.get $past-end)))

  ;; A memo stands at the end: its length, 7 bits to a byte, and its bytes. Two
  ;; bytes of length are enough for all that are short enough.
  (func $check-memo (param $at i32)
    (local $length i32) (local $bytes i32)
    (call $need (i32.add (local.get $at) (i32.const 1)))
    (local.set $length (i32.load8_u offset=16 (local.get $at)))
    (local.set $bytes (i32.const 1))
    (if (i32.ge_u (local.get $length) (i32.const 128)) (then
      (call $need (i32.add (local.get $at) (i32.const 2)))
      (local.set $bytes (i32.load8_u offset=17 (local.get $at)))
      (call $assert (i32.lt_u (local.get $bytes) (i32.const 128)) (global.get $long-memo))
      (local.set $length (i32.or
        (i32.and (local.get $length) (i32.const 127))
        (i32.shl (local.get $bytes) (i32.const 7))))
      (local.set $bytes (i32.const 2))))
    (call $need (i32.add (i32.add (local.get $at) (local.get $bytes)) (local.get $length)))
    (call $assert (i32.le_u (local.get $length) (i32.const 256)) (global.get $long-memo)))

  ;; A symbol is valid if its code is of capital letters, one at least.
  (func $valid-symbol (param $symbol i64) (result i32)
    (local $code i64)
    (local.set $code (i64.shr_u (local.get $symbol) (i64.const 8)))
    (if (i64.eqz (local.get $code)) (then (return (i32.const 0))))
    (loop $letters
      (if (i64.gt_u
            (i64.sub (i64.and (local.get $code) (i64.const 0xff)) (i64.const 65))
            (i64.const 25))
        (then (return (i32.const 0))))
      (local.set $code (i64.shr_u (local.get $code) (i64.const 8)))
      (br_if $letters (i64.ne (local.get $code) (i64.const 0))))
    (i32.const 1))

  ;; An asset is valid if its symbol is, and its amount within 2^62-1 on both sides.
  (func $valid-asset (param $amount i64) (param $symbol i64) (result i32)
    (i32.and
      (i64.le_u
        (i64.add (local.get $amount) (i64.const 0x3fffffffffffffff))
        (i64.const 0x7ffffffffffffffe))
      (call $valid-symbol (local.get $symbol))))

  (func $code-of (param $symbol i64) (result i64)
    (i64.shr_u (local.get $symbol) (i64.const 8)))

  ;; Finds a token and reads its row; below 0 there is none.
  (func $find-token (param $symbol i64) (result i32)
    (local $row i32)
    (local.set $row (call $db_find (global.get $self)
      (call $code-of (local.get $symbol)) (global.get $stat) (call $code-of (local.get $symbol))))
    (if (i32.ge_s (local.get $row) (i32.const 0)) (then
      (drop (call $db_get (local.get $row) (i32.const 160) (i32.const 40)))))
    (local.get $row))

  ;; Finds a balance and reads its row; below 0 there is none.
  (func $find-balance (param $owner i64) (param $symbol i64) (result i32)
    (local $row i32)
    (local.set $row (call $db_find (global.get $self)
      (local.get $owner) (global.get $accounts) (call $code-of (local.get $symbol))))
    (if (i32.ge_s (local.get $row) (i32.const 0)) (then
      (drop (call $db_get (local.get $row) (i32.const 128) (i32.const 16)))))
    (local.get $row))

  ;; Whoever opens a balance pays for its row.
  (func $store-balance (param $owner i64) (param $amount i64) (param $symbol i64) (param $payer i64)
    (i64.store (i32.const 128) (local.get $amount))
    (i64.store (i32.const 136) (local.get $symbol))
    (drop (call $db_store (local.get $owner) (global.get $accounts) (local.get $payer)
      (call $code-of (local.get $symbol)) (i32.const 128) (i32.const 16))))

  ;; Takes from a balance, whose row the owner pays for from then on.
  (func $take (param $owner i64) (param $amount i64) (param $symbol i64)
    (local $row i32)
    (local.set $row (call $find-balance (local.get $owner) (local.get $symbol)))
    (call $assert (i32.ge_s (local.get $row) (i32.const 0)) (global.get $no-balance))
    (call $assert (i64.ge_s (i64.load (i32.const 128)) (local.get $amount)) (global.get $overdrawn))
    (i64.store (i32.const 128) (i64.sub (i64.load (i32.const 128)) (local.get $amount)))
    (call $db_update (local.get $row) (local.get $owner) (i32.const 128) (i32.const 16)))

  ;; Adds to a balance. A new row is the payer's; one that is there stays whose it is.
  ;; No sum is too large, since none is above the supply.
  (func $give (param $owner i64) (param $amount i64) (param $symbol i64) (param $payer i64)
    (local $row i32)
    (local.set $row (call $find-balance (local.get $owner) (local.get $symbol)))
    (if (i32.lt_s (local.get $row) (i32.const 0)) (then
      (call $store-balance (local.get $owner) (local.get $amount) (local.get $symbol) (local.get $payer))
      (return)))
    (i64.store (i32.const 128) (i64.add (i64.load (i32.const 128)) (local.get $amount)))
    (call $db_update (local.get $row) (i64.const 0) (i32.const 128) (i32.const 16)))

  ;; create(issuer name 16, maximum_supply asset 24)
  (func $do-create
    (local $amount i64) (local $symbol i64)
    (call $need (i32.const 24))
    (local.set $amount (i64.load (i32.const 24)))
    (local.set $symbol (i64.load (i32.const 32)))
    (call $require_auth (global.get $self))
    (call $assert (call $valid-symbol (local.get $symbol)) (global.get $bad-symbol))
    (call $assert (call $valid-asset (local.get $amount) (local.get $symbol)) (global.get $bad-supply))
    (call $assert (i64.gt_s (local.get $amount) (i64.const 0)) (global.get $no-supply))
    (call $assert (i32.lt_s (call $find-token (local.get $symbol)) (i32.const 0)) (global.get $exists))
    (i64.store (i32.const 160) (i64.const 0))
    (i64.store (i32.const 168) (local.get $symbol))
    (i64.store (i32.const 176) (local.get $amount))
    (i64.store (i32.const 184) (local.get $symbol))
    (i64.store (i32.const 192) (i64.load (i32.const 16)))
    (drop (call $db_store (call $code-of (local.get $symbol)) (global.get $stat) (global.get $self)
      (call $code-of (local.get $symbol)) (i32.const 160) (i32.const 40))))

  ;; issue(to name 16, quantity asset 24, memo string 40)
  (func $do-issue
    (local $amount i64) (local $symbol i64) (local $row i32)
    (call $need (i32.const 24))
    (local.set $amount (i64.load (i32.const 24)))
    (local.set $symbol (i64.load (i32.const 32)))
    (call $assert (call $valid-symbol (local.get $symbol)) (global.get $bad-symbol))
    (call $check-memo (i32.const 24))
    (local.set $row (call $find-token (local.get $symbol)))
    (call $assert (i32.ge_s (local.get $row) (i32.const 0)) (global.get $no-token))
    (call $assert (i64.eq (i64.load (i32.const 16)) (i64.load (i32.const 192))) (global.get $not-issuer))
    (call $require_auth (i64.load (i32.const 192)))
    (call $assert (call $valid-asset (local.get $amount) (local.get $symbol)) (global.get $bad-quantity))
    (call $assert (i64.gt_s (local.get $amount) (i64.const 0)) (global.get $no-issue))
    (call $assert (i64.eq (local.get $symbol) (i64.load (i32.const 168))) (global.get $other-precision))
    (call $assert
      (i64.le_s (local.get $amount) (i64.sub (i64.load (i32.const 176)) (i64.load (i32.const 160))))
      (global.get $too-much))
    (i64.store (i32.const 160) (i64.add (i64.load (i32.const 160)) (local.get $amount)))
    (call $db_update (local.get $row) (i64.const 0) (i32.const 160) (i32.const 40))
    (call $give (i64.load (i32.const 192)) (local.get $amount) (local.get $symbol) (i64.load (i32.const 192))))

  ;; retire(quantity asset 16, memo string 32)
  (func $do-retire
    (local $amount i64) (local $symbol i64) (local $row i32)
    (call $need (i32.const 16))
    (local.set $amount (i64.load (i32.const 16)))
    (local.set $symbol (i64.load (i32.const 24)))
    (call $assert (call $valid-symbol (local.get $symbol)) (global.get $bad-symbol))
    (call $check-memo (i32.const 16))
    (local.set $row (call $find-token (local.get $symbol)))
    (call $assert (i32.ge_s (local.get $row) (i32.const 0)) (global.get $unknown-token))
    (call $require_auth (i64.load (i32.const 192)))
    (call $assert (call $valid-asset (local.get $amount) (local.get $symbol)) (global.get $bad-quantity))
    (call $assert (i64.gt_s (local.get $amount) (i64.const 0)) (global.get $no-retire))
    (call $assert (i64.eq (local.get $symbol) (i64.load (i32.const 168))) (global.get $other-precision))
    (i64.store (i32.const 160) (i64.sub (i64.load (i32.const 160)) (local.get $amount)))
    (call $db_update (local.get $row) (i64.const 0) (i32.const 160) (i32.const 40))
    (call $take (i64.load (i32.const 192)) (local.get $amount) (local.get $symbol)))

  ;; transfer(from name 16, to name 24, quantity asset 32, memo string 48)
  (func $do-transfer
    (local $from i64) (local $to i64) (local $amount i64) (local $symbol i64) (local $payer i64)
    (call $need (i32.const 32))
    (local.set $from (i64.load (i32.const 16)))
    (local.set $to (i64.load (i32.const 24)))
    (local.set $amount (i64.load (i32.const 32)))
    (local.set $symbol (i64.load (i32.const 40)))
    (call $assert (i64.ne (local.get $from) (local.get $to)) (global.get $to-self))
    (call $require_auth (local.get $from))
    (call $assert (call $is_account (local.get $to)) (global.get $no-receiver))
    (call $assert (i32.ge_s (call $find-token (local.get $symbol)) (i32.const 0)) (global.get $no-key))
    ;; Both are told, after this: their contracts may refuse.
    (call $require_recipient (local.get $from))
    (call $require_recipient (local.get $to))
    (call $assert (call $valid-asset (local.get $amount) (local.get $symbol)) (global.get $bad-quantity))
    (call $assert (i64.gt_s (local.get $amount) (i64.const 0)) (global.get $no-transfer))
    (call $assert (i64.eq (local.get $symbol) (i64.load (i32.const 168))) (global.get $other-precision))
    (call $check-memo (i32.const 32))
    (local.set $payer (select (local.get $to) (local.get $from) (call $has_auth (local.get $to))))
    (call $take (local.get $from) (local.get $amount) (local.get $symbol))
    (call $give (local.get $to) (local.get $amount) (local.get $symbol) (local.get $payer)))

  ;; open(owner name 16, symbol symbol 24, ram_payer name 32)
  (func $do-open
    (local $owner i64) (local $symbol i64) (local $payer i64)
    (call $need (i32.const 24))
    (local.set $owner (i64.load (i32.const 16)))
    (local.set $symbol (i64.load (i32.const 24)))
    (local.set $payer (i64.load (i32.const 32)))
    (call $require_auth (local.get $payer))
    (call $assert (call $is_account (local.get $owner)) (global.get $no-owner))
    (call $assert (i32.ge_s (call $find-token (local.get $symbol)) (i32.const 0)) (global.get $no-symbol))
    (call $assert (i64.eq (local.get $symbol) (i64.load (i32.const 168))) (global.get $other-precision))
    (if (i32.lt_s (call $find-balance (local.get $owner) (local.get $symbol)) (i32.const 0)) (then
      (call $store-balance (local.get $owner) (i64.const 0) (local.get $symbol) (local.get $payer)))))

  ;; close(owner name 16, symbol symbol 24)
  (func $do-close
    (local $row i32)
    (call $need (i32.const 16))
    (call $require_auth (i64.load (i32.const 16)))
    (local.set $row (call $find-balance (i64.load (i32.const 16)) (i64.load (i32.const 24))))
    (call $assert (i32.ge_s (local.get $row) (i32.const 0)) (global.get $no-row))
    (call $assert (i64.eqz (i64.load (i32.const 128))) (global.get $not-zero))
    (call $db_remove (local.get $row)))

  ;; Notifications of other contracts' actions are none of our business.
  (func (export "apply") (param $receiver i64) (param $contract i64) (param $action i64)
    (if (i64.ne (local.get $receiver) (local.get $contract)) (then (return)))
    (global.set $self (local.get $receiver))
    (global.set $size (call $action_data_size))
    (drop (call $read_action_data (i32.const 16) (i32.const 64)))
    (if (i64.eq (local.get $action) (global.get $transfer)) (then (call $do-transfer) (return)))
    (if (i64.eq (local.get $action) (global.get $issue)) (then (call $do-issue) (return)))
    (if (i64.eq (local.get $action) (global.get $open)) (then (call $do-open) (return)))
    (if (i64.eq (local.get $action) (global.get $close)) (then (call $do-close) (return)))
    (if (i64.eq (local.get $action) (global.get $retire)) (then (call $do-retire) (return)))
    (if (i64.eq (local.get $action) (global.get $create)) (then (call $do-create) (return)))
    ;; The code by which contracts say that they have no such action.
    (call $assert_code (i32.const 0) (i64.const 8000000000000000000))))
