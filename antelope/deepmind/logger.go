package deepmind

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"iter"
	"strconv"

	"tarn/antelope/consensus"
	"tarn/antelope/feature"
	"tarn/antelope/finality"
	"tarn/antelope/serial"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Options of a [Logger].
type Options struct {
	// ZeroElapsed writes traces with a time of 0, so that a log can be repeated.
	ZeroElapsed bool
	// Spring names Spring's version in the first line, and ends what is said of a block before
	// Savanna's rules with the root of its actions by these (Spring: block_state_legacy). The
	// chain must be asked for that root. Blocks under Savanna's rules are told in one way only.
	Spring bool
	// Failed is called once, when a line could not be written. Nothing is written
	// after it: a reader must not take a log with a hole for a whole one. nodeos
	// ends the process. May be nil.
	Failed func(error)
}

// Logger writes what it is told as lines, each with one call of the writer. It is
// used by one goroutine.
//
// It has a method for each kind of line of the format.
type Logger struct {
	w   io.Writer
	o   Options
	buf []byte
	err error

	action uint32
	event  ramEvent
}

// ramEvent is what a change of RAM is for.
type ramEvent struct{ id, family, operation, legacyTag string }

// anyEvent is for changes that nobody has named.
var anyEvent = ramEvent{"generic", "generic", "generic", "generic"}

// New returns a logger that writes to w.
func New(w io.Writer, o Options) *Logger { return &Logger{w: w, o: o, event: anyEvent} }

// Err returns the first error of the writer.
func (l *Logger) Err() error { return l.err }

// line is a line that is being put together.
type line struct{ b []byte }

// begin starts a line with what kind it is.
func (l *Logger) begin(kind string) *line {
	return &line{append(append(l.buf[:0], "DMLOG "...), kind...)}
}

// end writes the line.
func (l *Logger) end(n *line) {
	l.buf = append(n.b, '\n')
	if l.err != nil {
		return
	}
	if _, err := l.w.Write(l.buf); err != nil {
		l.err = fmt.Errorf("write deep-mind log: %w", err)
		if l.o.Failed != nil {
			l.o.Failed(l.err)
		}
	}
}

func (n *line) space() *line {
	n.b = append(n.b, ' ')
	return n
}

func (n *line) text(s string) *line {
	n.space()
	n.b = append(n.b, s...)
	return n
}

func (n *line) uint(v uint64) *line {
	n.space()
	n.b = strconv.AppendUint(n.b, v, 10)
	return n
}

func (n *line) int(v int64) *line {
	n.space()
	n.b = strconv.AppendInt(n.b, v, 10)
	return n
}

func (n *line) name(v types.Name) *line {
	n.space()
	n.b = v.AppendText(n.b)
	return n
}

func (n *line) hex(v []byte) *line {
	n.space()
	n.b = hex.AppendEncode(n.b, v)
	return n
}

func (n *line) time(t types.TimePoint) *line {
	n.space()
	n.b = t.AppendText(n.b)
	return n
}

// Startup implements [Tracer].
func (l *Logger) Startup(head uint32, actions uint64, abis iter.Seq2[types.Name, []byte]) {
	version := "DEEP_MIND_VERSION leap 13 0"
	if l.o.Spring {
		version = "DEEP_MIND_VERSION spring 1 0"
	}
	l.end(l.begin(version))
	l.end(l.begin("ABIDUMP START").uint(uint64(head)).uint(actions))
	for account, abi := range abis {
		if len(abi) > 0 {
			n := l.begin("ABIDUMP ABI").name(account).space()
			n.b = base64.StdEncoding.AppendEncode(n.b, abi)
			l.end(n)
		}
	}
	l.end(l.begin("ABIDUMP END"))
}

// StartBlock implements [Tracer].
func (l *Logger) StartBlock(num uint32) { l.end(l.begin("START_BLOCK").uint(uint64(num))) }

// AcceptedBlock implements [Tracer].
func (l *Logger) AcceptedBlock(b *consensus.BlockState, valid bool, actions types.Checksum256) {
	if s := b.Finality; s != nil {
		line := l.begin("ACCEPTED_BLOCK_V2").hex(b.ID[:]).uint(uint64(b.BlockNum)).uint(uint64(b.LIB()))
		line = line.hex(b.Block.Append(nil)).hex(s.AppendData(nil, actions))
		l.end(line.hex(s.Proposers.Append(nil)).hex(finality.AppendPolicyText(s.Finalizers, nil)))
		return
	}
	packed := b.HeaderState.Append(nil)
	if packed = serial.AppendBool(packed, b.Block != nil); b.Block != nil {
		packed = b.Block.Append(packed)
	}
	if packed = serial.AppendBool(packed, valid); l.o.Spring {
		packed = actions.Append(serial.AppendBool(packed, true))
	}
	l.end(l.begin("ACCEPTED_BLOCK").uint(uint64(b.BlockNum)).hex(packed))
}

// SwitchForks implements [Tracer].
func (l *Logger) SwitchForks(from, to types.Checksum256) {
	l.end(l.begin("SWITCH_FORK").hex(from[:]).hex(to[:]))
}

// StartTransaction implements [Tracer].
func (l *Logger) StartTransaction() { l.action = 0 }

// EndTransaction implements [Tracer].
func (l *Logger) EndTransaction() { l.action = 0 }

// Onblock implements [Tracer].
func (l *Logger) Onblock(t *types.Transaction, signed *types.PackedTransaction) {
	l.writeCreation("TRX_OP CREATE onblock", t, signed)
}

// OnError implements [Tracer]. nodeos looks at the transaction after it has given
// its actions away, and readers of its log know no others (Leap: controller.cpp,
// apply_onerror).
func (l *Logger) OnError(t *types.Transaction) {
	l.writeCreation("TRX_OP CREATE onerror", &types.Transaction{TransactionHeader: t.TransactionHeader}, nil)
}

// writeCreation writes a transaction; one that nobody signed has empty lists of signatures
// and context-free data.
func (l *Logger) writeCreation(kind string, t *types.Transaction, signed *types.PackedTransaction) {
	id := t.ID()
	n := l.begin(kind).hex(id[:])
	if signed != nil {
		l.end(n.hex(appendSigned(nil, signed)))
		return
	}
	l.end(n.hex(append(t.Append(nil), 0, 0)))
}

// AppliedTransaction implements [Tracer].
func (l *Logger) AppliedTransaction(block uint32, t *types.TransactionTrace) {
	if l.o.ZeroElapsed {
		c := *t
		c.Elapsed = 0
		c.ActionTraces = append([]types.ActionTrace(nil), t.ActionTraces...)
		for i := range c.ActionTraces {
			c.ActionTraces[i].Elapsed = 0
		}
		t = &c
	}
	l.end(l.begin("APPLIED_TRANSACTION").uint(uint64(block)).hex(t.Append(nil)))
}

// beginActionLine starts a line that says which action it is of.
func (l *Logger) beginActionLine(kind string) *line { return l.begin(kind).uint(uint64(l.action)) }

// InputAction implements [Tracer].
func (l *Logger) InputAction() { l.end(l.beginActionLine("CREATION_OP ROOT")) }

// EndAction implements [Tracer].
func (l *Logger) EndAction() { l.action++ }

// RequireRecipient implements [Tracer].
func (l *Logger) RequireRecipient() { l.end(l.beginActionLine("CREATION_OP NOTIFY")) }

// SendInline implements [Tracer].
func (l *Logger) SendInline() { l.end(l.beginActionLine("CREATION_OP INLINE")) }

// SendContextFreeInline implements [Tracer].
func (l *Logger) SendContextFreeInline() { l.end(l.beginActionLine("CREATION_OP CFA_INLINE")) }

// CreateDeferred implements [Tracer].
func (l *Logger) CreateDeferred(operation string, d *state.Deferred, signed *types.PackedTransaction) {
	packed := d.Packed
	if signed != nil {
		packed = appendSigned(nil, signed)
	}
	l.writeDeferred(operation, d, packed)
}

// appendSigned appends a transaction with its signatures and context-free data, as
// signed_transaction is packed. Data that cannot be unpacked was never accepted.
func appendSigned(b []byte, p *types.PackedTransaction) []byte {
	trx, data, err := p.Unpack()
	if err != nil {
		return b
	}
	b = types.AppendSignatures(trx.Append(b), p.Signatures)
	b = serial.AppendCount(b, len(data))
	for _, d := range data {
		b = serial.AppendBytes(b, d)
	}
	return b
}

// CancelDeferred implements [Tracer].
func (l *Logger) CancelDeferred(operation string, d *state.Deferred) {
	l.writeDeferred(operation, d, d.Packed)
}

func (l *Logger) writeDeferred(operation string, d *state.Deferred, packed []byte) {
	n := l.beginActionLine("DTRX_OP " + operation).name(d.Sender).space()
	n.b = d.SenderID.AppendText(n.b)
	n.name(d.Payer).time(d.Published).time(d.DelayUntil).time(d.Expiration)
	l.end(n.hex(d.TrxID[:]).hex(packed))
}

// FailDeferred implements [Tracer].
func (l *Logger) FailDeferred() { l.end(l.beginActionLine("DTRX_OP FAILED")) }

// RAMEvent implements [Tracer].
func (l *Logger) RAMEvent(id, family, operation, legacyTag string) {
	l.event = ramEvent{id, family, operation, legacyTag}
}

// RAMUsage implements [Tracer].
func (l *Logger) RAMUsage(account types.Name, usage uint64, delta int64) {
	e := l.event
	l.event = anyEvent
	n := l.beginActionLine("RAM_OP").text(e.id).text(e.family).text(e.operation).text(e.legacyTag)
	l.end(n.name(account).uint(usage).int(delta))
}

// RAMCorrection implements [Tracer].
func (l *Logger) RAMCorrection(r *state.RAMCorrection, delta uint64) {
	e := l.event
	l.event = anyEvent
	l.end(l.beginActionLine("RAM_CORRECTION_OP").uint(r.ID).text(e.id).name(r.Name).uint(delta))
}

// CreateTable implements [Tracer].
func (l *Logger) CreateTable(k state.TableKey, payer types.Name) {
	l.end(l.beginActionLine("TBL_OP INS").table(k).name(payer))
}

// RemoveTable implements [Tracer].
func (l *Logger) RemoveTable(k state.TableKey, payer types.Name) {
	l.end(l.beginActionLine("TBL_OP REM").table(k).name(payer))
}

func (n *line) table(k state.TableKey) *line { return n.name(k.Code).name(k.Scope).name(k.Table) }

// row is a row's place; primary keys are written as if they were names.
func (n *line) row(k state.RowKey) *line { return n.table(k.TableKey).name(types.Name(k.Primary)) }

// StoreRow implements [Tracer].
func (l *Logger) StoreRow(k state.RowKey, payer types.Name, value []byte) {
	l.end(l.beginActionLine("DB_OP INS").name(payer).row(k).hex(value))
}

// UpdateRow implements [Tracer].
func (l *Logger) UpdateRow(k state.RowKey, oldPayer, payer types.Name, old, value []byte) {
	n := l.beginActionLine("DB_OP UPD").name(oldPayer)
	n.b = payer.AppendText(append(n.b, ':'))
	n.row(k).hex(old)
	n.b = hex.AppendEncode(append(n.b, ':'), value)
	l.end(n)
}

// RemoveRow implements [Tracer].
func (l *Logger) RemoveRow(k state.RowKey, payer types.Name, value []byte) {
	l.end(l.beginActionLine("DB_OP REM").name(payer).row(k).hex(value))
}

// PreactivateFeature implements [Tracer].
func (l *Logger) PreactivateFeature(f *feature.Feature) {
	l.end(l.beginActionLine("FEATURE_OP PRE_ACTIVATE").hex(f.Digest[:]).feature(f))
}

// ActivateFeature implements [Tracer].
func (l *Logger) ActivateFeature(f *feature.Feature) {
	l.end(l.begin("FEATURE_OP ACTIVATE").hex(f.Digest[:]).feature(f))
}

// InitResourceLimits implements [Tracer].
func (l *Logger) InitResourceLimits(c *state.ResourceConfig, s *state.ResourceState) {
	l.end(l.begin("RLIMIT_OP CONFIG INS").resourceConfig(c))
	l.end(l.begin("RLIMIT_OP STATE INS").resourceState(s))
}

// UpdateResourceConfig implements [Tracer].
func (l *Logger) UpdateResourceConfig(c *state.ResourceConfig) {
	l.end(l.begin("RLIMIT_OP CONFIG UPD").resourceConfig(c))
}

// UpdateResourceState implements [Tracer].
func (l *Logger) UpdateResourceState(s *state.ResourceState) {
	l.end(l.begin("RLIMIT_OP STATE UPD").resourceState(s))
}

// NewAccountLimits implements [Tracer].
func (l *Logger) NewAccountLimits(limits *state.ResourceLimits, u *state.ResourceUsage) {
	l.end(l.begin("RLIMIT_OP ACCOUNT_LIMITS INS").limits(limits))
	l.end(l.begin("RLIMIT_OP ACCOUNT_USAGE INS").usage(u))
}

// UpdateAccountUsage implements [Tracer].
func (l *Logger) UpdateAccountUsage(u *state.ResourceUsage) {
	l.end(l.begin("RLIMIT_OP ACCOUNT_USAGE UPD").usage(u))
}

// SetAccountLimits implements [Tracer].
func (l *Logger) SetAccountLimits(limits *state.ResourceLimits) {
	l.end(l.begin("RLIMIT_OP ACCOUNT_LIMITS UPD").limits(limits))
}

// CreatePermission implements [Tracer].
func (l *Logger) CreatePermission(p *state.Permission, parent uint64) {
	l.end(l.beginActionLine("PERM_OP INS").uint(p.ID).permission(p, parent))
}

// ModifyPermission implements [Tracer].
func (l *Logger) ModifyPermission(old, changed *state.Permission, parent uint64) {
	n := l.beginActionLine("PERM_OP UPD").uint(changed.ID).space()
	n.b = append(n.b, `{"old":`...)
	n.b = appendPermission(n.b, old, parent)
	n.b = append(n.b, `,"new":`...)
	n.b = append(appendPermission(n.b, changed, parent), '}')
	l.end(n)
}

// RemovePermission implements [Tracer].
func (l *Logger) RemovePermission(p *state.Permission, parent uint64) {
	l.end(l.beginActionLine("PERM_OP REM").uint(p.ID).permission(p, parent))
}
