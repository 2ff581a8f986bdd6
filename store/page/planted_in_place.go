//go:build fault_in_place

package page

const planted = writeInPlace
