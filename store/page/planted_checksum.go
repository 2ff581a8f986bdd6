//go:build fault_checksum

package page

const planted = skipChecksum
