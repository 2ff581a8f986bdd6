//go:build fault_dir_sync

package page

const planted = skipDirSync
