package stream

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"tarn/fleet"
	"tarn/internal/freeport"
)

// rightsOf reads the rights of the users that the documentation names.
func rightsOf(t *testing.T, fleet string) map[string]*server.Permissions {
	t.Helper()
	text, err := os.ReadFile("../../docs/fleet.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| who | publishes to | listens at |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	o := Options{Name: fleet}
	streams := []string{o.movesStream(), "KV_" + o.leaseBucket(), "KV_" + o.snapshotBucket(),
		"OBJ_" + o.snapshotBucket()}
	token := regexp.MustCompile(`\bS\b`)
	subjects := func(cell string) *server.SubjectPermission {
		p := &server.SubjectPermission{}
		for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
			subject := strings.ReplaceAll(m[1], "NAME", fleet)
			if !token.MatchString(subject) {
				p.Allow = append(p.Allow, subject)
				continue
			}
			for _, s := range streams {
				p.Allow = append(p.Allow, token.ReplaceAllLiteralString(subject, s))
			}
		}
		return p
	}
	rights := map[string]*server.Permissions{}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if who := strings.Trim(cells[1], " `"); len(cells) == 5 && who != "---" {
			rights[who] = &server.Permissions{Publish: subjects(cells[2]), Subscribe: subjects(cells[3])}
		}
	}
	return rights
}

// first is a taker that ends with the first move.
type first struct{}

var errFirst = errors.New("a move has come")

func (first) From() uint64 { return 0 }

func (first) Take(*fleet.Move, bool) error { return errFirst }

// The rights that the documentation names are enough for a node, a replica and the tool: nothing is refused.
func TestTheRightsOfTheDocumentationAreEnough(t *testing.T) {
	t.Parallel()
	const name = "rights"
	rights := rightsOf(t, name)
	at := freeport.Address(t)
	host, port, err := net.SplitHostPort(at)
	if err != nil {
		t.Fatal(err)
	}
	so := &server.Options{Host: host, JetStream: true, StoreDir: t.TempDir(), NoLog: true, NoSigs: true}
	if so.Port, err = strconv.Atoi(port); err != nil {
		t.Fatal(err)
	}
	for who, p := range rights {
		so.Users = append(so.Users, &server.User{Username: who, Password: "secret", Permissions: p})
	}
	s, err := server.NewServer(so)
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	t.Cleanup(func() { s.Shutdown(); s.WaitForShutdown() })
	if !s.ReadyForConnections(20 * time.Second) {
		t.Fatal("the server is not there after 20 seconds")
	}
	log := &heard{testLog: testLog{t}}
	as := func(who string) Options {
		if rights[who] == nil {
			t.Fatalf("the documentation names no rights of %q", who)
		}
		return Options{Name: name, Servers: []string{"nats://" + at}, User: who, Password: "secret", Verify: true,
			Log: slog.New(slog.NewTextHandler(log, nil))}
	}
	script := newScript(seeded(t), 8000, 10)
	n := newNode(t, 1<<30)
	g := newGroup(t)
	defer g.stop() // before the stores are closed
	g.run(NewPublisher(PublisherOptions{Options: as("node"), Source: n, SnapshotEvery: time.Second,
		Answers: Answers{Ask: func(context.Context, string, []byte) (int, []byte) { return 200, []byte("answer") }}}).Run)
	x := &replica{t: t}
	g.run(func(ctx context.Context) error { return x.live(ctx, as("replica")) })
	next := n.feed(t, script, 0, "the replica compares itself with a snapshot", func() bool {
		return log.count("The replica's state is the node's") > 0
	})
	f, err := NewFollower(as("replica"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	if _, answer, err := f.Ask(t.Context(), "/path", nil); err != nil || string(answer) != "answer" {
		t.Errorf("a replica asks: %q, %v", answer, err)
	}
	survey, err := Look(t.Context(), as("tarn fleet"), time.Second)
	if err != nil || survey.Publisher == nil || len(survey.Members) < 2 || survey.Newest == nil {
		t.Errorf("%+v, %v", survey, err)
	}
	tail, err := NewTail(as("tarn fleet export"), RoleExport)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tail.Close)
	if err := tail.Run(t.Context(), first{}); !errors.Is(err, errFirst) {
		t.Errorf("an export reads: %v", err)
	}
	done := make(chan error, 1)
	go func() {
		c, err := Compare(t.Context(), as("tarn fleet"), time.Second)
		if err == nil && !slices.ContainsFunc(c.Replicas,
			func(v Verdict) bool { return v.Failure == "" && v.Same(&c.Node.RowsSum) }) {
			t.Errorf("%+v", c)
		}
		done <- err
	}()
	n.feed(t, script, next, "a comparison, and another snapshot", func() bool {
		select {
		case err := <-done:
			if err != nil {
				t.Error(err)
			}
			return true
		default:
			return false
		}
	})
	if log.count("ermissions") > 0 {
		t.Error("the server has refused something")
	}
}
