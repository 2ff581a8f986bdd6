package page

// A build with one of the fault_* tags plants one fault, to prove that the tests
// notice it. Ordinary builds have none, and the compiler leaves no trace.
const (
	noFault = iota
	skipDataSync
	skipMetaSync
	skipDirSync
	logAfterMeta
	writeInPlace
	skipChecksum
	trustCache
)
