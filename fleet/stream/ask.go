package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Answerer answers what a replica cannot: a request of the ledger's API, by its path and body. It is called by many
// goroutines; ctx ends when nobody waits for the answer any more.
type Answerer func(ctx context.Context, path string, body []byte) (status int, answer []byte)

// Answers are what a node answers for replicas; either is nil for nothing.
type Answers struct {
	Ask  Answerer // what must reach the chain
	Read Answerer // what is older than a replica
}

// The headers of requests and answers.
const (
	headerPath     = "Tarn-Path"
	headerDeadline = "Tarn-Milliseconds" // for which somebody waits
	headerStatus   = "Tarn-Status"
	headerParts    = "Tarn-Parts" // of the answer, with the first of them
	headerReads    = "Tarn-Reads" // of [Follower.Read]
)

// noResponders is what a NATS server says where nobody listens.
const noResponders = "503"

// Bounds of requests and answers.
const (
	answersAtOnce = 64
	readsAtOnce   = 16             // besides, so that who reads does not hinder who sends
	mostAnswer    = 64 << 20       // bytes
	mostRead      = 4 << 20        // bytes of an answer to who reads
	mostTelling   = 4 * mostAnswer // bytes of all answers that are being sent
	readTime      = 5 * time.Second
	answerPart    = 900_000 // bytes of a message of an answer
	mostAsk       = time.Minute
)

func (o *Options) askSubject() string { return "tarn." + o.Name + ".ask" }

// answer answers replicas' requests until the subscription ends. All nodes of the fleet share them.
func (p *Publisher) answer(ctx context.Context, conn *nats.Conn) error {
	if p.Answers.Ask == nil && p.Answers.Read == nil {
		return nil
	}
	asks, reads := make(chan struct{}, answersAtOnce), make(chan struct{}, readsAtOnce)
	_, err := conn.QueueSubscribe(p.askSubject(), "nodes", func(m *nats.Msg) {
		if !isInbox(m.Reply) {
			return
		}
		places, answer := asks, p.Answers.Ask
		if m.Header.Get(headerReads) != "" {
			places, answer = reads, limit(p.Answers.Read)
		}
		if answer == nil {
			answer = nobody
		}
		select {
		case places <- struct{}{}:
		default:
			busy := nats.NewMsg(m.Reply)
			busy.Header.Set(headerStatus, strconv.Itoa(http.StatusServiceUnavailable))
			busy.Header.Set(headerParts, "1")
			conn.PublishMsg(busy) //nolint:errcheck // the replica says then that nobody answers
			return
		}
		p.responding.Go(func() {
			defer func() { <-places }()
			p.respond(ctx, conn, m, answer)
		})
	})
	if err != nil {
		return fmt.Errorf("answer replicas: %w", err)
	}
	return nil
}

// nobody answers for a node that answers nothing.
func nobody(context.Context, string, []byte) (int, []byte) { return http.StatusNotFound, nil }

// limit refuses answers that are too long for who reads.
func limit(answer Answerer) Answerer {
	if answer == nil {
		return nil
	}
	return func(ctx context.Context, path string, body []byte) (int, []byte) {
		status, b := answer(ctx, path, body)
		if len(b) > mostRead {
			return http.StatusRequestEntityTooLarge, nil
		}
		return status, b
	}
}

func (p *Publisher) respond(ctx context.Context, conn *nats.Conn, m *nats.Msg, answer Answerer) {
	defer func() { // as net/http does: the node goes on
		if what := recover(); what != nil {
			p.log.Error("A replica's request panicked", "path", m.Header.Get(headerPath), "panic", what,
				"stack", string(debug.Stack()))
		}
	}()
	ms, err := strconv.ParseInt(m.Header.Get(headerDeadline), 10, 64)
	if err != nil || ms <= 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, min(mostAsk, time.Duration(ms)*time.Millisecond))
	defer done()
	status, body := answer(ctx, m.Header.Get(headerPath), m.Data)
	size := int64(len(body))
	defer p.telling.Add(-size)
	if p.telling.Add(size) > mostTelling {
		status, body = http.StatusServiceUnavailable, nil
	}
	parts := max(1, (len(body)+answerPart-1)/answerPart)
	for i := range parts {
		reply := nats.NewMsg(m.Reply)
		if i == 0 {
			reply.Header.Set(headerStatus, strconv.Itoa(status))
			reply.Header.Set(headerParts, strconv.Itoa(parts))
		}
		reply.Data = body[i*answerPart : min(len(body), (i+1)*answerPart)]
		if conn.PublishMsg(reply) != nil {
			return // the replica's user is told that no answer came
		}
	}
}

// Why there is no answer.
var (
	// ErrNoAnswer says that no node of the fleet has answered.
	ErrNoAnswer = errors.New("no node of the fleet answers")
	// ErrUnreachable says that no node of the fleet can be reached. It comes with ErrNoAnswer.
	ErrUnreachable = errors.New("no node of the fleet can be reached")

	errUnconnected = fmt.Errorf("%w: %w: no NATS server is connected", ErrNoAnswer, ErrUnreachable)
)

// Ask has a node of the fleet answer a request, until ctx ends or for a minute. Where too many are being answered the
// status is that of a service that is not available, and the answer is empty. An error wraps [ErrNoAnswer], and clients
// may see it. Any goroutine may call it.
func (f *Follower) Ask(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	ctx, done := context.WithTimeout(ctx, mostAsk)
	defer done()
	return f.ask(ctx, path, body, "", mostAnswer)
}

// Read is Ask for what is older than the replica. It fails at once if no server is connected, ends after five seconds,
// and takes an answer of 4 MiB at most.
func (f *Follower) Read(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	if !f.conn.IsConnected() {
		return 0, nil, errUnconnected
	}
	ctx, done := context.WithTimeout(ctx, readTime)
	defer done()
	return f.ask(ctx, path, body, "1", mostRead)
}

func (f *Follower) ask(
	ctx context.Context, path string, body []byte, reads string, most int,
) (status int, answer []byte, err error) {
	if limit := f.conn.MaxPayload(); limit > 0 && int64(len(body)+1000) > limit {
		return 0, nil, fmt.Errorf("%w: the request has %d bytes, and the NATS server takes %d",
			ErrNoAnswer, len(body), limit)
	}
	if f.await(ctx, f.conn) != nil { // which says where the servers are
		return 0, nil, errUnconnected
	}
	inbox := f.conn.NewRespInbox()
	replies, err := f.conn.SubscribeSync(inbox)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer replies.Unsubscribe() //nolint:errcheck // nothing comes any more
	m := &nats.Msg{Subject: f.askSubject(), Reply: inbox, Data: body, Header: nats.Header{}}
	m.Header.Set(headerPath, path)
	if reads != "" {
		m.Header.Set(headerReads, reads)
	}
	until, _ := ctx.Deadline()
	m.Header.Set(headerDeadline, strconv.FormatInt(time.Until(until).Milliseconds(), 10))
	if err := f.conn.PublishMsg(m); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return collect(ctx, replies, most)
}

// collect puts an answer of so many bytes at most together.
func collect(ctx context.Context, replies *nats.Subscription, most int) (status int, answer []byte, err error) {
	for i, parts := 0, 1; i < parts; i++ {
		r, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		if len(r.Data) == 0 && r.Header.Get("Status") == noResponders {
			return 0, nil, fmt.Errorf("%w: %w: nobody listens", ErrNoAnswer, ErrUnreachable)
		}
		if i == 0 {
			var wrong error
			if status, err = strconv.Atoi(r.Header.Get(headerStatus)); err == nil {
				parts, wrong = strconv.Atoi(r.Header.Get(headerParts))
			}
			if err != nil || wrong != nil || status < 100 || status > 599 || parts < 1 ||
				parts > most/answerPart+1 {
				return 0, nil, fmt.Errorf("%w: what came is no answer (%v, %v)", ErrNoAnswer, err, r.Header)
			}
		}
		if answer = append(answer, r.Data...); len(answer) > most {
			return 0, nil, fmt.Errorf("%w: the answer has more than %d bytes", ErrNoAnswer, most)
		}
	}
	return status, answer, nil
}
