;; Who finalizes a chain's blocks: one action, which hands its data to the host function
;; set_finalizers. It goes on the account eosio once SAVANNA is active, and may give its
;; place to bios again after it was called.
;;
;; Memory:
;;     16  messages, each ended by a zero
;;    256  the action's data
(module
  (import "env" "eosio_assert" (func $assert (param $test i32) (param $message i32)))
  (import "env" "eosio_assert_code" (func $assert_code (param $test i32) (param $code i64)))
  (import "env" "require_auth" (func $require_auth (param $account i64)))
  (import "env" "action_data_size" (func $action_data_size (result i32)))
  (import "env" "read_action_data" (func $read_action_data (param $to i32) (param $size i32) (result i32)))
  (import "env" "set_finalizers" (func $set_finalizers (param $format i64) (param $policy i32) (param $size i32)))

  (memory 1)

  ;; Names of actions, in base 32 as the chain has them.
  (global $setfinalizer i64 (i64.const 0xc2b2b74cd177d570))
  (global $newaccount i64 (i64.const 0x9ab864229a9e4000))
  (global $setcode i64 (i64.const 0xc2b28a2540000000))
  (global $setabi i64 (i64.const 0xc2b263b800000000))
  (global $updateauth i64 (i64.const 0xd5526ca8dacb4000))
  (global $deleteauth i64 (i64.const 0x4aa2aca8dacb4000))
  (global $linkauth i64 (i64.const 0x8ba7036b2d000000))
  (global $unlinkauth i64 (i64.const 0xd4e2e9c0dacb4000))
  (global $canceldelay i64 (i64.const 0x41a685452a89bc00))
  (global $onblock i64 (i64.const 0xa4cf1a2200000000))
  (global $onerror i64 (i64.const 0xa4d57bd2e0000000))

  (global $too-long i32 (i32.const 16)) (data (i32.const 16) "the finalizer policy is too long\00")
  (global $not-called i32 (i32.const 64)) (data (i32.const 64) "the onerror action cannot be called directly\00")

  ;; setfinalizer(policy finalizer_policy 256): the chain proposes it in this block. Its keys are
  ;; points as they are, not texts, and no proof of their possession is asked for.
  (func $do-setfinalizer (param $self i64) (local $size i32)
    (call $require_auth (local.get $self))
    (local.set $size (call $action_data_size))
    (call $assert (i32.le_u (local.get $size) (i32.const 65280)) (global.get $too-long))
    (drop (call $read_action_data (i32.const 256) (local.get $size)))
    (call $set_finalizers (i64.const 0) (i32.const 256) (local.get $size)))

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
    (if (i64.eq (local.get $action) (global.get $setfinalizer)) (then (call $do-setfinalizer (local.get $self)) (return)))
    (call $assert (i64.ne (local.get $action) (global.get $onerror)) (global.get $not-called))
    ;; The code by which contracts say that they have no such action.
    (call $assert_code (i32.const 0) (i64.const 8000000000000000000))))
