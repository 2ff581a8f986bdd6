package devnet

import (
	"context"
	"syscall"
	"testing"
	"time"

	"github.com/ethereum/go-ethereum/common/hexutil"
	"github.com/ethereum/go-ethereum/rpc"

	"tarn/devnetrunner"
	"tarn/fleet/stream"
	"tarn/internal/freeport"
)

// A replica answers beside the node, and both come back after kill -9.
func TestReplicas(t *testing.T) {
	if testing.Short() {
		t.Skip("starts nodes; not with -short")
	}
	d := start(t, t.TempDir(), func(o *devnetrunner.Options) {
		o.Replicas, o.Fleet, o.HTTP = 1, freeport.Address(t), freeport.Row(t, 2)
	})
	replicas, err := d.o.Members()
	if err != nil {
		t.Fatal(err)
	}
	balance := func(address string) (got string) {
		t.Helper()
		c, err := rpc.Dial("http://" + address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			var b hexutil.Big
			if err := c.Call(&b, "eth_getBalance", receiver, "latest"); err == nil {
				return b.String()
			}
		}
		t.Fatalf("nobody answers at %s", address)
		return ""
	}
	same := func() {
		t.Helper()
		var want, got string
		for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
			if want, got = balance(d.o.HTTP), balance(replicas[0].HTTP); want == got && want != "0x0" {
				return
			}
		}
		t.Fatalf("the receiver has %s, and %s at the replica", want, got)
	}
	d.transfer()
	same()
	o := stream.Options{Servers: []string{"nats://" + d.o.Fleet}, Name: fleetName}
	for _, role := range []string{stream.RoleReplica, stream.RoleNode} {
		s, err := stream.Look(context.Background(), o, time.Second)
		if err != nil {
			t.Fatal(err)
		}
		killed := false
		for _, m := range s.Members {
			if m.Role == role {
				killed = true
				if err := syscall.Kill(m.Process, syscall.SIGKILL); err != nil {
					t.Fatal(err)
				}
			}
		}
		if !killed {
			t.Fatalf("no process of role %s in %+v", role, s.Members)
		}
		same()
	}
	d.stop()
	d.awaitEnd()
}
