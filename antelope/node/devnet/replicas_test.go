package devnet

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"tarn/devnetrunner"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

// fleetOf waits until a devnet's fleet is as it must be, and returns it.
func (d *devnet) fleetOf(ok func(*stream.Survey) bool) *stream.Survey {
	d.t.Helper()
	o := stream.Options{Servers: []string{"nats://" + d.o.Fleet}, Name: fleetName}
	var s *stream.Survey
	var err error
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if s, err = stream.Look(context.Background(), o, 300*time.Millisecond); err == nil && ok(s) {
			return s
		}
	}
	d.t.Fatalf("the fleet: %+v, %v", s, err)
	return nil
}

// process is that of the first member of a role.
func process(s *stream.Survey, role string) int {
	for _, m := range s.Members {
		if m.Role == role {
			return m.Process
		}
	}
	return 0
}

// Two replicas answer beside the node, and each of the three comes back after kill -9.
func TestReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	d := &devnet{t: t, out: &text{}, done: make(chan error, 1)}
	d.o = Options{devnetrunner.Options{Dir: t.TempDir(), P2P: freeport.Address(t), Fleet: freeport.Address(t), Out: d.out,
		Tarn: "tarn", Replicas: 2}, false}
	d.o.HTTP = freeport.Row(t, 3)
	d.begin()
	replicas, err := d.o.Members()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(d.out.String(), "http://"+replicas[1].HTTP) ||
		!strings.Contains(d.out.String(), "fleet status") {
		t.Errorf("the guide says nothing of replicas:\n%s", d.out)
	}
	beside := func(r devnetrunner.Replica) *devnet {
		other := *d
		other.o.HTTP = r.HTTP
		return &other
	}
	all := func() {
		t.Helper()
		want := d.balance("alice")
		for _, r := range replicas {
			beside(r).awaits("alice", want)
		}
	}
	all()
	full := func(s *stream.Survey) bool { return s.Publisher != nil && len(s.Members) == 3 }
	for _, role := range []string{stream.RoleReplica, stream.RoleNode} {
		pid := process(d.fleetOf(full), role)
		if pid == 0 {
			t.Fatalf("no process of role %s", role)
		}
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		d.fleetOf(func(s *stream.Survey) bool {
			for _, m := range s.Members {
				if m.Process == pid {
					return false
				}
			}
			return full(s)
		})
		for _, r := range append(replicas, devnetrunner.Replica{HTTP: d.o.HTTP}) {
			if err := devnetrunner.Wait(t.Context(), func() bool { return answersReady(r.HTTP) }); err != nil {
				t.Fatal(err)
			}
		}
		all()
	}
	d.end()
}

func answersReady(address string) bool {
	r, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return false
	}
	r.Body.Close()
	return r.StatusCode == http.StatusOK
}
