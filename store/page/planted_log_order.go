//go:build fault_log_order

package page

const planted = logAfterMeta
