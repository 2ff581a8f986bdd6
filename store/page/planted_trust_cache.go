//go:build fault_trust_cache

package page

const planted = trustCache
