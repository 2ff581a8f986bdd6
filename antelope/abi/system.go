package abi

import "tarn/antelope/types"

// SystemDef returns the ABI of the actions that the chain handles itself, which
// the account eosio is created with (Leap: eosio_contract_abi.cpp).
func SystemDef() *Def {
	d := &Def{Version: "eosio::abi/1.0"}
	for _, name := range []string{"account_name", "permission_name", "action_name", "table_name"} {
		d.Types = append(d.Types, TypeDef{NewTypeName: name, Type: "name"})
	}
	d.Types = append(d.Types, TypeDef{"transaction_id_type", "checksum256"},
		TypeDef{"block_id_type", "checksum256"}, TypeDef{"weight_type", "uint16"})
	d.Structs = append(systemStructs(), systemActions()...)
	for _, st := range systemActions() {
		d.Actions = append(d.Actions, ActionDef{Name: types.N(st.Name), Type: st.Name})
	}
	return d
}

// System returns the bytes that the account eosio is created with. They are part
// of the state that nodes agree on. They lack the list of action results, which
// ABIs did not have when they were laid down.
func System() []byte { return SystemDef().appendWithoutResults(nil) }

// structOf describes a struct by the names and types of its fields in turn.
func structOf(name, base string, fields ...string) StructDef {
	st := StructDef{Name: name, Base: base}
	for i := 0; i < len(fields); i += 2 {
		st.Fields = append(st.Fields, FieldDef{Name: fields[i], Type: fields[i+1]})
	}
	return st
}

// systemStructs are the parts of transactions, block headers and authorities.
func systemStructs() []StructDef {
	return []StructDef{
		structOf("permission_level", "", "actor", "account_name", "permission", "permission_name"),
		structOf("action", "", "account", "account_name", "name", "action_name",
			"authorization", "permission_level[]", "data", "bytes"),
		structOf("extension", "", "type", "uint16", "data", "bytes"),
		structOf("transaction_header", "", "expiration", "time_point_sec", "ref_block_num", "uint16",
			"ref_block_prefix", "uint32", "max_net_usage_words", "varuint32", "max_cpu_usage_ms", "uint8",
			"delay_sec", "varuint32"),
		structOf("transaction", "transaction_header", "context_free_actions", "action[]",
			"actions", "action[]", "transaction_extensions", "extension[]"),
		structOf("producer_key", "", "producer_name", "account_name", "block_signing_key", "public_key"),
		structOf("producer_schedule", "", "version", "uint32", "producers", "producer_key[]"),
		structOf("block_header", "", "timestamp", "uint32", "producer", "account_name", "confirmed", "uint16",
			"previous", "block_id_type", "transaction_mroot", "checksum256", "action_mroot", "checksum256",
			"schedule_version", "uint32", "new_producers", "producer_schedule?", "header_extensions", "extension[]"),
		structOf("key_weight", "", "key", "public_key", "weight", "weight_type"),
		structOf("permission_level_weight", "", "permission", "permission_level", "weight", "weight_type"),
		structOf("wait_weight", "", "wait_sec", "uint32", "weight", "weight_type"),
		structOf("authority", "", "threshold", "uint32", "keys", "key_weight[]",
			"accounts", "permission_level_weight[]", "waits", "wait_weight[]"),
	}
}

// systemActions are the data of actions, each named as its action.
func systemActions() []StructDef {
	return []StructDef{
		structOf("newaccount", "", "creator", "account_name", "name", "account_name",
			"owner", "authority", "active", "authority"),
		structOf("setcode", "", "account", "account_name", "vmtype", "uint8", "vmversion", "uint8", "code", "bytes"),
		structOf("setabi", "", "account", "account_name", "abi", "bytes"),
		structOf("updateauth", "", "account", "account_name", "permission", "permission_name",
			"parent", "permission_name", "auth", "authority"),
		structOf("deleteauth", "", "account", "account_name", "permission", "permission_name"),
		structOf("linkauth", "", "account", "account_name", "code", "account_name",
			"type", "action_name", "requirement", "permission_name"),
		structOf("unlinkauth", "", "account", "account_name", "code", "account_name", "type", "action_name"),
		structOf("canceldelay", "", "canceling_auth", "permission_level", "trx_id", "transaction_id_type"),
		structOf("onerror", "", "sender_id", "uint128", "sent_trx", "bytes"),
		structOf("onblock", "", "header", "block_header"),
	}
}
