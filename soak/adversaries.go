package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// adversaries are all that soak has, but for the suites of `flaky`. Turns take about as long
// as they are told.
func adversaries(root string, turn time.Duration) ([]adversary, error) {
	list := slices.Concat(kills(), powerCuts(), crashesInARow(), crashStates(), damage(), disks(), randomWork(),
		hostile(turn), nodeosJudges(turn), operaJudges(turn))
	targets, err := fuzzers(root, turn)
	if err != nil {
		return nil, fmt.Errorf("look for fuzz targets: %w", err)
	}
	list = slices.Concat(list, targets, races())
	names := map[string]bool{}
	for i := range list {
		if names[list[i].Name] {
			return nil, fmt.Errorf("two adversaries are called %q", list[i].Name)
		}
		names[list[i].Name] = true
	}
	return list, nil
}

// struckPattern counts what a suite of the stores says that it did to one of its engines.
func struckPattern(what string) *regexp.Regexp { return regexp.MustCompile(`\b` + what + `=(\d+)\b`) }

func kills() []adversary {
	kind := "kills"
	return []adversary{
		{Kind: kind, Name: "killed stores",
			What: "SIGKILL at any moment of a store's work, opening and recovery included; nothing durable is " +
				"lost, what is found is a revision",
			Package: "./store/storetest/enginestest", Run: "^TestKill$",
			Args: []string{"-storetest.seed=$seed", "-storetest.kills=$n"}, Size: 4,
			Count: struckPattern("kills"), Unit: "kills on seven engines"},
		{Kind: kind, Name: "killed Antelope nodes",
			What: "SIGKILL while blocks are pushed, replayed, or a snapshot is loaded; the next start is at the " +
				"head that was told",
			Package: "./antelope/node", Run: "^TestAKilledNodeComesBackByItself$",
			Args: []string{"-node.seed=$seed", "-node.kills=$n"}, Size: 1,
			Count: struckPattern("kills"), Unit: "kills on seven engines"},
		{Kind: kind, Name: "killed Opera imports",
			What:    "SIGKILL in a genesis or an import; no block that was told is lost, the next start comes to the same chain",
			Package: "./opera/node", Run: "^TestAKilledImportGoesOnWithWhatItHad$",
			Args: []string{"-node.seed=$seed", "-node.kills=$n"}, Size: 1, Unit: "kills on each of seven engines"},
		{Kind: kind, Name: "killed Opera replays",
			What:    "SIGKILL in the replay of a simulated network; the same blocks",
			Package: "./opera/difftest", Run: "^TestAKilledReplayComesToTheSameBlocks$",
			Args: []string{"-difftest.seed=$seed", "-difftest.kills=$n"}, Size: 1, Unit: "kills on each of seven engines"},
		{Kind: kind, Name: "killed Opera followers",
			What:    "SIGKILL of a node that follows a validator and answers requests; nothing that it told is lost",
			Package: "./opera/difftest", Run: "^TestAKilledFollowerLosesNothingThatItTold$",
			Args: []string{"-difftest.seed=$seed", "-difftest.followerkills=$n"}, Size: 4, Unit: "kills"},
		{Kind: kind, Name: "killed Opera downloads",
			What:    "SIGKILL of a node that overtakes its network by a downloaded state",
			Package: "./opera/difftest", Run: "^TestANodeOvertakesAnotherOfItsKind$",
			Args: []string{"-difftest.seed=$seed", "-difftest.overtakekills=$n"}, Size: 2, Unit: "kills"},
	}
}

func powerCuts() []adversary {
	kind, disk := "power cuts", []need{asRoot}
	return []adversary{
		{Kind: kind, Name: "stores without power",
			What: "a file system is shut down with all that was not synced, and processes are killed between; " +
				"what was acknowledged is there",
			Package: "./store/storetest/enginestest", Run: "^TestPowerCut$",
			Args: []string{"-storetest.seed=$seed", "-storetest.cuts=$n"}, Size: 2,
			Count: struckPattern("cuts"), Unit: "cuts on seven engines", Needs: disk},
		{Kind: kind, Name: "stores without power at once",
			What:    "the power is cut right after a store was opened at an image that only the page cache had",
			Package: "./store/storetest/enginestest", Run: "^TestPowerCutAfterOpen$",
			Args: []string{"-storetest.seed=$seed"}, Unit: "cuts on each of seven engines", Needs: disk},
		{Kind: kind, Name: "Opera replays without power", What: "the disk of a replay loses its power; the same blocks",
			Package: "./opera/difftest", Run: "^TestAReplayWithoutPowerComesToTheSameBlocks$",
			Args: []string{"-difftest.seed=$seed", "-difftest.kills=$n"}, Size: 1,
			Unit: "cuts on each of seven engines", Needs: disk},
		{Kind: kind, Name: "starts of Antelope nodes",
			What: "other options, engines and disks at each start, kills, cuts and full disks between; a right " +
				"head, or a remedy that works",
			Package: "./antelope/node", Run: "^TestEveryStartIsAtTheRightHeadOrNamesARemedyThatWorks$",
			Args: []string{"-node.seed=$seed", "-node.starts=$n"}, Size: 2, Unit: "starts of each kind", Needs: disk},
	}
}

func crashesInARow() []adversary {
	kind := "two crashes in a row, and more"
	return []adversary{
		{Kind: kind, Name: "page stores that crash again",
			What:    "kills at any call, failing syncs, power cuts, each life going on with what the last one left",
			Package: "./store/page", Run: "^TestAStoreThatCrashesAgainAndAgainKeepsItsPromises$",
			Args: []string{"-crash.seed=$seed"}, Unit: "states",
			Count: regexp.MustCompile(`: (\d+) states, \d+ kills`)},
		{Kind: kind, Name: "seals that crash again", What: "the same for the seal of the LSM engines",
			Package: "./store/lsm", Run: "^TestASealThatCrashesAgainAndAgainKeepsItsPromises$",
			Args: []string{"-lsm.seed=$seed", "-lsm.lives=$n"}, Size: 200, Unit: "seals"},
		{Kind: kind, Name: "histories that crash again", What: "the same for an append-only log",
			Package: "./appendonly", Run: "^TestALogThatCrashesAgainAndAgainKeepsItsPromises$",
			Args: []string{"-appendonly.seed=$seed", "-appendonly.states=$n"}, Size: 800, Unit: "states asked for"},
		{Kind: kind, Name: "state histories that crash again",
			What:    "the same for the logs of state history, and repairs that are cut short",
			Package: "./antelope/ship/shiplog",
			Run:     "^Test(CrashesAfterCrashesLoseNothingThatWasSynced|ARepairThatIsCutShortIsEndedByTheNext)$",
			Args:    []string{"-shiplog.seed=$seed", "-shiplog.lives=$n", "-shiplog.spoiled=$n"}, Size: 10,
			Unit: "lives of each kind"},
		{Kind: kind, Name: "traces that crash again", What: "the same for the slices of traces",
			Package: "./antelope/tracelog/slicefile",
			Run:     "^Test(CrashesAfterCrashesLeaveOnlyBlocksOfTheChain|ARepairThatIsCutShortIsEndedByTheNext)$",
			Args:    []string{"-slicefile.seed=$seed", "-slicefile.rounds=$n", "-slicefile.spoiled=$n"}, Size: 60,
			Unit: "starts"},
		{Kind: kind, Name: "block logs that crash in a repair",
			What:    "a crash while a log is repaired after a crash loses nothing more",
			Package: "./antelope/blocklog", Run: "^TestACrashDuringRepairLosesNothingMore$",
			Args: []string{"-blocklog.seed=$seed", "-blocklog.states=$n"}, Size: 1500, Unit: "states asked for"},
		{Kind: kind, Name: "validators that lose their power",
			What: "networks whose nodes are killed and lose their power again and again; nobody signs twice, " +
				"blocks that were told stay",
			Package: "./opera/emitter", Run: "^TestANetworkOutlivesPowerCuts$",
			Args: []string{"-crash.seed=$seed", "-crash.states=$n"}, Size: 60, Unit: "times three ends of lives"},
		{Kind: kind, Name: "Opera nodes that crash again",
			What:    "SIGKILL of an import, and of each start that would recover from it, on all engines; the same chain",
			Package: "./opera/node", Run: "^TestAStartThatIsKilledIsRecoveredByTheNext$",
			Args: []string{"-node.seed=$seed", "-node.kills=$n"}, Size: 1,
			Unit: "times four kills on each of seven engines"},
	}
}

func crashStates() []adversary {
	kind := "crash states"
	return []adversary{
		{Kind: kind, Name: "crash states of page stores",
			What:    "what a disk may hold after a power cut at any write; a promised image, exactly",
			Package: "./store/page", Run: "^Test(CrashStatesOpenAtAPromisedCheckpoint|CrashStatesOpenInEveryMode)$",
			Args: []string{"-crash.seed=$seed", "-crash.states=$n"}, Size: 4000, Unit: "states",
			Count: regexp.MustCompile(`: (\d+) crash states opened`)},
		{Kind: kind, Name: "crash states of histories", What: "the same for logs and indexes that are written once",
			Package: "./appendonly", Run: "PowerCut", Args: []string{"-appendonly.seed=$seed", "-appendonly.states=$n"},
			Size: 800, Unit: "states of each of three"},
		{Kind: kind, Name: "crash states of block logs", What: "the same for block logs and reversible blocks",
			Package: "./antelope/blocklog",
			Run:     "^Test(EveryCrashStateOpensWithWhatWasSynced|ReversibleBlocksSurviveEveryCrash|ReversibleBlocksBehindANameThatIsNotDurableSurvive)$",
			Args:    []string{"-blocklog.seed=$seed", "-blocklog.states=$n"}, Size: 1500, Unit: "states of each life"},
		{Kind: kind, Name: "crash states of state histories", What: "the same for state history",
			Package: "./antelope/ship/shiplog",
			Run:     "^Test(APowerCutLosesNothingThatWasSynced|ACrashWhileAnIndexIsMadeAgainLosesNothing|ACrashWhileALogIsClearedLeavesNoGap)$",
			Args:    []string{"-shiplog.seed=$seed", "-shiplog.states=$n"}, Size: 100, Unit: "states of each life"},
		{Kind: kind, Name: "crash states of traces", What: "the same for traces",
			Package: "./antelope/tracelog/slicefile",
			Run:     "^TestAPowerCut", Args: []string{"-slicefile.seed=$seed", "-slicefile.states=$n"}, Size: 100,
			Unit: "states asked for"},
		{Kind: kind, Name: "crash states of Opera chains",
			What:    "the same for a whole chain, and one that records come to, and one that goes over to a state",
			Package: "./opera/chain", Run: "^TestAPowerCut", Args: []string{"-crash.seed=$seed", "-crash.states=$n"},
			Size: 40, Count: regexp.MustCompile(`: (?:of )?(\d+) states`), Unit: "states"},
		{Kind: kind, Name: "crash states of validators",
			What:    "what a validator goes on from after a power cut; it signs nothing twice",
			Package: "./opera/emitter", Run: "PowerCutMakesNobodySignTwice|Journal",
			Args: []string{"-crash.seed=$seed", "-crash.states=$n"}, Size: 60,
			Count: regexp.MustCompile(`[ ,](\d+) states`), Unit: "states"},
	}
}

func damage() []adversary {
	kind := "damage"
	list := []adversary{
		{Kind: kind, Name: "damaged page stores",
			What:    "bits, cuts, exchanged and older pages; found, or the content of one of the images",
			Package: "./store/page", Run: "^TestNoDamageGoesUnnoticed$",
			Args: []string{"-crash.seed=$seed", "-crash.corruptions=$n"}, Size: 20000, Unit: "damages asked for"},
		{Kind: kind, Name: "damaged folders of Antelope nodes",
			What: "old states and logs in any combination, torn, cut, lengthened; started from, or refused with a " +
				"remedy, which works",
			Package: "./antelope/node", Run: "^TestDamagedFoldersAreMendedOrRefusedWithTheRemedy$",
			Args: []string{"-node.seed=$seed", "-node.tears=$n"}, Size: 4, Unit: "folders on each of two engines"},
		{Kind: kind, Name: "any damage to Antelope nodes",
			What: "any file of a whole node's folder flipped, zeroed, overwritten, cut or lengthened anywhere, on " +
				"all engines; the same answers, refused, or named",
			Package: "./antelope/node", Run: "^TestAnyDamageIsHarmlessOrNamed$",
			Args: []string{"-node.seed=$seed", "-node.damages=$n"}, Size: 4, Count: struckPattern("damages"),
			Unit: "folders on seven engines"},
		{Kind: kind, Name: "damaged state histories",
			What:    "a bit of any file; a client gets each irreversible block as it was, or is ended",
			Package: "./antelope/ship", Run: "^TestNoDamageMakesABlockAnother$", Args: []string{"-ship.seed=$seed"},
			Unit: "runs"},
		{Kind: kind, Name: "damaged traces", What: "a bit of any file; a block's traces are as they were, or named",
			Package: "./antelope/tracelog", Run: "^TestDamagedTracesAreNotThoseOfAnotherBlock$",
			Args: []string{"-tracelog.seed=$seed"}, Unit: "times 25 bits"},
		{Kind: kind, Name: "any damage to Opera nodes", What: "the same for whole Opera nodes",
			Package: "./opera/node", Run: "^TestAnyDamageIsHarmlessOrNamed$",
			Args: []string{"-node.seed=$seed", "-node.damages=$n"}, Size: 4, Count: struckPattern("damages"),
			Unit: "folders on seven engines"},
	}
	for _, library := range []string{"badger", "leveldb", "pebble"} {
		list = append(list, adversary{Kind: kind, Name: "damaged stores of " + library,
			What:    "bits and cuts in any file of the library; found or harmless",
			Package: "./store/lsm/" + library, Run: "/DamageIsFoundOrHarmless",
			Args: []string{"-seed=$seed", "-damage=$n"}, Size: 60, Unit: "times two damages"})
	}
	return list
}

func disks() []adversary {
	kind := "full and failing disks"
	return []adversary{
		{Kind: kind, Name: "full disks below stores",
			What: "a disk fills up; the refusal is typed, the store can be read, undone, opened again, and goes " +
				"on with room",
			Package: "./store/storetest/enginestest", Run: "^TestNoSpace$", Args: []string{"-storetest.seed=$seed"},
			Unit: "disks on each of seven engines", Needs: []need{asRoot}},
		{Kind: kind, Name: "full stores", What: "random work in a store at its limit",
			Package: "./store/storetest/enginestest",
			Run:     "^TestModelFull$", Args: []string{"-storetest.seed=$seed", "-storetest.rounds=$n"}, Size: 1,
			Unit: "rounds on each engine with a limit"},
		{Kind: kind, Name: "failing checkpoints",
			What:    "each step of the LSM engines' flushes fails, for long stretches",
			Package: "./store/storetest/enginestest",
			Run:     "^TestModelFailing$", Args: []string{"-storetest.seed=$seed", "-storetest.rounds=$n"}, Size: 3,
			Unit: "rounds on each LSM engine"},
		{Kind: kind, Name: "failing disks below page stores",
			What:    "each call to the disk fails, once and from then on; the error surfaces, nothing promised is lost",
			Package: "./store/page",
			Run:     "^Test(EveryFailedCallSurfacesAndLosesNothing|FailedCreationCanBeRepeated|ADiskThatLiesIsFoundOut)$",
			Args:    []string{"-crash.seed=$seed", "-crash.states=$n"}, Size: 4000, Most: 20000,
			Unit: "states asked for"},
		{Kind: kind, Name: "failing disks below block logs", What: "the same for block logs and reversible blocks",
			Package: "./antelope/blocklog", Run: "Failure", Args: []string{"-blocklog.seed=$seed"},
			Unit: "times all calls"},
		{Kind: kind, Name: "failing disks below histories", What: "the same for histories",
			Package: "./appendonly", Run: "Fail", Args: []string{"-appendonly.seed=$seed"}, Unit: "times all calls"},
		{Kind: kind, Name: "failing disks below state histories", What: "the same for state history",
			Package: "./antelope/ship/shiplog", Run: "^TestACallThatFailsIsToldAndLosesNothing$",
			Args: []string{"-shiplog.seed=$seed"}, Unit: "times all calls"},
		{Kind: kind, Name: "failing disks below Opera chains",
			What:    "any call to the disk fails once in a chain's life",
			Package: "./opera/chain", Run: "^TestAnyCallToTheDiskMayFail$",
			Args: []string{"-crash.seed=$seed", "-crash.faults=$n"}, Size: 60, Unit: "faults"},
		{Kind: kind, Name: "full disks below Opera nodes",
			What: "a node's disk is full at whatever it does; it ends and names the disk, and with room goes on " +
				"to the same chain",
			Package: "./opera/node", Run: "^TestAFullDiskEndsTheNodeAndLosesNothing$",
			Args: []string{"-node.seed=$seed"}, Unit: "times fourteen disks", Needs: []need{asRoot}},
	}
}

func randomWork() []adversary {
	kind := "random work beside a model"
	return []adversary{
		{Kind: kind, Name: "stores beside a model", What: "random operations, crashes and refusals on all engines",
			Package: "./store/storetest/enginestest",
			Run:     "^TestModel$", Args: []string{"-storetest.seed=$seed", "-storetest.rounds=$n"}, Size: 1,
			Unit: "rounds of 12,000 operations on each of seven engines"},
		{Kind: kind, Name: "sandboxes beside a model", What: "a small store above a view, until memory ends",
			Package: "./store/viewoverlay", Run: ".", Args: []string{"-seed=$seed"}, Unit: "runs"},
		{Kind: kind, Name: "merged layers beside a model", What: "cursors over layers, some of which cannot be read",
			Package: "./store/mergecursor", Run: ".", Args: []string{"-seed=$seed"}, Unit: "runs"},
		{Kind: kind, Name: "producers of Antelope",
			What:    "networks that are cut at random, random blocks; all agree in the end",
			Package: "./antelope/producer",
			Run:     "^Test(ProducersThatAreCutAtRandomAgreeInTheEnd|AFollowerOfRandomBlocksHasTheSameState)$",
			Args:    []string{"-producer.seed=$seed"}, Unit: "runs"},
		{Kind: kind, Name: "forks of Antelope chains",
			What:    "producers that lose sight of each other; followers in every order come to the same head and hash",
			Package: "./antelope/chain", Run: "Followers|Irreversible|BadBlock",
			Args: []string{"-forks.seed=$seed", "-forks.rounds=$n"}, Size: 3, Unit: "chains"},
		{Kind: kind, Name: "block logs beside a model", What: "random lives of block logs",
			Package: "./antelope/blocklog", Run: "^TestLogsDoWhatTheModelSays$",
			Args: []string{"-blocklog.seed=$seed"}, Unit: "lives"},
		{Kind: kind, Name: "Antelope's tables beside a model", What: "random rows of all tables, and undo",
			Package: "./antelope/state", Run: "^TestStatesAreWhatPlainMapsSay$",
			Args: []string{"-state.seed=$seed"}, Unit: "runs"},
		{Kind: kind, Name: "Opera's state beside go-ethereum's",
			What:    "what contracts see after random calls, roots, proofs, old states",
			Package: "./opera/state", Run: "GoEthereum|OldState|Engine|Proofs|Import|Difference",
			Args: []string{"-state.seed=$seed"}, Unit: "runs"},
		{Kind: kind, Name: "Opera's pool beside a model", What: "random transactions, blocks, restarts",
			Package: "./opera/txpool", Run: "^TestModel$", Args: []string{"-txpool.seed=$seed", "-txpool.steps=$n"},
			Size: 3000, Unit: "steps"},
		{Kind: kind, Name: "fleets", What: "replicas on all engines and two publishers, which end and begin at any " +
			"moment, over chains with forks; every row is the node's",
			Package: "./fleet/stream", Run: "^Test(ReplicasFollow|PublishersTakeEachOthersPlace)$",
			Args: []string{"-stream.seed=$seed", "-stream.blocks=$n"}, Size: 300, Most: 3000, Unit: "blocks"},
		{Kind: kind, Name: "replicas of Antelope",
			What:    "the same for a chain of four producers that goes over to Savanna's rules",
			Package: "./antelope/replica", Run: "^TestReplicasHaveTheNodesState$",
			Args: []string{"-replica.seed=$seed"}, Unit: "chains"},
		{Kind: kind, Name: "replicas of Opera",
			What:    "the same for a chain of transfers and contracts, with replicas that are killed",
			Package: "./opera/replica", Run: "^TestReplicasHaveTheNodesChain$", Args: []string{"-replica.seed=$seed"},
			Unit: "chains"},
		{Kind: kind, Name: "exports of fleets", What: "chains with forks that are exported, with interruptions, " +
			"kills and power cuts at any change of a file; the files are those of an export that nothing interrupts",
			Package: "./fleet/parquet", Run: "^Test", Args: []string{"-parquet.seed=$seed"}, Unit: "chains"},
		{Kind: kind, Name: "signatures beside libraries", What: "random and damaged signatures, keys and numbers",
			Package: "./secp256k1", Run: ".", Args: []string{"-secp256k1.seed=$seed", "-secp256k1.effort=$n"}, Size: 1,
			Unit: "times all"},
		{Kind: kind, Name: "senders beside go-ethereum", What: "senders of random transactions",
			Package: "./opera/senderrecovery", Run: ".", Args: []string{"-sender.seed=$seed", "-sender.effort=$n"}, Size: 1,
			Unit: "times all"},
		{Kind: kind, Name: "floats", What: "random operands of softfloat beside big numbers",
			Package: "./antelope/softfloat", Run: "^Test", Args: []string{"-softfloat.seed=$seed"}, Unit: "runs"},
	}
}

func hostile(turn time.Duration) []adversary {
	kind := "hostile peers and requests beside honest ones"
	attack := max(time.Second, turn/30).String()
	return []adversary{
		{Kind: kind, Name: "strangers at an Antelope node",
			What: "peers and clients that lie, dawdle and flood, one attack after the other; honest peers hear " +
				"blocks in time, memory is bounded",
			Package: "./antelope/node", Run: "^TestHonestPeersHearBlocksBesideHostileOnes$",
			Args: []string{"-node.seed=$seed", "-node.hostile=" + attack}, Unit: "times all attacks"},
		{Kind: kind, Name: "strangers at an Opera node",
			What: "clients that dawdle and flood, one attack after the other, at a node in a container of 4 GiB; " +
				"honest answers and payments come in time",
			Package: "./opera/difftest", Run: "^TestHonestClientsAreServedBesideHostileOnes$",
			Args: []string{"-difftest.seed=$seed", "-difftest.hostile=" + attack}, Unit: "times all attacks",
			Needs: []need{asRoot}},
		{Kind: kind, Name: "strangers among Antelope peers",
			What: "in random order: lies about heads, half-sent messages, floods, silence; who misbehaves is " +
				"dropped, nothing is held",
			Package: "./antelope/p2p", Run: "Peer|Dropped|Hold|Claim|Stranger|Blame|Bounded|Misbehave",
			Args: []string{"-test.shuffle=$seed"}, Unit: "times all"},
		{Kind: kind, Name: "strangers among Opera peers", What: "the same for peers of Opera",
			Package: "./opera/p2p", Run: "Hostile|Flood|Bound|Blamed|Left|Gone|Wrong|NobodyElse|ServesNothing",
			Args: []string{"-p2p.seed=$seed", "-test.shuffle=$seed"}, Unit: "times all"},
		{Kind: kind, Name: "liars who give states",
			What:    "peers who lie, are silent, or answer in bits; the state is whole, or nobody's",
			Package: "./opera/statesync", Run: "^Test", Args: []string{"-test.shuffle=$seed"}, Unit: "times all"},
		{Kind: kind, Name: "floods of Opera's pool", What: "floods of peers and clients; the limits hold",
			Package: "./opera/txpool", Run: "Flood|Full|Journal|Replacement",
			Args: []string{"-txpool.seed=$seed", "-txpool.flood=$n", "-test.shuffle=$seed"}, Size: 50_000,
			Most: 500_000, Unit: "transactions"},
		{Kind: kind, Name: "requests that cost much",
			What:    "the worst requests of clients; limits hold, others are answered",
			Package: "./opera/rpc", Run: "Limit|Worst|Bounded|Lost|Pieces|Batches",
			Args: []string{"-test.shuffle=$seed"}, Unit: "times all"},
		{Kind: kind, Name: "clients that say nothing", What: "connections that dawdle, drip, go, or never read",
			Package: "./httpserver", Run: "^Test", Args: []string{"-test.shuffle=$seed"}, Unit: "times all"},
	}
}

// steeredWorkloads are the workloads whose every block a controller of nodeos is told to make, so many
// a turn that each has its time.
func steeredWorkloads() []string {
	return []string{"mix,elect-all", "accounts,bios,features,token", "perms,perms-all,perms-half",
		"prods,prods-all,prods-half",
		"limits,limits-all,code,code-all", "msig,msig-all,system,system-all", "db,db-all,math,memory",
		"crypto,crypto-all,context,context-all", "sends,sends-all,deferred,deferred-all"}
}

func nodeosJudges(time.Duration) []adversary {
	kind, env := "judged by nodeos", []need{judges}
	list := []adversary{
		{Kind: kind, Name: "networks with nodeos",
			What:    "partitions and kills in a network of nodeos and ours; the same head and hash everywhere",
			Package: "./antelope/difftest/network",
			Run:     "^Test(ProducersAgreeAfterPartitions|AKilledNodeComesBackInANetwork)$",
			Args:    []string{"-network.seed=$seed"}, Unit: "networks of each kind", Needs: env},
		{Kind: kind, Name: "histories beside nodeos",
			What:    "state history and traces of random work are those of nodeos; in random order",
			Package: "./antelope/difftest", Run: "History|Traces", Args: []string{"-test.shuffle=$seed"},
			Unit: "times all", Needs: env},
	}
	for _, names := range steeredWorkloads() {
		list = append(list, adversary{Kind: kind, Name: "steered: " + strings.ReplaceAll(names, ",", " "),
			What:    "a chain that nodeos' controller makes to the driver's will; the same state after its blocks",
			Package: "./antelope/difftest", Run: "^TestOurChainComesToTheStateOfNodeosController$",
			Args: []string{"-steered.seed=$seed", "-steered.only=" + names},
			Unit: "times these workloads", Needs: env})
	}
	return list
}

func operaJudges(turn time.Duration) []adversary {
	kind, env, need := "judged by go-opera", []string{"TARN_JUDGES=1", "TARN_OPERA=build"}, []need{judges, compiler}
	half := max(time.Second, turn/2).String()
	return []adversary{
		{Kind: kind, Name: "graphs before lachesis-base",
			What:    "random graphs with forks: frames, Atropoi, cheaters, roots",
			Package: "./opera/dag", Run: "LachesisBase", Args: []string{"-dag.seed=$seed", "-dag.graphs=$n"}, Size: 500,
			Unit: "graphs", Env: env, Needs: need},
		{Kind: kind, Name: "values before go-opera", What: "random and damaged events, votes, proofs, records, rules",
			Package: "./opera/inter", Run: "GoOpera", Args: []string{"-inter.seed=$seed", "-inter.judged=$n"},
			Size: 5000, Unit: "values of each kind", Env: env, Needs: need},
		{Kind: kind, Name: "checks before go-opera", What: "random events in random networks; what each check says",
			Package: "./opera/eventcheck", Run: "GoOpera",
			Args: []string{"-eventcheck.seed=$seed", "-eventcheck.judged=$n"}, Size: 100,
			Unit: "networks of a hundred events", Env: env, Needs: need},
		{Kind: kind, Name: "blocks before go-opera's processor",
			What:    "random states and blocks: receipts, logs, gas, roots",
			Package: "./opera/evm", Run: "GoOperas", Args: []string{"-evm.seed=$seed", "-evm.scenes=$n"}, Size: 300,
			Unit: "scenes", Env: env, Needs: need},
		{Kind: kind, Name: "votes and records before go-opera's service",
			What:    "random votes and records without events",
			Package: "./opera/chain", Run: "GoOperasService", Args: []string{"-fill.seed=$seed", "-fill.worlds=$n"},
			Size: 20, Unit: "worlds", Env: env, Needs: need},
		{Kind: kind, Name: "messages of states before go-opera", What: "random and damaged messages of fsnap",
			Package: "./opera/p2p/fsnap", Run: "GoOpera", Args: []string{"-fsnap.seed=$seed", "-fsnap.judged=$n"},
			Size: 2000, Unit: "messages of each code", Env: env, Needs: need},
		{Kind: kind, Name: "simulated networks before go-opera",
			What:    "networks with cheaters, cuts, all of the driver; the same blocks and roots",
			Package: "./opera/difftest", Run: "^TestASimulatedNetworkIsGoOperas$",
			Args:  []string{"-difftest.seed=$seed", "-difftest.for=" + half},
			Count: regexp.MustCompile(`seed \d+: \d+ blocks, \d+ transactions, \d+ epochs, (\d+) cheaters`),
			Unit:  "cheaters among their validators", Env: env, Needs: need},
		{Kind: kind, Name: "networks of both",
			What:    "validators of both that work, crash, stop, and fall apart; one chain",
			Package: "./opera/difftest", Run: "^TestAMixedNetworkAgrees$",
			Args: []string{"-difftest.seed=$seed", "-difftest.mixed=$n"}, Size: 2, Unit: "rounds", Env: env, Needs: need},
	}
}

// racedPackages are the packages whose goroutines share memory.
func racedPackages() []string {
	return []string{"./antelope/blocklog", "./antelope/chain", "./antelope/execute", "./antelope/node",
		"./antelope/p2p", "./antelope/writebehind", "./antelope/rpc",
		"./antelope/ship", "./antelope/ship/shiplog", "./antelope/state", "./antelope/tracelog", "./livepage",
		"./appendonly", "./opera/chain", "./opera/emitter",
		"./opera/node", "./opera/p2p", "./opera/rpc", "./opera/state", "./opera/statesync", "./opera/txpool", "./httpserver",
		"./store/lsm", "./store/page", "./store/viewoverlay", "./writerloop"}
}

func races() (list []adversary) {
	for _, pkg := range racedPackages() {
		list = append(list, adversary{Kind: "races", Name: "races in " + strings.TrimPrefix(pkg, "./"),
			What:    "its short tests in random order, with the race detector and the checks of invariants",
			Package: pkg, Run: "^Test", Args: []string{"-test.shuffle=$seed", "-test.short"}, Unit: "times all",
			Race: true, Needs: []need{compiler}, Limit: 20 * time.Minute})
	}
	return list
}
