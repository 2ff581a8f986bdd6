//go:build !fault_data_sync && !fault_meta_sync && !fault_dir_sync && !fault_log_order && !fault_in_place && !fault_checksum && !fault_trust_cache

package page

const planted = noFault
