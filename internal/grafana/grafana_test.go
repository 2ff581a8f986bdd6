package grafana

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const deploy = "../../deploy"

func TestMetricsAreFoundInExpressions(t *testing.T) {
	for expr, want := range map[string]string{
		`rate(a_total{instance="$instance",x=~"b|c"}[$__rate_interval]) * 8`:                        "a_total",
		`histogram_quantile(0.99, sum by (le, handler) (rate(h_bucket{instance="$instance"}[5m])))`: "h_bucket",
		`a{job="antelope"} > 60 and on (instance) b == 0`:                                           "a b",
		`x - y > 100`:                                       "x y",
		`rate(w[1d]) * 31536000 > 600e12 / 5`:               "w",
		`sum without (mode) (m) offset 5m`:                  "m",
		`label_replace(n, "a", "$1", "b", "(.*)") unless o`: "n o",
	} {
		if got := strings.Join(Metrics(expr), " "); got != want {
			t.Errorf("%s: %s, want %s", expr, got, want)
		}
	}
	told := func(name string) (string, bool) {
		kind, ok := map[string]string{"h": "HISTOGRAM", "c_count": "COUNTER", "c": "COUNTER"}[name]
		return kind, ok
	}
	for metric, want := range map[string]string{"h_bucket": "h", "h_sum": "h", "c_count": "c_count", "c_sum": "",
		"other": ""} {
		if got, ok := Family(metric, told); got != want || ok != (want != "") {
			t.Errorf("%s is of %q, want %q", metric, got, want)
		}
	}
}

// What Grafana of any version since 10 imports: the classic form, no name of a source of
// ours, no two panels in one place.
func TestBoardsCanBeImported(t *testing.T) {
	paths, err := filepath.Glob(filepath.Join(deploy, "grafana", "*.json"))
	if err != nil || len(paths) < 2 {
		t.Fatalf("%q, %v", paths, err)
	}
	seen := map[string]bool{}
	for _, path := range paths {
		b, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if b.UID == "" || seen[b.UID] || b.Title == "" || b.SchemaVersion < 39 || b.SchemaVersion > 42 ||
			strings.Contains(string(text), "__inputs") {
			t.Errorf("%s: id %q, title %q, version %d", path, b.UID, b.Title, b.SchemaVersion)
		}
		seen[b.UID] = true
		variables := []string{}
		for _, v := range b.Templating.List {
			variables = append(variables, v.Name+" "+v.Type)
		}
		if !slices.Equal(variables, []string{"datasource datasource", "instance query"}) {
			t.Errorf("%s: the choices are %q", path, variables)
		}
		ids, taken := map[int]string{}, map[[2]int]string{}
		for _, p := range b.Panels {
			if ids[p.ID] != "" || p.Title == "" {
				t.Errorf("%s: %q and %q are panel %d", path, ids[p.ID], p.Title, p.ID)
			}
			ids[p.ID] = p.Title
			g := p.GridPos
			for x := g.X; x < g.X+g.W; x++ {
				for y := g.Y; y < g.Y+g.H; y++ {
					if other := taken[[2]int{x, y}]; other != "" || x >= 24 {
						t.Fatalf("%s: %q lies on %q, or outside", path, p.Title, other)
					}
					taken[[2]int{x, y}] = p.Title
				}
			}
			if p.Type == "row" {
				continue
			}
			if p.Datasource.UID != "${datasource}" || len(p.Targets) == 0 {
				t.Errorf("%s: %q has the source %v and %d expressions", path, p.Title, p.Datasource, len(p.Targets))
			}
			for _, x := range p.Targets {
				if !strings.Contains(x.Expr, `{instance="$instance"}`) {
					t.Errorf("%s: %q is not of the chosen node: %s", path, p.Title, x.Expr)
				}
			}
		}
	}
}

func TestPrometheusTakesTheExamples(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip("promtool is not installed (Debian's package prometheus has it)")
	}
	for _, args := range [][]string{
		{"check", "config", "scrape.yml"}, {"check", "rules", "alerts.yml"}, {"test", "rules", "alerts_test.yml"},
	} {
		cmd := exec.Command(promtool, args...)
		cmd.Dir = filepath.Join(deploy, "prometheus")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
	// The expressions of boards, as rules: Grafana's variables stand for a range and a node.
	var rules strings.Builder
	rules.WriteString("groups:\n  - name: boards\n    rules:\n")
	paths, err := filepath.Glob(filepath.Join(deploy, "grafana", "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		b, err := Read(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range b.Panels {
			for _, x := range p.Targets {
				rules.WriteString("      - record: board:" + strings.ReplaceAll(b.UID, "-", "_") +
					":x\n        expr: '" + strings.ReplaceAll(x.Expr, "$__rate_interval", "1m") + "'\n")
				rules.WriteString("        labels: {panel: \"" + strings.ReplaceAll(p.Title, `"`, "") +
					x.Expr[:1] + "\"}\n")
			}
		}
	}
	name := filepath.Join(t.TempDir(), "boards.yml")
	if err := os.WriteFile(name, []byte(rules.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(promtool, "check", "rules", "--lint=none", name).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules of the boards: %v\n%s", err, out)
	}
}
