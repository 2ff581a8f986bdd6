//go:build fault_meta_sync

package page

const planted = skipMetaSync
