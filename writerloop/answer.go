package writerloop

import "time"

// answers are held back until readers see what they are about: who has an answer finds it in
// the chain's views. Many are held for one publication.
type answers struct {
	held  []func(failed error)
	since time.Time // the first was held
}

// An answer waits no longer than for so many others, or so long; if the writer has nothing to
// do, only for those that are on their way, and much less: clients that wait send nothing, and
// processors idle.
const (
	maxAnswers  = 64
	maxAnswerIn = 2 * time.Millisecond
	maxIdle     = 200 * time.Microsecond
)

// Hold keeps an answer back until what the writer has done is published, or until Release. It
// is given on the writer, with the error that has ended the writer if one has: then what was
// done may be in no state that anybody will see.
func (w *Writer) Hold(answer func(failed error)) {
	if len(w.answers.held) == 0 {
		w.answers.since = time.Now()
	}
	w.answers.held = append(w.answers.held, answer)
}

// Release gives the answers that are held without publishing anything: what they are about was
// published otherwise, or is taken back.
func (w *Writer) Release() {
	a := &w.answers
	for i, answer := range a.held {
		a.held[i] = nil
		answer(w.failed)
	}
	a.held = a.held[:0]
}

// Expect counts answers that somebody waits for, when they are asked for, and with a negative n
// when they are given: an idle writer waits a moment for those before it publishes.
func (w *Writer) Expect(n int) { w.coming.Add(int64(n)) }

// Expected is how many answers are expected now.
func (w *Writer) Expected() int64 { return w.coming.Load() }

// show publishes and gives the answers, if any are held.
func (w *Writer) show() {
	if !w.answers.waiting() {
		return
	}
	if w.opt.Publish != nil {
		if err := w.opt.Publish(); err != nil {
			w.Fail(err)
		}
	}
	w.Release()
}

func (a *answers) waiting() bool { return len(a.held) > 0 }

// due tells whether the answers have waited enough although more work waits.
func (a *answers) due() bool {
	return len(a.held) >= maxAnswers || a.waiting() && time.Since(a.since) >= maxAnswerIn
}

// patience is how long an idle writer waits for more to show.
func (a *answers) patience(coming int64) time.Duration {
	if int64(len(a.held)) >= coming {
		return 0
	}
	return maxIdle - time.Since(a.since)
}
