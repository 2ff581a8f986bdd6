package suite

import (
	"slices"

	"tarn/bench/record"
)

// All describes every suite, in the order in which they run.
func All() []Description {
	return slices.Concat(ownLife(), withOthers(), keepingHistories(), withLimits())
}

// ownLife are the suites that need nothing but the node.
func ownLife() []Description {
	memory := of(bytesUnit, private, resident)
	return []Description{
		{record.Suite{Name: Import, How: "A new process makes the state of the chain's blocks, makes it durable, and ends; each subject did so once before, unmeasured. " +
			"Written is what the kernel counts for the process, less what was deleted before it got to the disk.",
			Metrics: list(of(seconds, took, processor), of(bytesUnit, written, onDisk), memory)},
			"sync from genesis, without the network (F6)", "seconds", "the chain", nil, (*life).importChain},
		{record.Suite{Name: Start, How: "From the start of the process on a state that exists until it answers. Its files were put out of the page cache.",
			Metrics: list(of(seconds, took, processor), of(bytesUnit, read), of(number, faults), memory[:1])},
			"processor and memory of the second start (E3, E4, W3, W4)", "seconds", "the chain", serves, (*life).serve},
		{record.Suite{Name: Push, How: "Transfers signed beforehand, one a transaction, with the keys of the chain's accounts, sent over HTTP, each connection the next as soon as its last is answered. " +
			"The client shares the processors with the node.",
			Metrics: list(more(perSecond, rate), of(seconds, half, nearAll, each, client), memory[:1])},
			"–", "seconds", "the chain", serves, nil},
		{record.Suite{Name: Stop, How: "From SIGTERM until the process is gone, after the transfers of `push`, with what it writes meanwhile.",
			Metrics: list(of(seconds, took), of(bytesUnit, written))},
			"exit: dirty pages are written (E7)", "seconds", "the chain", serves, nil},
		{record.Suite{Name: Disk, How: "Transfers at a steady rate over HTTP, then the end of the process. A year is the bytes per second while it serves, and what is written at the end " +
			"(a checkpoint) once in the time that lies between checkpoints. The device's bytes are those of the whole disk, whoever wrote them, its end included.",
			Metrics: list(of(byteRate, running), of(bytesUnit, atEnd), of(yearly, year), more(years, lasts), of(bytesUnit, device, blocksGrew, stateGrew), of(percent, share), of(seconds, nearAll), memory[:1])},
			"writes to the drive at 10-15 and 15-40 transactions per second, and the years that it lasts (E5, E6, E8, W5, W6)", "--for", "the chain, and what is written", serves, (*life).disk},
		{record.Suite{Name: DiskFollow, How: "As `disk`, of a node that makes no blocks: the transfers are sent to the source, another node, which it follows, and has all blocks of at the end. Both share the processors.",
			Metrics: list(of(byteRate, running), of(bytesUnit, atEnd), of(yearly, year), more(years, lasts), of(bytesUnit, blocksGrew, stateGrew), of(percent, share), memory[:1])},
			"the same, of a node that others make the blocks for", "--for", "the chain, twice, and what is written", keepsUp, (*life).diskFollow},
		{record.Suite{Name: Snapshot, How: "A snapshot of the state while the node makes blocks: from the question until the file is whole; meanwhile the longest time without a new block, until the answer. Then a new node starts from the snapshot, until it answers, and ends well. " +
			"Processor, waits, memory and the curves are the new node's.",
			Metrics: list(of(seconds, took, blockWait), of(bytesUnit, size, written), of(seconds, loading, processor), of(bytesUnit, loadWritten, atEnd), of(number, faults), of(bytesUnit, swap), memory)},
			"first start, from a snapshot (E2)", "seconds", "the state, twice", saves, (*life).snapshot},
	}
}

// withOthers are the suites in which a node has clients or peers.
func withOthers() []Description {
	memory := of(bytesUnit, private, resident)
	return []Description{
		{record.Suite{Name: RPC, How: "Questions over HTTP that change nothing, of accounts that are chosen at random, first over connections, each the next as soon as its last is answered; " +
			"then at a rate, where a question's time counts from when it was due. The longest of each 10 s are averaged. The client shares the processors with the node.",
			Metrics: list(more(perSecond, rate), of(seconds, half, nearAll, longest, each, client), of(percent, openShare), of(seconds, openHalf, openNearAll, openLongest), of(bytesUnit, read, written), of(number, threads), memory[:1])},
			"requests answered over 30 connections, the longest of each interval, the processor at 50 per second, disk meanwhile (F1-F5, F8-F10)", "twice --ask-for", "the chain", asks, (*life).answer},
		{record.Suite{Name: Calls, How: "Each call alone, over connections, each the next as soon as its last is answered, of accounts that are chosen at random; of tables ten rows. The client shares the processors with the node."},
			"–", "--ask-for, for each call", "the chain", asks, (*life).calls},
		{record.Suite{Name: Sync, How: "A new node gets all blocks from the source, a node that makes none, with all checks; from the first block that a question finds until the last; then it ends. " +
			"The source shares the processors with the node.",
			Metrics: list(of(seconds, took), more(perSecond, blockRate), of(seconds, processor, source), of(bytesUnit, written), memory)},
			"sync from genesis (F6)", "seconds; of a recorded chain hours", "the chain, twice", follows, (*life).sync},
		{record.Suite{Name: Window, How: "As `sync`, on a chain that is longer than the time: blocks that the node has after it, and what it wrote until its end.",
			Metrics: list(more(number, blocks), more(perSecond, blockRate), of(seconds, processor, source), of(bytesUnit, written), memory)},
			"blocks in 60 minutes (F7)", "--window", "the chain, twice", follows, (*life).window},
		{record.Suite{Name: Syncing, How: "As `sync`, while questions come at the rate, as those of `rpc`; a question's time counts from when it was due, and what is not answered yet does not delay the next one. " +
			"The processor's time has the blocks and the answers in it.",
			Metrics: list(of(seconds, took), more(perSecond, blockRate), of(seconds, processor, source, nearAll, asLong), of(number, failed), memory[:1])},
			"–", "seconds", "the chain, twice", func(n Network) bool { return follows(n) && asks(n) }, (*life).syncing},
		{record.Suite{Name: Kill, How: "Transfers as in `push`, until all are in blocks; six more, each sent when the one before is in a block; kill -9. Then the start of the process until it answers, and which transfers are in no block any more. " +
			"A node that does not start again is a row that failed.",
			Metrics: list(of(number, forgotten), of(seconds, took, processor), of(bytesUnit, read))},
			"–", "seconds", "the chain", confirms, (*life).kill},
		{record.Suite{Name: KillSync, How: "A new node gets blocks as in `sync`; kill -9 when it tells that it has half of them. Then the start of the process, without peers, until it answers, and how many of the blocks that it told are not there any more; " +
			"with the source it must get the whole chain then. A node that does not is a row that failed.",
			Metrics: list(of(number, blocksLost), of(seconds, took, processor), of(bytesUnit, read))},
			"–", "seconds", "the chain, twice", follows, (*life).killSync},
		{record.Suite{Name: P2P, How: "Transfers signed beforehand, one a transaction, from one peer, until they are in blocks: the last may wait for half a second for its block.",
			Metrics: list(more(perSecond, rate), of(number, lost), of(seconds, each, client), memory[:1])},
			"–", "seconds", "the chain", gossips, (*life).gossip},
		{record.Suite{Name: Peer, How: "Light peers follow the node, which gets its blocks from the source, another node; that one takes transfers at the rate. " +
			"A block's time counts from when anybody has it. Peers and the other node share the processors with the node.",
			Metrics: list(of(percent, share), of(seconds, delay, nearAllTold), of(bitRate, sent), of(number, peersLost, threads), memory[:1])},
			"processor with 180-200 peers (E1, W1)", "--peer-for", "the chain, twice", crowds, (*life).peer},
		{record.Suite{Name: Serve, How: "Light peers are connected, and some of them fetch the whole chain again and again. Sent is what the peers received.",
			Metrics: list(more(bitRate, sent, perCore), of(percent, share), of(number, chains, peersLost), memory[:1])},
			"outbound network (W2)", "--peer-for", "the chain", crowds, (*life).serveBlocks},
	}
}

// keepingHistories are the suites of nodes that keep histories beside their chain.
func keepingHistories() []Description {
	memory := of(bytesUnit, private)
	ofTraces, ofStates := of(bytesUnit, traceBytes, index), of(bytesUnit, actions, rows)
	replay := list(of(seconds, took, processor), of(bytesUnit, written), memory)
	grew := list(more(number, taken), of(number, lost), of(bytesUnit, written, blocksGrew, logGrew, others, othersEach), of(percent, share), memory)
	pace := list(of(number, blocks), of(seconds, gapHalf, gapNearAll, gapLongest, latest), more(number, taken), of(number, lost), of(percent, share), memory)
	served := list(pace[:len(pace)-2], more(perSecond, streamed), pace[len(pace)-2:])
	collects := list(of(bytesUnit, resident), of(number, collections), of(seconds, pauseNearAll, pauseLongest), of(bytesUnit, heap, garbage))
	still := list(pace[:len(pace)-1], collects)
	return []Description{
		{record.Suite{Name: Traces, How: "A new node replays the chain and keeps traces. Then questions over HTTP, over connections, each the next as soon as its last is answered: for blocks with transactions, then for transactions; " +
			"half of them from anywhere in the chain, half from its last tenth. The chain stands still. The client shares the processors with the node.",
			Metrics: inParts(list(more(perSecond, rate), of(seconds, half, nearAll, each, client), memory), askBlocks, askTransactions)},
			"–", "twice --ask-for", "the chain and its traces", traces, (*life).traces},
		{record.Suite{Name: Histories, How: "New nodes, each from the start of the process on the chain's blocks until it has all of them and the last byte of a history is written: one that keeps nothing beside the chain, one traces, one the state history, one both. " +
			"What a history costs is what a replay takes more than the one that keeps nothing. The histories are the sizes of their files.",
			Metrics: list(inParts(replay, string(KeepNothing)), inParts(list(replay, ofTraces), string(KeepTraces)),
				inParts(list(replay, ofStates), string(KeepStates)), inParts(list(replay, ofStates, ofTraces), string(KeepBoth)))},
			"–", "seconds, four times", "the chain and its histories", keeps, (*life).histories},
		{record.Suite{Name: Recording, How: "A peer sends transfers at the load's rate to a new node that makes blocks: to one that keeps no history, then to one that keeps both. Written is what the kernel counts for the process meanwhile; " +
			"the other bytes are what files grew by. The rest is what was written to other files, such as the state: that of a node that keeps histories is to be no more than that of the other.",
			Metrics: list(inParts(grew, string(KeepNothing)), inParts(list(grew, ofStates, ofTraces), string(KeepBoth)))},
			"–", "twice --load-for", "the chain, and what is written", loads, (*life).recording},
		{record.Suite{Name: Streams, How: "A new node replays the chain, keeps its state history, and makes blocks. A peer sends transfers at the load's rate, while no client, one, and all of them read blocks with traces and rows from the first block to the chain's last, again and again. " +
			"Gaps are the times between two blocks that come to the peer: there should be half a second. The latest is that of a block from when its half second began.",
			Metrics: list(inParts(pace, noClient), inParts(served, oneClient, allClients))},
			"–", "three times --load-for", "the chain, its history, and what is written", streams, (*life).streams},
		{record.Suite{Name: Setcode, How: "A peer sends transfers at the load's rate to a node that makes blocks: first without deployments, then while contracts of 400 KB are put on accounts over HTTP, another code each time, and called at once. " +
			"Gaps are as in streams; a deployment takes until the answer to the call. A program in Go tells of its collections of garbage, which are made twice as often as usual; garbage is what is allocated for each transfer in the last two thirds of the time.",
			Metrics: list(inParts(still, noDeployment), inParts(list(still, of(seconds, deployHalf, deployLongest)), deploying))},
			"–", "twice (--deployments + 1) * --deploy-every", "the chain, and what is written", deploys, (*life).setcode},
	}
}

// withLimits are the suites of nodes that have less than they want.
func withLimits() []Description {
	answered := list(more(perSecond, rate), of(seconds, half, nearAll, each, client), of(bytesUnit, read))
	return []Description{
		{record.Suite{Name: Memory, How: "A node in a control group whose memory, the page cache included, is less than the files of its state, which was made without the group. It starts with its files out of the page cache, " +
			"answers questions of accounts that are chosen at random, over connections, takes transfers, and ends. The client is not in the group. A node that cannot live so is a row that failed.",
			Metrics: list(inParts(list(of(seconds, took), of(bytesUnit, onDisk, read), of(number, faults)), Start),
				inParts(answered, askQuestions, sendTransfers), inParts(list(of(seconds, took), of(bytesUnit, written, private, swap)), Stop))},
			"32 GB of memory, the rest on swap (E2)", "--ask-for, and seconds", "the chain", asks, (*life).memory},
		{record.Suite{Name: MemorySnapshot, How: "A new node in a control group whose memory is less than a snapshot that was written without the group begins with the snapshot, until it answers; " +
			"then it writes one itself, until the file is whole, for which it reads all of its state; then it ends. A node that cannot live so is a row that failed.",
			Metrics: list(inParts(list(of(seconds, took), of(bytesUnit, size, read, written), of(number, faults)), Start),
				inParts(list(of(seconds, took), of(bytesUnit, written)), Snapshot), inParts(list(of(seconds, took), of(bytesUnit, written, private, swap)), Stop))},
			"first start, from a snapshot, with 32 GB of memory (E2)", "seconds", "the state, twice", saves, (*life).memorySnapshot},
	}
}
