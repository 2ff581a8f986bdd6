package bench

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"tarn/bench/record"
	"tarn/bench/report"
	"tarn/bench/suite"
)

func listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List what can be measured", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			var b strings.Builder
			for _, d := range suite.All() {
				fmt.Fprintf(&b, "%s\n%s", d.Name, indented(d.How))
				if d.Article != "–" {
					b.WriteString(indented("In the articles (docs/articles.md): " + d.Article))
				}
				b.WriteString(indented("Time of one measurement: "+d.Time) +
					indented("Disk for each subject: "+d.Disk) + "\n")
			}
			b.WriteString("A subject is a program that is measured (--on). Times and sizes are for a chain of the usual size, for\n" +
				"which `tarn bench run` needs 1 GB of free disk for each subject and 1 GB more; with a recorded chain\n" +
				"they depend on that chain. Articles are about nodes of EOS (charts E1 to E8), WAX (W1 to W6) and Fantom\n" +
				"(F1 to F10); docs/articles.md lists their charts.\n" +
				"To measure nodeos or opera, name the program on your machine: nothing is downloaded.\n")
			_, err := io.WriteString(c.OutOrStdout(), b.String())
			return err
		},
	}
}

// indented is a text in lines of a terminal's width, with a margin.
func indented(text string) string {
	const wide, margin = 78, "   "
	var b strings.Builder
	for line, words := "", strings.Fields(text); len(words) > 0 || line != ""; {
		if len(words) > 0 && len([]rune(line+words[0])) < wide {
			line, words = line+" "+words[0], words[1:]
			continue
		}
		b.WriteString(margin + line + "\n")
		line = ""
	}
	return b.String()
}

// loadRun loads a run. A watch is an error, which says what only runs are good for.
func loadRun(name, why string) (*record.Run, error) {
	r, _, err := record.Load(name)
	if err == nil && r == nil {
		err = fmt.Errorf("%s is a watch: %s", name, why)
	}
	return r, err
}

func compareCommand() *cobra.Command {
	return &cobra.Command{
		Use: "compare A.json B.json", Short: "Compare two runs, value by value", Args: cobra.ExactArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			var runs [2]*record.Run
			for i, name := range args {
				r, err := loadRun(name, "two runs can be compared")
				if err != nil {
					return usage(err)
				}
				runs[i] = r
			}
			tables := report.Compare(runs[0], runs[1])
			if len(tables) == 0 {
				return failed(errors.New("the two runs have no common suite with a common subject"))
			}
			for _, t := range tables {
				if err := t.Write(c.OutOrStdout()); err != nil {
					return failed(fmt.Errorf("write the tables: %w", err))
				}
			}
			return nil
		},
	}
}

func reportCommand() *cobra.Command {
	var html string
	c := &cobra.Command{
		Use: "report RUN.json", Short: "Show a run or a watch that was saved", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := (&files{html: html}).check(); err != nil {
				return err
			}
			r, w, err := record.Load(args[0])
			if err != nil {
				return usage(err)
			}
			if w != nil {
				err = report.WriteWatch(c.OutOrStdout(), w)
				if html != "" {
					err = errors.Join(err, report.SaveWatchHTML(html, w))
				}
			} else {
				err = errors.Join(report.WriteText(c.OutOrStdout(), r), save(files{html: html}, r))
			}
			if err != nil {
				return failed(err)
			}
			return nil
		},
	}
	c.Flags().StringVar(&html, "html", "", "file for the report, one page")
	return c
}

func picturesCommand() *cobra.Command {
	var dir, metric string
	c := &cobra.Command{
		Use: "pictures RUN.json -o FOLDER", Short: "Draw a run that was saved, for documents", Args: cobra.ExactArgs(1),
		Long: "Draw the chart of each suite of a run that was saved: SUITE-light.svg and SUITE-dark.svg in a\n" +
			"folder, which is made. Each picture says when the run was, and on which machine. With --metric the\n" +
			"charts show the value with this name, and the files are SUITE-VALUE-light.svg and -dark.svg.",
		RunE: func(c *cobra.Command, args []string) error {
			r, err := loadRun(args[0], "a run can be drawn")
			if err == nil && dir == "" {
				err = errors.New("-o names the folder of the pictures")
			}
			if err != nil {
				return usage(err)
			}
			names, err := report.SavePictures(dir, r, metric)
			if err != nil {
				return failed(err)
			}
			for _, name := range names {
				fmt.Fprintln(c.OutOrStdout(), "written: "+name) //nolint:errcheck // the pictures are there
			}
			return nil
		},
	}
	c.Flags().StringVarP(&dir, "output", "o", "", "folder for the pictures")
	c.Flags().StringVar(&metric, "metric", "", "draw this value, by its name in the tables of the report, for the "+
		"suites that have it")
	return c
}
