package difftest

import (
	"context"
	"encoding/json"
	"time"

	"tarn/antelope/types"
)

// ground is the chain that a driver works on: that of a nodeos which lives in real
// time, or of a controller that makes blocks as it is told.
type ground interface {
	// push executes a transaction in the block that is being made. What the chain
	// refuses is a *Refusal. billed is its CPU time in microseconds, where that can be
	// chosen; 0 leaves it to the ground.
	push(ctx context.Context, p *types.PackedTransaction, billed uint32) (trace json.RawMessage, err error)
	// reference is a recent block of the chain.
	reference(ctx context.Context) (types.Checksum256, error)
	// blocks makes or awaits so many more blocks.
	blocks(ctx context.Context, n uint32) error
	// requiredKeys is which of the keys a transaction needs.
	requiredKeys(ctx context.Context, t *types.Transaction, keys []string) ([]string, error)
	// features are the protocol features that there are.
	features(ctx context.Context) ([]Feature, error)
	// activate puts features that need no preactivation, or have it, into the next block.
	activate(ctx context.Context, digests ...string) error

	// now is the time of work, which ends when it has come to a certain time.
	now() time.Time
	// pause lets so much of it pass.
	pause(d time.Duration) error
	// leap leaves out so much of the chain's time, where that can be chosen.
	leap(d time.Duration) error
	// chainTime is about the time of the block that is being made.
	chainTime() time.Time
}

// live is the ground of a nodeos that produces in real time.
type live struct {
	*Node
	head types.Checksum256
	at   time.Time // when it was asked for
}

func (l *live) push(ctx context.Context, p *types.PackedTransaction, _ uint32) (json.RawMessage, error) {
	return l.Push(ctx, p)
}

// reference is asked for twice a second.
func (l *live) reference(ctx context.Context) (types.Checksum256, error) {
	if time.Since(l.at) < 500*time.Millisecond {
		return l.head, nil
	}
	i, err := l.Info(ctx)
	if err != nil {
		return l.head, err
	}
	if l.head, err = types.ParseChecksum256(i.HeadID); err == nil {
		l.at = time.Now()
	}
	return l.head, err
}

func (l *live) blocks(ctx context.Context, n uint32) error { return l.Blocks(ctx, n) }

func (l *live) requiredKeys(ctx context.Context, t *types.Transaction, keys []string) ([]string, error) {
	var answer struct {
		Keys []string `json:"required_keys"`
	}
	err := l.Call(ctx, "/v1/chain/get_required_keys", map[string]any{
		"transaction": transactionJSON(t), "available_keys": keys}, &answer)
	return answer.Keys, err
}

func (l *live) features(ctx context.Context) ([]Feature, error) { return l.Features(ctx) }

func (l *live) activate(ctx context.Context, digests ...string) error {
	return l.ScheduleActivation(ctx, digests...)
}

func (l *live) now() time.Time       { return time.Now() }
func (l *live) chainTime() time.Time { return time.Now() }

func (l *live) pause(d time.Duration) error {
	time.Sleep(d)
	return nil
}

func (l *live) leap(time.Duration) error { return nil }
