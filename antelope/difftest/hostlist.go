package difftest

import "strings"

// hostFunction is one that contracts may import, or an instruction that the script
// contract offers in the same way.
type hostFunction struct {
	name      string
	signature string // parameters:result, as in [module.signature]
	feature   string // that brings it; empty for those of the genesis
	code      []byte // of an instruction
}

// hostFunctions lists all that v4.1 knows.
func hostFunctions() []hostFunction {
	var list []hostFunction
	add := func(feature, text string) {
		for _, line := range strings.Fields(text) {
			name, signature, _ := strings.Cut(line, "(")
			list = append(list,
				hostFunction{name: name, signature: strings.TrimSuffix(signature, ")"), feature: feature})
		}
	}
	add("", `is_feature_active(l:i) activate_feature(l) set_resource_limits(llll) get_resource_limits(liii)
		set_proposed_producers(ii:l) get_blockchain_parameters_packed(ii:i) set_blockchain_parameters_packed(ii)
		is_privileged(l:i) set_privileged(li) get_context_free_data(iii:i) get_active_producers(ii:i)
		assert_recover_key(iiiii) recover_key(iiiii:i) assert_sha256(iii) assert_sha1(iii) assert_sha512(iii)
		assert_ripemd160(iii) sha256(iii) sha1(iii) sha512(iii) ripemd160(iii)
		check_transaction_authorization(iiiiii:i) check_permission_authorization(lliiiil:i)
		get_permission_last_used(ll:l) get_account_creation_time(l:l) require_auth(l) require_auth2(ll)
		has_auth(l:i) require_recipient(l) is_account(l:i) current_time(:l) publication_time(:l) abort()
		eosio_assert(ii) eosio_assert_message(iii) eosio_assert_code(il) eosio_exit(i) read_action_data(ii:i)
		action_data_size(:i) current_receiver(:l) prints(i) prints_l(ii) printi(l) printui(l) printi128(i)
		printui128(i) printsf(f) printdf(d) printqf(i) printn(l) printhex(ii) memcpy(iii:i) memmove(iii:i)
		memcmp(iii:i) memset(iii:i) send_inline(ii) send_context_free_inline(ii) send_deferred(iliii)
		cancel_deferred(i:i) read_transaction(ii:i) transaction_size(:i) expiration(:i) tapos_block_num(:i)
		tapos_block_prefix(:i) get_action(iiii:i)
		db_store_i64(llllii:i) db_update_i64(ilii) db_remove_i64(i) db_get_i64(iii:i) db_next_i64(ii:i)
		db_previous_i64(ii:i) db_find_i64(llll:i) db_lowerbound_i64(llll:i) db_upperbound_i64(llll:i) db_end_i64(lll:i)`)
	for _, kind := range []string{"idx64", "idx128", "idx_double", "idx_long_double"} {
		add("", strings.ReplaceAll(`db_X_store(lllli:i) db_X_update(ili) db_X_remove(i) db_X_find_secondary(lllii:i)
			db_X_find_primary(lllil:i) db_X_lowerbound(lllii:i) db_X_upperbound(lllii:i) db_X_end(lll:i)
			db_X_next(ii:i) db_X_previous(ii:i)`, "X", kind))
	}
	add("", `db_idx256_store(llllii:i) db_idx256_update(ilii) db_idx256_remove(i) db_idx256_find_secondary(llliii:i)
		db_idx256_find_primary(llliil:i) db_idx256_lowerbound(llliii:i) db_idx256_upperbound(llliii:i)
		db_idx256_end(lll:i) db_idx256_next(ii:i) db_idx256_previous(ii:i)
		__ashlti3(illi) __ashrti3(illi) __lshrti3(illi) __lshlti3(illi) __divti3(illll) __udivti3(illll)
		__multi3(illll) __modti3(illll) __umodti3(illll) __addtf3(illll) __subtf3(illll) __multf3(illll)
		__divtf3(illll) __negtf2(ill) __extendsftf2(if) __extenddftf2(id) __trunctfdf2(ll:d) __trunctfsf2(ll:f)
		__fixtfsi(ll:i) __fixtfdi(ll:l) __fixtfti(ill) __fixunstfsi(ll:i) __fixunstfdi(ll:l) __fixunstfti(ill)
		__fixsfti(if) __fixdfti(id) __fixunssfti(if) __fixunsdfti(id) __floatsidf(i:d) __floatsitf(ii)
		__floatditf(il) __floatunsitf(ii) __floatunditf(il) __floattidf(ll:d) __floatuntidf(ll:d)
		__cmptf2(llll:i) __eqtf2(llll:i) __netf2(llll:i) __getf2(llll:i) __gttf2(llll:i) __letf2(llll:i)
		__lttf2(llll:i) __unordtf2(llll:i)`)
	add(preactivate, `preactivate_feature(i) is_feature_activated(i:i)`)
	add("WTMSIG_BLOCK_SIGNATURES", `set_proposed_producers_ex(lii:l)`)
	add("BLOCKCHAIN_PARAMETERS", `get_parameters_packed(iiii:i) set_parameters_packed(ii)`)
	add("CONFIGURABLE_WASM_LIMITS2", `get_wasm_parameters_packed(iii:i) set_wasm_parameters_packed(ii)`)
	add("CRYPTO_PRIMITIVES", `alt_bn128_add(iiiiii:i) alt_bn128_mul(iiiiii:i) alt_bn128_pair(ii:i) mod_exp(iiiiiiii:i)
		blake2_f(iiiiiiiiiiii:i) sha3(iiiii) k1_recover(iiiiii:i)`)
	add("GET_CODE_HASH", `get_code_hash(liii:i)`)
	add("GET_SENDER", `get_sender(:l)`)
	add("GET_BLOCK_NUM", `get_block_num(:i)`)
	add("ACTION_RETURN_VALUE", `set_action_return_value(ii)`)
	return append(list, instructions()...)
}

// instructions are the numeric ones, by their operands, and some on memory.
func instructions() []hostFunction {
	var list []hostFunction
	add := func(from, to byte, signature string) {
		for op := int(from); op <= int(to); op++ {
			list = append(list, hostFunction{name: "op" + hex2(byte(op)), signature: signature, code: []byte{byte(op)}})
		}
	}
	add(0x45, 0x45, "i:i") // i32: eqz, comparisons
	add(0x46, 0x4f, "ii:i")
	add(0x50, 0x50, "l:i")
	add(0x51, 0x5a, "ll:i")
	add(0x5b, 0x60, "ff:i")
	add(0x61, 0x66, "dd:i")
	add(0x67, 0x69, "i:i") // clz, ctz, popcnt, arithmetic
	add(0x6a, 0x78, "ii:i")
	add(0x79, 0x7b, "l:l")
	add(0x7c, 0x8a, "ll:l")
	add(0x8b, 0x91, "f:f")
	add(0x92, 0x98, "ff:f")
	add(0x99, 0x9f, "d:d")
	add(0xa0, 0xa6, "dd:d")
	add(0xa7, 0xa7, "l:i") // conversions
	add(0xa8, 0xa9, "f:i")
	add(0xaa, 0xab, "d:i")
	add(0xac, 0xad, "i:l")
	add(0xae, 0xaf, "f:l")
	add(0xb0, 0xb1, "d:l")
	add(0xb2, 0xb3, "i:f")
	add(0xb4, 0xb5, "l:f")
	add(0xb6, 0xb6, "d:f")
	add(0xb7, 0xb8, "i:d")
	add(0xb9, 0xba, "l:d")
	add(0xbb, 0xbb, "f:d")
	add(0xbc, 0xbc, "f:i")
	add(0xbd, 0xbd, "d:l")
	add(0xbe, 0xbe, "i:f")
	add(0xbf, 0xbf, "l:d")
	loads := "iilfd" // of 0x28.. by the type that they give
	for i, op := range []byte{0x28, 0x2c, 0x29, 0x2a, 0x2b} {
		list = append(list,
			hostFunction{name: "load" + hex2(op), signature: "i:" + loads[i:i+1], code: []byte{op, 0, 4}})
	}
	for i, op := range []byte{0x36, 0x3a, 0x37, 0x38, 0x39} {
		list = append(list,
			hostFunction{name: "store" + hex2(op), signature: "i" + loads[i:i+1], code: []byte{op, 0, 0}})
	}
	return append(list,
		hostFunction{name: "memory.size", signature: ":i", code: []byte{0x3f, 0}},
		hostFunction{name: "memory.grow", signature: "i:i", code: []byte{0x40, 0}},
		hostFunction{name: "unreachable", signature: "", code: []byte{0x00}})
}

func hex2(b byte) string {
	const digits = "0123456789abcdef"
	return string([]byte{digits[b>>4], digits[b&15]})
}
