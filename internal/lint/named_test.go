package lint

import (
	"go/ast"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// What documents name between backticks and is not there, each with its reason. One that is no
// longer needed is an error.
var notThere = map[string]string{ // "document: what it names"
	"CONTRIBUTING.md: testdata":                          "the folder of each package's own",
	"CONTRIBUTING.md: ftm":                               "a namespace of JSON-RPC",
	"docs/decisions/opera-peers.md: opera/62":            "a version of go-opera's protocol",
	"docs/decisions/opera-peers.md: opera/63":            "a version of go-opera's protocol",
	"docs/decisions/opera-txpool.md: evmcore/tx_pool.go": "a file of go-opera",
	"docs/testing/opera.md: cmd/devp2p":                  "a program of go-ethereum",
}

// What a document names, as it stands between backticks.
var (
	spans     = regexp.MustCompile("`([^`]+)`")
	pathLike  = regexp.MustCompile(`^[\w.*-]+(/[\w.*-]+)*/?$`)
	inPackage = regexp.MustCompile(`^([a-z]\w*)\.([A-Z]\w*)(?:\.([A-Z]\w*))?(?:\(\))?$`)
	aTest     = regexp.MustCompile(`^(?:(\w+): ([A-Z]\w+)|((?:Test|Fuzz|Benchmark)[A-Z]\w*))$`)
	aName     = regexp.MustCompile(`^(?:[a-z]+[A-Z]\w*|[A-Z][a-z]+\w*)$`)
	aWord     = regexp.MustCompile(`^[a-z]+$`)
	aPattern  = regexp.MustCompile(`^[A-Z]+$`)
)

// A document that names a file, a folder, a test, or a name of a package is read by people who look
// there. Of a name alone it is known where it should be only in a row of a table that has a file or
// folder beside it. A word without capitals may be anything, but in the table of where a change goes
// it is a name. The changelog says what was.
func TestDocumentsNameWhatExists(t *testing.T) {
	tree := newNames(t)
	excepted := except(notThere)
	walk(t, func(document string) {
		if path.Ext(document) != ".md" || document == "CHANGELOG.md" || strings.Contains(document, "testdata/") {
			return
		}
		fenced := false
		for i, line := range strings.Split(string(read(t, document)), "\n") {
			if strings.HasPrefix(line, "```") {
				fenced = !fenced
			}
			if fenced {
				continue
			}
			var named []string
			for _, m := range spans.FindAllStringSubmatch(line, -1) {
				named = append(named, m[1])
			}
			row := strings.HasPrefix(line, "|")
			for _, name := range tree.missing(named, row, row && document == "CONTRIBUTING.md") {
				if !excepted.has(document + ": " + name) {
					t.Errorf("%s:%d names %s, which is not there", document, i+1, name)
				}
			}
		}
	})
	excepted.unused(t)
}

var pages = regexp.MustCompile(`\bdocs/[\w./-]+\.md\b`)

// Comments and scripts that send their reader to a page send him to one that is there.
func TestPagesThatCommentsNameExist(t *testing.T) {
	walk(t, func(name string) {
		if ext := path.Ext(name); ext != ".go" && ext != "" && ext != ".sh" && ext != ".yml" {
			return
		}
		for _, page := range pages.FindAllString(string(read(t, name)), -1) {
			if !exists(filepath.Join(root, page)) {
				t.Errorf("%s names %s, which is not there", name, page)
			}
		}
	})
}

// treeFolder is a folder in the tree of the architecture.
var treeFolder = regexp.MustCompile(`(?:^|[ (])([a-z]\w*(?:/\w+)*)/`)

// The tree of the architecture has each folder with a package of the program, of the ledgers and of
// the store, and no other.
func TestTheArchitectureHasTheWholeTree(t *testing.T) {
	const document = "docs/architecture.md"
	_, tree, _ := strings.Cut(string(read(t, document)), "```\n")
	tree, _, _ = strings.Cut(tree, "```")
	packages := newNames(t).folders
	shown, top := map[string]bool{}, ""
	for line := range strings.Lines(tree) {
		for i, m := range treeFolder.FindAllStringSubmatch(line, -1) {
			if i == 0 && !strings.HasPrefix(line, " ") {
				top, _, _ = strings.Cut(m[1], "/")
			}
			name := m[1]
			if !within(packages, top, name) {
				t.Errorf("%s shows %s/ below %s, which is not there", document, name, top)
			}
			shown[top+"/"+name], shown[name] = true, true
		}
	}
	for folder := range packages {
		parent, _, below := strings.Cut(folder, "/")
		deep := strings.Count(folder, "/") > 1
		if deep || below && !slices.Contains([]string{"antelope", "opera", "store"}, parent) {
			continue
		}
		if !shown[folder] {
			t.Errorf("%s does not show %s", document, folder)
		}
	}
}

// within tells whether a folder of a name is below one of the root, or in the root.
func within(folders map[string]map[string]bool, top, name string) bool {
	for folder := range folders {
		folder += "/"
		below := strings.HasPrefix(folder, top+"/") && strings.Contains(folder, "/"+name+"/")
		if below || strings.HasPrefix(folder, name+"/") {
			return true
		}
	}
	return exists(filepath.Join(root, name))
}

// names are the module's files and folders, and what Go files declare.
type names struct {
	paths    []string                   // from the root
	folders  map[string]map[string]bool // what the files of a folder declare
	packages map[string]map[string]bool // the same by the packages' names
}

func newNames(t *testing.T) *names {
	t.Helper()
	n := &names{folders: map[string]map[string]bool{}, packages: map[string]map[string]bool{}}
	seen := map[string]bool{".": true}
	walk(t, func(name string) {
		for ; !seen[name]; name = path.Dir(name) {
			seen[name] = true
			n.paths = append(n.paths, name)
		}
	})
	for _, f := range goFiles(t) {
		pkg := strings.TrimSuffix(f.ast.Name.Name, "_test")
		declare(f.ast, at(n.folders, f.dir()))
		declare(f.ast, at(n.packages, pkg))
	}
	return n
}

// at returns the set of a key, which is made if there is none.
func at(sets map[string]map[string]bool, key string) map[string]bool {
	set := sets[key]
	if set == nil {
		set = map[string]bool{}
		sets[key] = set
	}
	return set
}

// declare adds what a file declares: functions, methods, types, constants, variables, and fields
// and methods of types.
func declare(f *ast.File, declared map[string]bool) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok {
			declared[fn.Name.Name] = true
			continue
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				declared[n.Name.Name] = true
			case *ast.ValueSpec:
				for _, id := range n.Names {
					declared[id.Name] = true
				}
			case *ast.StructType:
				fields(n.Fields, declared)
			case *ast.InterfaceType:
				fields(n.Methods, declared)
			}
			return true
		})
	}
}

func fields(list *ast.FieldList, declared map[string]bool) {
	for _, field := range list.List {
		for _, id := range field.Names {
			declared[id.Name] = true
		}
	}
}

// missing returns which of the names of a line are not there.
// In a row names without a package are looked up too, and with words also those without capitals.
func (n *names) missing(named []string, row, words bool) (missing []string) {
	var beside []string // folders that the line names, or that have a file that it names
	for _, name := range named {
		if !pathLike.MatchString(name) {
			continue
		}
		found := n.find(name)
		for _, p := range found {
			if n.folders[p] == nil {
				p = path.Dir(p)
			}
			beside = append(beside, p)
		}
		if len(found) == 0 && (n.isPath(name) || words && belowAFolder.MatchString(name)) {
			missing = append(missing, name)
		}
	}
	for _, name := range named {
		m, test := inPackage.FindStringSubmatch(name), aTest.FindStringSubmatch(name)
		switch {
		case m != nil:
			if set := n.packages[m[1]]; set != nil && (!set[m[2]] || m[3] != "" && !set[m[3]]) {
				missing = append(missing, name)
			}
		case test != nil && test[1] != "":
			if set := n.packages[test[1]]; set != nil && !set["Test"+test[2]] {
				missing = append(missing, name)
			}
		case test != nil:
			if !n.declared(name, nil) {
				missing = append(missing, name)
			}
		case row && len(beside) > 0 && (aName.MatchString(name) || words && aWord.MatchString(name) && len(n.find(name)) == 0):
			if !n.declared(name, beside) {
				missing = append(missing, name)
			}
		}
	}
	return missing
}

// declared tells whether one of some folders declares a name, or any folder if none is given.
func (n *names) declared(name string, folders []string) bool {
	for folder, set := range n.folders {
		if set[name] && (folders == nil || slices.Contains(folders, folder)) {
			return true
		}
	}
	return false
}

// belowAFolder is a path, whether its first folder is there or not.
var belowAFolder = regexp.MustCompile(`^[a-z]\w*(/\w+)+/?$`)

// isPath tells whether a name can only be that of a file or folder of the module: one that begins
// in a folder of the root, or a Go file.
func (n *names) isPath(name string) bool {
	first, _, below := strings.Cut(name, "/")
	return path.Ext(name) == ".go" && name != ".go" || below && slices.Contains(n.paths, first)
}

// find returns the files and folders that a name can mean: a path from the root, or the end of one.
// A word in capitals stands for any name, as a star does.
func (n *names) find(name string) (found []string) {
	parts := strings.Split(strings.TrimSuffix(name, "/"), "/")
	for i := range parts {
		parts[i] = aPattern.ReplaceAllString(parts[i], "*")
	}
	pattern := strings.Join(parts, "/")
	anywhere := path.Ext(name) == ".go"
	for _, p := range n.paths {
		tail := strings.Split(p, "/")
		if anywhere && len(tail) > len(parts) {
			tail = tail[len(tail)-len(parts):]
		}
		if matches(pattern, strings.Join(tail, "/")) {
			found = append(found, p)
		}
	}
	if len(found) == 0 && exists(filepath.Join(root, pattern)) { // in a module of its own
		found = append(found, pattern)
	}
	return found
}
