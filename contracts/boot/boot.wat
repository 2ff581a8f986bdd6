;; The first contract of a chain, in the interface of eosio.boot: it activates protocol
;; features. It goes on the account eosio once PREACTIVATE_FEATURE is active. What
;; needs host functions of other features is in bios, which takes its place then.
;;
;; Memory:
;;     16  the action's data
;;    256  messages, each ended by a zero
(module
  (import "env" "eosio_assert" (func $assert (param $test i32) (param $message i32)))
  (import "env" "eosio_assert_code" (func $assert_code (param $test i32) (param $code i64)))
  (import "env" "require_auth" (func $require_auth (param $account i64)))
  (import "env" "action_data_size" (func $action_data_size (result i32)))
  (import "env" "read_action_data" (func $read_action_data (param $to i32) (param $size i32) (result i32)))
  (import "env" "preactivate_feature" (func $preactivate_feature (param $digest i32)))
  (import "env" "is_feature_activated" (func $is_feature_activated (param $digest i32) (result i32)))

  (memory 1)
  (global $size (mut i32) (i32.const 0)) ;; of the action's data

  ;; Names of actions, in base 32 as the chain has them.
  (global $activate i64 (i64.const 0x3232ed9b2a000000))
  (global $reqactivated i64 (i64.const 0xbaac6465db365490))
  (global $reqauth i64 (i64.const 0xbaac6d65a0000000))
  (global $onerror i64 (i64.const 0xa4d57bd2e0000000))
  (global $newaccount i64 (i64.const 0x9ab864229a9e4000))
  (global $setcode i64 (i64.const 0xc2b28a2540000000))
  (global $setabi i64 (i64.const 0xc2b263b800000000))
  (global $updateauth i64 (i64.const 0xd5526ca8dacb4000))
  (global $deleteauth i64 (i64.const 0x4aa2aca8dacb4000))
  (global $linkauth i64 (i64.const 0x8ba7036b2d000000))
  (global $unlinkauth i64 (i64.const 0xd4e2e9c0dacb4000))
  (global $canceldelay i64 (i64.const 0x41a685452a89bc00))
  (global $onblock i64 (i64.const 0xa4cf1a2200000000))

  (global $not-active i32 (i32.const 256)) (data (i32.const 256) "protocol feature is not activated\00")
  (global $past-end i32 (i32.const 304)) (data (i32.const 304) "datastream attempted to read past the end\00")
  (global $not-called i32 (i32.const 352)) (data (i32.const 352) "the onerror action cannot be called directly\00")

  (func $need (param $bytes i32)
    (call $assert (i32.ge_u (global.get $size) (local.get $bytes)) (global.get $past-end)))

  ;; activate(feature_digest checksum256 16): from the next block on it is active.
  (func $do-activate (param $self i64)
    (call $need (i32.const 32))
    (call $require_auth (local.get $self))
    (call $preactivate_feature (i32.const 16)))

  ;; reqactivated(feature_digest checksum256 16) fails unless it is active.
  (func $do-reqactivated
    (call $need (i32.const 32))
    (call $assert (call $is_feature_activated (i32.const 16)) (global.get $not-active)))

  ;; reqauth(from name 16) fails unless they have authorised it.
  (func $do-reqauth
    (call $need (i32.const 8))
    (call $require_auth (i64.load (i32.const 16))))

  ;; What the chain itself has done when the contract is called.
  (func $native (param $action i64) (result i32)
    (i32.or (i32.or (i32.or
      (i32.or
        (i64.eq (local.get $action) (global.get $newaccount))
        (i64.eq (local.get $action) (global.get $setcode)))
      (i32.or
        (i64.eq (local.get $action) (global.get $setabi))
        (i64.eq (local.get $action) (global.get $updateauth))))
      (i32.or
        (i32.or
          (i64.eq (local.get $action) (global.get $deleteauth))
          (i64.eq (local.get $action) (global.get $linkauth)))
        (i32.or
          (i64.eq (local.get $action) (global.get $unlinkauth))
          (i64.eq (local.get $action) (global.get $canceldelay)))))
      (i64.eq (local.get $action) (global.get $onblock))))

  (func (export "apply") (param $self i64) (param $contract i64) (param $action i64)
    (if (i64.ne (local.get $self) (local.get $contract)) (then (return)))
    (if (call $native (local.get $action)) (then (return)))
    (global.set $size (call $action_data_size))
    (drop (call $read_action_data (i32.const 16) (i32.const 32)))
    (if (i64.eq (local.get $action) (global.get $activate)) (then (call $do-activate (local.get $self)) (return)))
    (if (i64.eq (local.get $action) (global.get $reqactivated)) (then (call $do-reqactivated) (return)))
    (if (i64.eq (local.get $action) (global.get $reqauth)) (then (call $do-reqauth) (return)))
    (call $assert (i64.ne (local.get $action) (global.get $onerror)) (global.get $not-called))
    ;; The code by which contracts say that they have no such action.
    (call $assert_code (i32.const 0) (i64.const 8000000000000000000))))
