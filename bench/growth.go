package bench

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"tarn/bench/record"
	"tarn/bench/report"
	"tarn/bench/suite"
)

func growthCommand() *cobra.Command {
	var option, dir, metric string
	c := &cobra.Command{
		Use:   "growth RUN.json RUN.json... --by OPTION",
		Short: "Show how values grow with an option in which saved runs differ",
		Long: "Show how the values of suites grow with an option of `tarn bench run`. The saved runs have different\n" +
			"values of this option, and the same suites and subjects. A table has a row for each run. With -o,\n" +
			"curves are drawn too: SUITE-by-OPTION-light.svg and SUITE-by-OPTION-dark.svg in a folder, which is\n" +
			"made. Tables and curves show the value that the chart of the suite shows, or the one that --metric\n" +
			"names.",
		Args: cobra.MinimumNArgs(2),
		RunE: func(c *cobra.Command, args []string) error {
			g, notes, err := growthOf(args, option)
			if err != nil {
				return usage(err)
			}
			tables := g.Tables(metric)
			if len(tables) == 0 {
				return failed(errors.New("the runs have no suite with such a value of the same subjects"))
			}
			tables[len(tables)-1].Notes = notes
			for _, t := range tables {
				if err := t.Write(c.OutOrStdout()); err != nil {
					return failed(fmt.Errorf("write the tables: %w", err))
				}
			}
			if dir == "" {
				return nil
			}
			names, err := g.SavePictures(dir, metric)
			if err != nil {
				return failed(err)
			}
			for _, name := range names {
				fmt.Fprintln(c.ErrOrStderr(), "written: "+name) //nolint:errcheck // the pictures are there
			}
			return nil
		},
	}
	c.Flags().StringVar(&option, "by", "", "the `OPTION` of tarn bench run in which the runs differ, without its "+
		"dashes, such as peers")
	c.Flags().StringVarP(&dir, "output", "o", "", "folder for the pictures")
	c.Flags().StringVar(&metric, "metric", "", "show this value, by its name in the tables of the report, and not "+
		"that of the chart")
	return c
}

// growthOf reads runs that differ in an option. Notes say in what else they differ.
func growthOf(files []string, option string) (g report.Growth, notes []string, err error) {
	if option == "" {
		return g, nil, errors.New("--by is missing: it names the option in which the runs differ")
	}
	g.Option = option
	var others []string
	for _, name := range files {
		r, err := loadRun(name, "runs have options")
		if err != nil {
			return g, nil, err
		}
		at, err := suite.Number(r.Options, option)
		if err != nil {
			return g, nil, fmt.Errorf("--by %s: %w", option, err)
		}
		if len(g.Points) > 0 {
			others = append(others, suite.Differing(g.Points[0].Run.Options, r.Options)...)
			notes = append(notes, unlike(g.Points[0].Run, r)...)
		}
		if r.Ended != record.EndWhole {
			notes = append(notes, fmt.Sprintf("%s ended: %s.", name, r.Ended))
		}
		g.Points = append(g.Points, report.GrowthPoint{At: at, Run: r})
	}
	slices.SortStableFunc(g.Points, func(a, b report.GrowthPoint) int { return cmp.Compare(a.At, b.At) })
	if g.Points[0].At == g.Points[len(g.Points)-1].At {
		return g, nil, fmt.Errorf("--by %s: it is %v in all runs", option, g.Points[0].At)
	}
	slices.Sort(others)
	others = slices.DeleteFunc(slices.Compact(others), func(name string) bool { return name == option })
	if len(others) > 0 {
		notes = append(notes, "The runs differ in "+strings.Join(others, ", ")+" too.")
	}
	slices.Sort(notes)
	return g, slices.Compact(notes), nil
}

// unlike says in what two runs differ besides their options.
func unlike(a, b *record.Run) (notes []string) {
	if !a.Machine.Like(b.Machine) {
		notes = append(notes, "The runs are of different machines.")
	}
	names := func(r *record.Run) (all []string) {
		for _, s := range r.Subjects {
			all = append(all, s.Name)
		}
		return all
	}
	if !slices.Equal(names(a), names(b)) {
		notes = append(notes, "Not all runs have the same subjects: those of the greatest value are shown.")
	}
	for _, x := range a.Subjects {
		for _, y := range b.Subjects {
			if x.Name == y.Name && x.SHA256 != y.SHA256 {
				notes = append(notes, x.Name+" is not the same program in all runs.")
			}
		}
	}
	return notes
}
