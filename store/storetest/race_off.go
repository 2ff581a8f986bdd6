//go:build !race

package storetest

const slowness = 1
