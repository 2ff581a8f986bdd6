package dag

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"

	"tarn/opera/inter"
)

// scheme is one of testdata/schemes.txt.
type scheme struct {
	name    string
	weights []inter.Weight
	events  []string
}

func schemes(t *testing.T) []scheme {
	t.Helper()
	f, err := os.Open("testdata/schemes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var all []scheme
	for lines := bufio.NewScanner(f); lines.Scan(); {
		line := lines.Text()
		if name, ok := strings.CutPrefix(line, "scheme "); ok {
			name, weights, _ := strings.Cut(name, " : ")
			s := scheme{name: name}
			for _, w := range strings.Fields(weights) {
				s.weights = append(s.weights, inter.Weight(atoi(t, w)))
			}
			all = append(all, s)
		} else if line != "" && line[0] != '#' {
			all[len(all)-1].events = append(all[len(all)-1].events, line)
		}
	}
	return all
}

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(s)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// eventOf reads a line of a scheme. It returns the words before the parents too.
func eventOf(t *testing.T, line string, number int, seen map[string]Event) (Event, []string) {
	t.Helper()
	own, parents, _ := strings.Cut(line, ":")
	words := strings.Fields(own)
	creator := strings.ToUpper(words[0])[0]
	e := Event{Creator: inter.ValidatorID(creator-'A') + 1, Seq: 1, CreationTime: 1000}
	for i, p := range strings.Fields(parents) {
		if i == 0 && strings.ToUpper(p)[0] == creator {
			e.Seq = seen[p].Seq + 1
		}
		e.Parents = append(e.Parents, seen[p].ID)
	}
	e.ID = inter.NewEventID(testEpoch, inter.Lamport(number), [32]byte{})
	return e, words
}

func TestKnownSchemesHaveTheirFramesAndTimes(t *testing.T) {
	for _, s := range schemes(t) {
		e := epoch(t, Options{Number: testEpoch, Validators: set(t, s.weights...), Start: 1})
		seen := map[string]Event{}
		for i, line := range s.events {
			ev, words := eventOf(t, line, i+1, seen)
			if len(words) > 1 {
				ev.CreationTime = inter.Timestamp(atoi(t, words[1]))
			}
			var err error
			if ev.Frame, ev.MedianTime, err = e.Build(&ev); err != nil {
				t.Fatal(err)
			}
			if err := e.Add(&ev); err != nil {
				t.Fatal(err)
			}
			seen[words[0]] = ev
			if len(words) > 1 {
				if want := inter.Timestamp(atoi(t, words[2])); ev.MedianTime != want {
					t.Errorf("%s: %s has median time %d, want %d", s.name, words[0], ev.MedianTime, want)
				}
				continue
			}
			n := e.nodes[e.numbers[ev.ID]]
			isRoot, shouldBe := n.frame > e.nodes[n.self].frame, words[0] == strings.ToUpper(words[0])
			if want := inter.Frame(words[0][1] - '0'); ev.Frame != want || isRoot != shouldBe {
				t.Errorf("%s: %s has frame %d, want %d; is a root: %v", s.name, words[0], ev.Frame, want, isRoot)
			}
		}
	}
}
