package stream

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"
)

// Answerer answers what a replica cannot: a request of the ledger's API, by its path and body. It is called by many
// goroutines; ctx ends when nobody waits for the answer any more.
type Answerer func(ctx context.Context, path string, body []byte) (status int, answer []byte)

// The headers of requests and answers.
const (
	headerPath     = "Tarn-Path"
	headerDeadline = "Tarn-Milliseconds" // for which somebody waits
	headerStatus   = "Tarn-Status"
	headerParts    = "Tarn-Parts" // of the answer, with the first of them
)

// Bounds of requests and answers.
const (
	answersAtOnce = 64
	mostAnswer    = 64 << 20 // bytes
	answerPart    = 900_000  // bytes of a message of an answer
	mostAsk       = time.Minute
)

func (o *Options) askSubject() string { return "tarn." + o.Name + ".ask" }

// answer answers replicas' requests until the subscription ends. All nodes of the fleet share them.
func (p *Publisher) answer(ctx context.Context, conn *nats.Conn) error {
	if p.Answer == nil {
		return nil
	}
	places := make(chan struct{}, answersAtOnce)
	_, err := conn.QueueSubscribe(p.askSubject(), "nodes", func(m *nats.Msg) {
		if !isInbox(m.Reply) {
			return
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
			p.respond(ctx, conn, m)
		})
	})
	if err != nil {
		return fmt.Errorf("answer replicas: %w", err)
	}
	return nil
}

func (p *Publisher) respond(ctx context.Context, conn *nats.Conn, m *nats.Msg) {
	ms, err := strconv.ParseInt(m.Header.Get(headerDeadline), 10, 64)
	if err != nil || ms <= 0 {
		return
	}
	ctx, done := context.WithTimeout(ctx, min(mostAsk, time.Duration(ms)*time.Millisecond))
	defer done()
	status, body := p.Answer(ctx, m.Header.Get(headerPath), m.Data)
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

// ErrNoAnswer says that no node of the fleet has answered.
var ErrNoAnswer = errors.New("no node of the fleet answers")

// Ask has a node of the fleet answer a request, until ctx ends or for a minute. Where too many are being answered the
// status is that of a service that is not available, and the answer is empty. An error wraps [ErrNoAnswer]. Any
// goroutine may call it.
func (f *Follower) Ask(ctx context.Context, path string, body []byte) (status int, answer []byte, err error) {
	ctx, done := context.WithTimeout(ctx, mostAsk)
	defer done()
	if limit := f.conn.MaxPayload(); limit > 0 && int64(len(body)+1000) > limit {
		return 0, nil, fmt.Errorf("%w: the request has %d bytes, and the NATS server takes %d",
			ErrNoAnswer, len(body), limit)
	}
	if err := f.await(ctx, f.conn); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	inbox := f.conn.NewRespInbox()
	replies, err := f.conn.SubscribeSync(inbox)
	if err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	defer replies.Unsubscribe() //nolint:errcheck // nothing comes any more
	m := &nats.Msg{Subject: f.askSubject(), Reply: inbox, Data: body, Header: nats.Header{}}
	m.Header.Set(headerPath, path)
	until, _ := ctx.Deadline()
	m.Header.Set(headerDeadline, strconv.FormatInt(time.Until(until).Milliseconds(), 10))
	if err := f.conn.PublishMsg(m); err != nil {
		return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
	}
	return collect(ctx, replies)
}

// collect puts an answer together.
func collect(ctx context.Context, replies *nats.Subscription) (status int, answer []byte, err error) {
	for i, parts := 0, 1; i < parts; i++ {
		r, err := replies.NextMsgWithContext(ctx)
		if err != nil {
			return 0, nil, fmt.Errorf("%w: %w", ErrNoAnswer, err)
		}
		if i == 0 {
			var wrong error
			if status, err = strconv.Atoi(r.Header.Get(headerStatus)); err == nil {
				parts, wrong = strconv.Atoi(r.Header.Get(headerParts))
			}
			if err != nil || wrong != nil || status < 100 || status > 599 || parts < 1 ||
				parts > mostAnswer/answerPart {
				return 0, nil, fmt.Errorf("%w: what came is no answer (%v, %v)", ErrNoAnswer, err, r.Header)
			}
		}
		answer = append(answer, r.Data...)
	}
	return status, answer, nil
}
