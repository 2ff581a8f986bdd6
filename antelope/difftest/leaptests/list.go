package main

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// test is one as a build lists it.
type test struct {
	name    string
	env     []string
	command string
}

var (
	addTest = regexp.MustCompile(
		`^add_(?:p_|np_|lr_)?test\(NAME (\S+) COMMAND (tests/.*?) *(?:(?:WORKING_DIRECTORY|COST|TIMEOUT) .*)?\)`)
	environment = regexp.MustCompile(`^set_tests_properties\((\S+) .*ENVIRONMENT "([^"]*)"`)
)

// missing says which tests are not run unless they are named, and why.
func missing(t test) (why string, is bool) {
	for _, m := range []struct{ part, why string }{
		{"keosd_auto_launch", "asks cleos and keosd alone"},
		{"PerformanceHarness", "measures, and judges nothing"},
		{"release-build", "asks how nodeos was compiled"},
		{"version-label", "asks how nodeos was compiled"},
		{"dawn_515", "wants the tools of a build that is no more"},
	} {
		if strings.Contains(t.command, m.part) {
			return m.why, true
		}
	}
	return "", false
}

// list reads the tests from the build's description in a checkout.
func list(checkout string) ([]test, error) {
	f, err := os.Open(filepath.Join(checkout, "tests", "CMakeLists.txt"))
	if err != nil {
		return nil, fmt.Errorf("listing the tests: %w", err)
	}
	defer f.Close()
	var tests []test
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if m := addTest.FindStringSubmatch(line); m != nil {
			tests = append(tests, test{name: m[1], command: strings.ReplaceAll(m[2], " ${UNSHARE}", "")})
		}
		if m := environment.FindStringSubmatch(line); m != nil {
			for i := range tests {
				if tests[i].name == m[1] {
					tests[i].env = append(tests[i].env, m[2])
				}
			}
		}
	}
	return tests, lines.Err()
}
