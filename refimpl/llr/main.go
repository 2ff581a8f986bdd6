// Command llr lets go-opera's gossip service judge what becomes of votes for records of blocks
// and epochs, and of records, that come without events. It reads lines of words from its input,
// and answers each with one line:
//
//	begin VALIDATORS
//	        a new service over the genesis of a fakenet. Answer: the id of the genesis.
//	checkbvs|checkev HEX
//	        RLP of votes. Answer: what the basic and heavy checks say, with "; " between.
//	addbvs|addev|addbr|adder HEX
//	        RLP of votes, or of a record. Answer: what processing it says.
//	state
//	        Answer: the lowest block and epoch to decide, then to fill.
//	block N
//	        Answer: the hash of a block's record, the SHA-256 of its receipts, the number that
//	        its id stands for, and where its transactions are; "-" if there is none.
//	epoch N
//	        Answer: the hash of an epoch's record, "-" if there is none.
//	decided block|epoch N
//	        Answer: the hash that is decided, "-" if none is.
//	last ID
//	        Answer: the last block and epoch that a validator has voted for.
//	votes
//	        Answer: the number and the SHA-256 of all votes for blocks.
//	logs ADDRESS FROM TO
//	        Answer: the blocks with logs of an address, and the number of each log in its block.
//
// What go-opera cannot decode is answered with "refused REASON", what it panics at with
// "panic REASON".
package main

import "stdiorpc"

func main() {
	s := new(service)
	defer s.end()
	stdiorpc.Serve(stdiorpc.Each(s.ask))
}
