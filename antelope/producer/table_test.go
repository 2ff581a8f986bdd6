package producer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"tarn/antelope/exception"
	"tarn/antelope/execute"
	"tarn/antelope/types"
	"tarn/writerloop"
)

func trxID(n byte) types.Checksum256 { return types.Checksum256{n} }

// never lets a loop go on.
func never() bool { return false }

func TestSubjectiveBillsLastUntilTheirTransactionIsInABlockOrDecay(t *testing.T) {
	now := time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)
	sec := types.TimePointSec(now.Unix())
	point := types.TimePoint(now.UnixMicro())
	half, end := now.Add(12*time.Hour), now.Add(24*time.Hour)
	a, b, c := name("a"), name("b"), name("c")
	want := func(s *subjectiveBilling, n types.Name, at time.Time, us int64) {
		t.Helper()
		if got := s.Subjective(n, at); got != us {
			t.Errorf("%s owes %d, want %d", n, got, us)
		}
	}
	s := newSubjectiveBilling(24 * time.Hour)
	s.bill(trxID(1), sec, a, 13)
	s.bill(trxID(2), sec, a, 11)
	s.bill(trxID(2), sec, a, 11) // known
	s.bill(trxID(3), sec, b, 9)
	want(s, a, now, 24)
	want(s, b, now, 9)
	want(s, c, now, 0)
	s.onBlock([]types.Checksum256{trxID(1), trxID(9)}, now)
	want(s, a, now, 11)
	if !s.removeExpired(point+1, now, never) || s.waiting() {
		t.Error("transactions that have expired still wait")
	}
	want(s, a, now, 11)
	want(s, a, end, 0)

	s = newSubjectiveBilling(24 * time.Hour)
	s.billFailure(a, 1024, now)
	s.billFailure(b, 1024, now)
	s.billFailure(b, -5, now)
	want(s, a, now, 1024)
	s.billFailure(a, 1024, half)
	want(s, a, half, 512+1024)
	want(s, b, half, 512)
	s.billFailure(a, 1024, end)
	want(s, a, end, 256+512+1024)
	want(s, b, end, 0)

	s = newSubjectiveBilling(24 * time.Hour)
	s.bill(trxID(1), sec, a, 1024)
	s.bill(trxID(2), sec+1, a, 1024)
	s.removeExpired(point, now, never)
	want(s, a, now, 2048)
	want(s, a, half, 512+1024)
	want(s, a, end, 1024)
	s.removeExpired(point+1_000_000, now, never)
	want(s, a, half, 1024)
	want(s, a, end, 0)
	if s.bill(trxID(3), sec, a, 1); s.removeExpired(point, now, func() bool { return true }) {
		t.Error("it did not stop")
	}
}

func TestAccountsThatAreExemptOweNothing(t *testing.T) {
	now := time.Now()
	s := newSubjectiveBilling(time.Hour)
	s.exempt[name("free")] = true
	s.bill(trxID(1), 9, name("free"), 10)
	s.billFailure(name("free"), 10, now)
	if got := s.Subjective(name("free"), now); got != 0 || s.len() != 0 {
		t.Errorf("owes %d", got)
	}
	s.bill(trxID(2), 9, name("other"), 10)
	s.onBlock([]types.Checksum256{trxID(2)}, now)
	if s.len() != 0 {
		t.Error("an account that owes nothing is kept")
	}
}

// Against sums in floating point, which are right to a microsecond or two for each step.
func TestDecayingSumsSinkInAStraightLine(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		window := 1 + random.Uint32N(20_000)
		var d decaying
		var model float64
		var last uint32
		for range 50 {
			ordinal := last + random.Uint32N(window/4+1)
			units := random.Uint64N(1_000_000)
			model *= max(0, 1-float64(ordinal-last)/float64(window))
			model += float64(units)
			d.add(units, ordinal, window)
			last = ordinal
			if got := float64(d.at(ordinal, window)); got < model-1 || got > model+2 {
				t.Fatalf("%f, want %f", got, model)
			}
		}
		if got := d.at(last+window, window); got != 0 {
			t.Fatalf("%d is left after the window", got)
		}
	}
}

func TestThreeFailuresKeepAnAccountOutUntilTheWindowIsOver(t *testing.T) {
	f := newFailures(3, 4)
	n := name("bad")
	for i, k := range []*exception.Kind{exception.Deadline, exception.EosioAssertMessage, exception.TxNoAuths} {
		if f.exceeded(n) {
			t.Errorf("out after %d failures", i)
		}
		f.add(n, exception.New(k, "failed"))
	}
	if !f.exceeded(n) || f.exceeded(name("good")) {
		t.Error("the wrong account is out")
	}
	if at := f.reset(101, 1000); at != types.BlockTimestamp(1003).TimePoint() {
		t.Errorf("in again at %s", at)
	}
	var said []string
	report := func(n types.Name, count uint32, reason string) { said = append(said, reason) }
	f.clear(102, report)
	if !f.exceeded(n) {
		t.Error("in again within the window")
	}
	f.clear(104, report)
	if f.exceeded(n) || !slices.Equal(said, []string{"deadline, assert, other"}) {
		t.Errorf("after the window; reasons %q", said)
	}
}

func candidate(id byte, expires types.TimePointSec) *execute.Candidate {
	return &execute.Candidate{ID: trxID(id), Packed: new(types.PackedTransaction),
		Trx: &types.Transaction{TransactionHeader: types.TransactionHeader{Expiration: expires}}, Unprunable: 100}
}

func TestTheQueueKeepsOrderAndAnswersOnce(t *testing.T) {
	q := newQueue(1 << 20)
	answers := make(map[byte][]error)
	incoming := func(id byte, from origin) *entry {
		return &entry{x: candidate(id, types.TimePointSec(id)), from: from,
			done: func(_ *types.TransactionTrace, err error) {
				answers[id] = append(answers[id], err)
			}}
	}
	q.addIncoming(incoming(5, incomingP2P))
	q.addIncoming(incoming(3, incomingAPI))
	q.addAborted([]*execute.Candidate{candidate(9, 9), candidate(1, 1), candidate(5, 5)}, true)
	again := incoming(3, incomingAPI)
	q.addIncoming(again)
	if q.len() != 4 || q.incoming() != 2 {
		t.Errorf("%d wait, %d incoming", q.len(), q.incoming())
	}
	var ids []byte
	for _, e := range q.waiting(forked, aborted, incomingAPI, incomingP2P) {
		ids = append(ids, e.x.ID[0])
	}
	if string(ids) != "\x09\x01\x03\x05" {
		t.Errorf("order %v", ids)
	}
	if len(answers[3]) != 1 || !exception.Is(answers[3][0], exception.TxDuplicate) {
		t.Errorf("the second one was answered %v", answers[3])
	}
	if n, all := q.removeExpired(5_000_000, never); n != 3 || !all || q.len() != 1 {
		t.Errorf("%d expired, %d left", n, q.len())
	}
	if len(answers[3]) != 2 || len(answers[5]) != 1 || !exception.Is(answers[5][0], exception.ExpiredTx) {
		t.Errorf("answers %v", answers)
	}
	q.addIncoming(incoming(20, incomingAPI))
	q.removeApplied([]types.Checksum256{trxID(20), trxID(77)})
	if len(answers[20]) != 1 || !exception.Is(answers[20][0], exception.TxDuplicate) {
		t.Errorf("answers %v", answers[20])
	}
	q.addIncoming(incoming(30, incomingAPI))
	q.clear(writerloop.ErrStopped)
	if q.len() != 0 || q.size != 0 || len(q.expiry) != 0 || answers[30][0] != writerloop.ErrStopped {
		t.Errorf("%d left of %d bytes", q.len(), q.size)
	}
}

func TestAFullQueueRefusesWhatComesAndKeepsWhatWasAborted(t *testing.T) {
	q := newQueue(2 * entrySize(candidate(1, 1)))
	var refused error
	for id := byte(1); id <= 3; id++ {
		q.addIncoming(&entry{x: candidate(id, 1), from: incomingAPI, done: func(_ *types.TransactionTrace, err error) {
			refused = err
		}})
	}
	if q.len() != 1 || !exception.Is(refused, exception.TxResourceExhaustion) {
		t.Errorf("%d wait, %v", q.len(), refused)
	}
	for _, signing := range []bool{false, true} {
		q.addAborted([]*execute.Candidate{candidate(7, 1), candidate(8, 1)}, signing)
		if want := map[bool]int{false: 1, true: 3}[signing]; q.len() != want {
			t.Errorf("%d wait, not %d", q.len(), want)
		}
	}
}

func TestTheBlocksOfARoundFollowEachOtherWithoutAGap(t *testing.T) {
	for _, offset := range []time.Duration{0, 450 * time.Millisecond, 5999 * time.Millisecond} {
		effort := blockEffort(offset)
		for first := types.BlockTimestamp(1_000_000 * 12); first < 1_000_003*12; first += 12 {
			if start := roundBlockStart(effort, first); start != first.TimePoint().Time().Add(-blockInterval) {
				t.Errorf("the round begins at %s", start)
			}
			for slot := first; slot < first+11; slot++ {
				if end, next := blockDeadline(effort, slot), roundBlockStart(effort, slot+1); end != next {
					t.Errorf("slot %d ends at %s, the next one begins at %s", slot, end, next)
				}
			}
			early := (first + 11).TimePoint().Time().Sub(blockDeadline(effort, first+11))
			if early > offset || early < offset-12*time.Microsecond {
				t.Errorf("the last block is %s early, want %s", early, offset)
			}
		}
	}
}

// The next slot is the first one after the present one, and the watermark, that is
// the producer's.
func TestTheNextSlotIsTheFirstThatIsAllowed(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 20_000 {
		producers := 1 + random.IntN(21)
		index := random.IntN(producers)
		current := types.BlockTimestamp(1_000_000 + random.IntN(1000))
		num := uint32(1000)
		var mark watermark
		if random.IntN(2) == 0 {
			mark = watermark{uint32(950 + random.IntN(100)), current - 50 + types.BlockTimestamp(random.IntN(100))}
		}
		want := current + 1
		for int(want)/12%producers != index || mark.slot >= want || mark.num >= num+uint32(want-current) {
			want++
		}
		if got := nextSlot(mark, current, num, index, producers); got != want {
			t.Fatalf("slot %d, want %d: now %d, producer %d of %d, watermark %+v",
				got, want, current, index, producers, mark)
		}
	}
}

func TestSignatureProvidersAreParsed(t *testing.T) {
	k := otherKey(t)
	public, sign, err := ParseSignatureProvider(k.Public().String()+"=KEY:"+k.Text(), 0)
	if err != nil || public != k.Public() {
		t.Fatal(err)
	}
	if s, err := sign(trxID(1)); err != nil {
		t.Error(err)
	} else if got, err := recoverKey(s, trxID(1)); err != nil || got != public {
		t.Errorf("signed by %s, %v", got, err)
	}
	for spec, want := range map[string]string{
		"x":                                 "Missing \"=\" in the key spec pair",
		"x=y":                               "Missing \":\" in the key spec pair",
		k.Public().String() + "=SE:x":       "Unsupported key provider type \"SE\"",
		k.Public().String() + "=KEY:" + wif: "Private key does not match given public key for",
	} {
		if _, _, err := ParseSignatureProvider(spec, 0); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v", spec, err)
		}
	}
}

// wif is the key that everybody knows.
const wif = "5KQwrPbwdL6PhXujxW37FSSQZ1JiwsST4cqQzDeyXtP79zkvFD3"
