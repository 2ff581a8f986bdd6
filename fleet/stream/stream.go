// Package stream carries the moves of a fleet over NATS JetStream: from the node that
// publishes to all replicas, in order, each once.
//
// It owns the names of streams and buckets, the publisher's place, how a line is begun, gone on with and
// taken over, where a replica finds its place in it, and the snapshots that replicas begin with. It knows
// no ledger and keeps no log of its own: what the server has lost, the publisher publishes again, or a new
// line begins.
//
// # What the server keeps
//
// For a fleet of a name:
//
//   - stream TARN_name_MOVES, subject tarn.name.moves: the messages of package fleet. Its sequence numbers
//     only order them; a message says itself to which move of which line it belongs.
//   - bucket tarn_name_publisher: the publisher's place, a key that ends by itself unless it is renewed.
//   - bucket tarn_name_snapshots of keys, and objects of the same name: the snapshots that a replica may begin with. They may
//     be in a folder instead.
//
// # Who may publish
//
// The one who holds the place. Should two believe that they do, the server refuses one of them: each message names
// the sequence number that it must get.
package stream

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"tarn/fleet"
)

// Options say where a fleet's servers are, and what is kept there. [Options.Validate] checks them all.
type Options struct {
	// Servers are the addresses of NATS servers (nats://host:port), any of which will do.
	Servers []string
	// Name is the fleet's: letters, digits and dashes. Nodes of one chain that may take each other's place,
	// and their replicas, have the same.
	Name string

	// Of what a server demands, each as NATS knows it; empty for nothing.
	Credentials    string // a file of a user's JWT and key
	NKey           string // a file of an nkey's seed
	User, Password string
	CA             string // a file of certificates that servers may be signed by
	Cert, Key      string // files of a client's certificate and its key

	// InProcess is a server in the same process, which needs no address; nil for none.
	InProcess nats.InProcessConnProvider

	// Folder is where snapshots are kept in the place of the servers: a folder that all nodes and replicas see, by its
	// absolute path; of a replica also a URL (http, https) that shows it. "" is on the servers.
	Folder string

	Copies    int           // of the stream, on as many servers; 0 is 1
	KeepFor   time.Duration // how old messages may become; 0 is 6 hours
	KeepBytes int64         // how much they may take; 0 is 8 GiB
	Limits    fleet.Limits
	Verify    bool         // a replica compares its rows with those of the node's snapshots, see [Compared]
	Log       *slog.Logger // nil for none
}

// Defaults of what the server keeps.
const (
	defaultKeepFor   = 6 * time.Hour
	defaultKeepBytes = 8 << 30
)

var fleetName = regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`)

// Validate checks all options, and says all that is wrong.
func (o *Options) Validate() error {
	var errs []error
	wrong := func(format string, values ...any) { errs = append(errs, fmt.Errorf(format, values...)) }
	if len(o.Servers) == 0 && o.InProcess == nil {
		wrong("no NATS server is named: nats://HOST:PORT is expected")
	}
	if !fleetName.MatchString(o.Name) {
		wrong("the fleet's name %q: 1 to 64 letters, digits or dashes are expected", o.Name)
	}
	if (o.Cert == "") != (o.Key == "") {
		wrong("a client's certificate needs its key, and a key its certificate")
	}
	if o.User == "" && o.Password != "" {
		wrong("a password needs a user")
	}
	if err := o.validateFolder(); err != nil {
		errs = append(errs, err)
	}
	if o.Copies < 0 || o.Copies > 5 {
		wrong("%d copies of the stream: 1 to 5 are expected", o.Copies)
	}
	if o.KeepFor < 0 || o.KeepBytes < 0 {
		wrong("the time and the size that the stream keeps must not be negative")
	}
	return errors.Join(errs...)
}

func (o *Options) withDefaults() Options {
	d := *o
	d.Copies = max(1, o.Copies)
	if d.KeepFor == 0 {
		d.KeepFor = defaultKeepFor
	}
	if d.KeepBytes == 0 {
		d.KeepBytes = defaultKeepBytes
	}
	d.Limits = o.Limits.WithDefaults()
	if d.Log == nil {
		d.Log = slog.New(slog.DiscardHandler)
	}
	return d
}

// The names of what belongs to a fleet.
func (o *Options) movesStream() string    { return "TARN_" + o.Name + "_MOVES" }
func (o *Options) movesSubject() string   { return "tarn." + o.Name + ".moves" }
func (o *Options) leaseBucket() string    { return "tarn_" + o.Name + "_publisher" }
func (o *Options) snapshotBucket() string { return "tarn_" + o.Name + "_snapshots" }

// connect opens a connection that is opened again whenever it breaks, until it is closed. It returns before the
// first server has answered.
func (o *Options) connect(role string) (*nats.Conn, jetstream.JetStream, error) {
	list := []nats.Option{
		nats.Name("tarn " + role), nats.RetryOnFailedConnect(true), nats.MaxReconnects(-1),
		nats.ReconnectWait(reconnectWait), nats.ReconnectBufSize(-1), nats.Timeout(requestTime),
		nats.PingInterval(pingEvery), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			o.Log.Warn("NATS refuses something, or loses it", "fleet", o.Name, "error", err)
		}),
	}
	switch {
	case o.Credentials != "":
		list = append(list, nats.UserCredentials(o.Credentials))
	case o.NKey != "":
		key, err := nats.NkeyOptionFromSeed(o.NKey)
		if err != nil {
			return nil, nil, fmt.Errorf("nkey %s: %w", o.NKey, err)
		}
		list = append(list, key)
	case o.User != "":
		list = append(list, nats.UserInfo(o.User, o.Password))
	}
	if o.CA != "" || o.Cert != "" {
		c, err := o.certificates()
		if err != nil {
			return nil, nil, err
		}
		list = append(list, nats.Secure(c))
	}
	if o.InProcess != nil {
		list = append(list, nats.InProcessServer(o.InProcess))
	}
	conn, err := nats.Connect(strings.Join(o.Servers, ","), list...)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to NATS at %s: %w", o.addresses(), err)
	}
	js, err := jetstream.New(conn, jetstream.WithDefaultTimeout(requestTime))
	if err != nil {
		conn.Close()
		return nil, nil, fmt.Errorf("use JetStream: %w", err)
	}
	return conn, js, nil
}

// addresses are the servers' as they may be shown: without users, passwords and tokens.
func (o *Options) addresses() string {
	list := make([]string, len(o.Servers))
	for i, s := range o.Servers {
		list[i] = s[strings.LastIndex(s, "@")+1:]
		if scheme, _, ok := strings.Cut(s, "://"); ok && list[i] != s {
			list[i] = scheme + "://" + list[i]
		}
	}
	return strings.Join(list, ", ")
}

// How long things of the connection may take.
const (
	requestTime   = 5 * time.Second
	reconnectWait = 250 * time.Millisecond
	pingEvery     = 5 * time.Second
)

func (o *Options) certificates() (*tls.Config, error) {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if o.CA != "" {
		text, err := os.ReadFile(o.CA)
		if err != nil {
			return nil, fmt.Errorf("certificates of NATS servers: %w", err)
		}
		c.RootCAs = x509.NewCertPool()
		if !c.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("%s has no certificate in PEM form", o.CA)
		}
	}
	if o.Cert != "" {
		pair, err := tls.LoadX509KeyPair(o.Cert, o.Key)
		if err != nil {
			return nil, fmt.Errorf("the certificate for NATS servers: %w", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	return c, nil
}

// isInbox tells whether a subject is one where somebody waits for an answer. Nothing is answered elsewhere: who may
// only ask would have members write to the fleet's streams.
func isInbox(subject string) bool { return strings.HasPrefix(subject, nats.InboxPrefix) }

// rooms are what the server keeps for a fleet.
type rooms struct {
	moves     jetstream.Stream
	lease     jetstream.KeyValue
	snapshots jetstream.KeyValue
	objects   jetstream.ObjectStore // nil where snapshots are in a folder

	parts snapshotStore // of snapshots

	objectStream jetstream.Stream // in which the object store keeps its messages, by NATS' ADR-20; nil without it
}

// place opens the bucket of the publisher's place, or makes it.
func (o *Options) place(ctx context.Context, js jetstream.JetStream) (jetstream.KeyValue, error) {
	b, err := js.KeyValue(ctx, o.leaseBucket())
	if errors.Is(err, jetstream.ErrBucketNotFound) {
		b, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
			Bucket: o.leaseBucket(), Replicas: o.Copies, TTL: leaseTime, Storage: jetstream.MemoryStorage,
			Description: "which node publishes",
		})
	}
	if err != nil {
		return nil, fmt.Errorf("open bucket %s: %w", o.leaseBucket(), err)
	}
	return b, nil
}

// create makes the fleet's other rooms, or changes them to what the options say.
func (o *Options) create(ctx context.Context, js jetstream.JetStream, place jetstream.KeyValue) (r rooms, err error) {
	r.lease = place
	defer func() { r.parts = o.store(&r) }()
	r.moves, err = js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: o.movesStream(), Subjects: []string{o.movesSubject()}, Replicas: o.Copies,
		MaxAge: o.KeepFor, MaxBytes: o.KeepBytes, Discard: jetstream.DiscardOld, AllowDirect: true,
		Description: "what each block of the chain changed, for tarn replica",
	})
	if err != nil {
		return r, fmt.Errorf("make stream %s: %w", o.movesStream(), err)
	}
	r.snapshots, err = js.CreateOrUpdateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: o.snapshotBucket(), Replicas: o.Copies, Description: "the snapshots that a replica may begin with",
	})
	if err != nil {
		return r, fmt.Errorf("make bucket %s: %w", o.snapshotBucket(), err)
	}
	if o.Folder != "" {
		return r, nil
	}
	r.objects, err = js.CreateOrUpdateObjectStore(ctx, jetstream.ObjectStoreConfig{
		Bucket: o.snapshotBucket(), Replicas: o.Copies, Description: "the snapshots that a replica may begin with",
	})
	if err != nil {
		return r, fmt.Errorf("make object store %s: %w", o.snapshotBucket(), err)
	}
	r.objectStream, err = o.findObjects(ctx, js)
	return r, err
}

// find opens the rooms that a publisher has made.
func (o *Options) find(ctx context.Context, js jetstream.JetStream) (r rooms, err error) {
	defer func() { r.parts = o.store(&r) }()
	if r.moves, err = js.Stream(ctx, o.movesStream()); err != nil {
		return r, fmt.Errorf("open stream %s: %w", o.movesStream(), err)
	}
	if r.lease, err = js.KeyValue(ctx, o.leaseBucket()); err != nil {
		return r, fmt.Errorf("open bucket %s: %w", o.leaseBucket(), err)
	}
	if r.snapshots, err = js.KeyValue(ctx, o.snapshotBucket()); err != nil {
		return r, fmt.Errorf("open bucket %s: %w", o.snapshotBucket(), err)
	}
	r.objects, err = js.ObjectStore(ctx, o.snapshotBucket())
	switch {
	case errors.Is(err, jetstream.ErrBucketNotFound):
		return r, nil // they are in a folder
	case err != nil:
		return r, fmt.Errorf("open object store %s: %w", o.snapshotBucket(), err)
	}
	r.objectStream, err = o.findObjects(ctx, js)
	return r, err
}

func (o *Options) findObjects(ctx context.Context, js jetstream.JetStream) (jetstream.Stream, error) {
	st, err := js.Stream(ctx, "OBJ_"+o.snapshotBucket())
	if err != nil {
		return nil, fmt.Errorf("open the stream of object store %s: %w", o.snapshotBucket(), err)
	}
	return st, nil
}

// retry tries until ended says that an error ends it, or ctx does, and returns the last error. Why it is tried again
// goes to the log with a text, each reason once until another comes.
func (o *Options) retry(ctx context.Context, text string, try func() error, ended func(error) bool) error {
	var said string
	for {
		err := try()
		if ctx.Err() != nil || ended(err) {
			return err
		}
		if reason := err.Error(); reason != said {
			o.Log.Warn(text+"; it is tried again", "fleet", o.Name, "error", err)
			said = reason
		}
		pause(ctx, retryAfter)
	}
}

// retryAfter is the time between two tries.
const retryAfter = 500 * time.Millisecond

// pause waits for a while, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
