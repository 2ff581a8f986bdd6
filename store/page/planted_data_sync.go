//go:build fault_data_sync

package page

const planted = skipDataSync
