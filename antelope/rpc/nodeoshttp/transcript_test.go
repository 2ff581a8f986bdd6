package nodeoshttp_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"tarn/antelope/rpc/nodeoshttp"
	"tarn/internal/recordedcalls"
)

// What is said on a connection of its own, byte for byte, but that lines end with one
// character, and that $host is the server's address. "closed" is an answer that does not come.
func TestConnectionsConverseAsTheFilesSay(t *testing.T) {
	for file, o := range map[string]nodeoshttp.Options{
		"requests.txt": {Server: "nodeos/v5", MaxBody: 10},
		"origins.txt":  {AllowOrigin: "*", AllowHeaders: "X", MaxAge: "7", AllowCredentials: true},
	} {
		path := "testdata/" + file
		list, err := recordedcalls.Read(path)
		if err != nil {
			t.Fatal(err)
		}
		e := open(t, o)
		for _, x := range list {
			got := e.converse(strings.ReplaceAll(strings.ReplaceAll(x.Ask, "\n", "\r\n"), "$host", e.address))
			if len(x.Answers) != 1 || !recordedcalls.Matches(x.Answers[0], got) {
				t.Errorf("%s:%d: %s\n got %s\nwant %s", path, x.Line, x.Ask, got, x.Answers)
			}
		}
	}
}

// converse sends raw text and returns the raw answer.
func (e *edge) converse(text string) string {
	e.t.Helper()
	c, err := net.Dial("tcp", e.address)
	e.must(err)
	defer c.Close()
	e.must(c.SetDeadline(time.Now().Add(time.Minute)))
	_, err = io.WriteString(c, text)
	e.must(err)
	var raw bytes.Buffer
	in := bufio.NewReader(io.TeeReader(c, &raw))
	res, err := http.ReadResponse(in, nil)
	if err == nil {
		_, err = io.Copy(io.Discard, res.Body)
	}
	if err != nil && raw.Len() == 0 {
		return "closed"
	}
	e.must(err)
	return strings.TrimSuffix(strings.ReplaceAll(raw.String(), "\r\n", "\n"), "\n")
}
