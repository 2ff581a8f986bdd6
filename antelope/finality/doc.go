// Package finality is Savanna's rules: which blocks are final by the votes of finalizers (Spring
// 1.2). It has what a header commits to ([State]), the trees and digests that finalizers sign, how
// policies of producers and finalizers follow each other, which certificates are valid, how votes
// are summed up, and when a finalizer votes.
//
// It is functions of their arguments: it reads no clock, starts no goroutine, knows no state of
// contracts, and does not verify what package crypto can. States are immutable and may be read by
// all goroutines. The rules before Savanna are package consensus'.
package finality
