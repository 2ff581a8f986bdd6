package node

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"tarn/antelope/tracelog/clog"
	"tarn/internal/exit"
)

// TraceTools is what Leap has as the program trace_api_util.
func TraceTools() *cobra.Command {
	c := &cobra.Command{Use: "trace_api_util", Short: "Compress files of traces; replaces Leap's trace_api_util"}
	var stride uint32
	compress := &cobra.Command{
		Use: "compress input-path [output-path]", Short: `Compress a trace file into the "clog" format`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			err := compressTraces(c.ErrOrStderr(), args, stride)
			if err == nil {
				return nil
			}
			fmt.Fprintf(c.ErrOrStderr(), "Error: %v\n", err) //nolint:errcheck // there is nobody else to tell
			return exit.Said(1)
		},
	}
	compress.Flags().Uint32VarP(&stride, "seek-point-stride", "s", 512,
		"the number of bytes between points from which the file can be read; "+
			"fewer make larger files that are read faster. A file with more than 65535 of them cannot be read, so "+
			"they are put further apart then")
	c.AddCommand(compress)
	return group(c)
}

// compressTraces compresses a file (Leap: compress_cmd.cpp).
func compressTraces(say io.Writer, args []string, stride uint32) error {
	if len(args) == 0 {
		return errors.New("the option '--input-path' is required but missing")
	}
	if len(args) > 2 {
		return errors.New("too many positional options have been specified on the command line")
	}
	if stride == 0 {
		return errors.New("seek-point-stride must be 1 or more")
	}
	from := args[0]
	info, err := os.Stat(from)
	switch {
	case err != nil:
		return fmt.Errorf("%s does not exist or cannot be read", from)
	case info.IsDir():
		return fmt.Errorf("%s is a directory and not a trace file", from)
	case info.Size() == 0:
		return fmt.Errorf("Attempting to create compressed_file from file that is empty: %s", from)
	}
	to, err := compressedPath(args)
	if err != nil {
		return err
	}
	if there, err := os.Stat(to); err == nil && os.SameFile(info, there) {
		return fmt.Errorf("%s is the file to compress", to)
	}
	step := clog.Stride(stride, info.Size())
	if step != int64(stride) {
		if _, err := fmt.Fprintf(say, "Warning: %d bytes have more than %d points with a stride of %d; it is %d\n",
			info.Size(), clog.MaxPoints, stride, step); err != nil {
			return err
		}
	}
	return unmet(nil, []string{filepath.Dir(to)}, func() error { return compressFile(from, to, info.Size(), step) })
}

// compressedPath is where the compressed file gets.
func compressedPath(args []string) (string, error) {
	stem := strings.TrimSuffix(args[0], filepath.Ext(args[0]))
	if len(args) == 1 {
		if ext := filepath.Ext(args[0]); ext != ".log" {
			return "", fmt.Errorf("Unrecognized extension: %s", ext)
		}
		return stem + ".clog", nil
	}
	to := args[1]
	if info, err := os.Stat(to); err == nil && info.IsDir() {
		return filepath.Join(to, filepath.Base(stem)+".clog"), nil
	}
	if dir := filepath.Dir(to); dir != "." {
		if _, err := os.Stat(dir); err != nil {
			return "", fmt.Errorf("Output file parent directory: %s does not exist", dir)
		}
	}
	return to, nil
}

func compressFile(from, to string, size, stride int64) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	if err := clog.Compress(out, in, size, stride); err != nil {
		return errors.Join(fmt.Errorf("compress %s: %w", from, err), out.Close(), os.Remove(to))
	}
	return out.Close()
}
