// Package clienttest lets the programs that people use (ethers, viem, web3.py, cast) work on a
// chain of ours and on one of a real go-opera, made by the same steps, and compares all that
// they see: status, headers and bodies of the answers over HTTP, what comes over WebSocket, with
// the order of members and the forms of values, and what the program makes of them. What they
// have asked is asked once more of a node of ours that replays go-opera's chain: there nothing
// may differ.
//
// It owns the programs' scripts, in the folders js/ and py/, the contract in exhibit/ that they
// call, and the list of what may differ, each with its reason. It is only tests; TARN_CLIENTS=1
// runs them (docs/testing/opera.md). What cannot be installed is skipped. The conversation in
// testdata is compared without them.
package clienttest
