package stream

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"tarn/fleet"
)

// The roles of members.
const (
	RoleNode    = "node"
	RoleReplica = "replica"
)

// Member is what a process of a fleet says of itself when it is asked.
type Member struct {
	Role       string      `json:"role"` // node, replica or export
	Node       string      `json:"node"` // different at each start
	Host       string      `json:"host"`
	Process    int         `json:"process"`
	Since      time.Time   `json:"since"`
	Publishing bool        `json:"publishing"`
	Head       fleet.Point `json:"head"`
}

// newMember is this process in a role.
func newMember(role, node string) Member {
	host, err := os.Hostname()
	if err != nil {
		host = "?"
	}
	return Member{Role: role, Node: node, Host: host, Process: os.Getpid(),
		Since: time.Now().UTC().Truncate(time.Second)}
}

func (o *Options) whoSubject() string { return "tarn." + o.Name + ".who" }

// introduce answers whoever asks for the fleet's members, until the connection is closed. present is called by the
// connection's goroutine.
func (o *Options) introduce(conn *nats.Conn, present func() Member) error {
	_, err := conn.Subscribe(o.whoSubject(), func(m *nats.Msg) {
		text, err := json.Marshal(present())
		if err == nil && isInbox(m.Reply) {
			m.Respond(text) //nolint:errcheck // who asks waits for a while, and goes on without
		}
	})
	if err != nil {
		return fmt.Errorf("answer who asks for the fleet's members: %w", err)
	}
	return nil
}

// mostMembers is how many answers are taken.
const mostMembers = 4096

// members asks all for a while.
func (o *Options) members(ctx context.Context, conn *nats.Conn, wait time.Duration) ([]Member, error) {
	inbox := conn.NewRespInbox()
	answers, err := conn.SubscribeSync(inbox)
	if err != nil {
		return nil, fmt.Errorf("ask for the fleet's members: %w", err)
	}
	defer answers.Unsubscribe() //nolint:errcheck // nothing comes any more
	if err := conn.PublishRequest(o.whoSubject(), inbox, nil); err != nil {
		return nil, fmt.Errorf("ask for the fleet's members: %w", err)
	}
	ctx, done := context.WithTimeout(ctx, wait)
	defer done()
	var list []Member
	for len(list) < mostMembers {
		m, err := answers.NextMsgWithContext(ctx)
		if err != nil {
			break // the time is over, or nobody is there
		}
		var x Member
		if json.Unmarshal(m.Data, &x) == nil { // whoever else it was is no member
			list = append(list, x)
		}
	}
	slices.SortFunc(list, func(a, b Member) int {
		return cmp.Or(cmp.Compare(a.Role, b.Role), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Process, b.Process),
			cmp.Compare(a.Node, b.Node))
	})
	return list, nil
}
