package node

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"tarn/antelope/crypto"
	"tarn/internal/exit"
	"tarn/store/vfs"
)

// exitRefused is what spring-util ends with when it cannot do what it was asked for.
const exitRefused = 255

// blsCommand is what spring-util has as bls.
func blsCommand() *cobra.Command {
	create := &cobra.Command{Use: "create", Short: "Make keys of finalizers, and proofs of them"}
	create.AddCommand(createKeyCommand(), createProofCommand())
	c := &cobra.Command{Use: "bls", Short: "Keys of finalizers (spring-util bls)"}
	c.AddCommand(group(create))
	return group(c)
}

// refusing says what went wrong as spring-util does.
func refusing(c *cobra.Command, err error) error {
	if err == nil {
		return nil
	}
	fmt.Fprintf(c.ErrOrStderr(), "ERROR: %v\n", err) //nolint:errcheck // there is nobody else to tell
	return exit.Said(exitRefused)
}

func createKeyCommand() *cobra.Command {
	var file string
	var console bool
	c := &cobra.Command{Use: "key", Short: "Make a key, and print it or write it to a file",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return refusing(c, createKey(c.OutOrStdout(), file, console))
		}}
	c.Flags().StringVarP(&file, "file", "f", "",
		"file to write the private key, the public key and the proof of possession to")
	c.Flags().BoolVar(&console, "to-console", false, "print the key instead")
	return c
}

// createKey makes a key (spring-util: bls_actions::create_key). The file is its owner's alone: whoever
// has the key can vote.
func createKey(out io.Writer, file string, console bool) error {
	if (file != "") == console {
		return errors.New("say either -f FILE (--file), for a file to write the key to, or --to-console")
	}
	key, err := crypto.GenerateBLSPrivateKey(rand.Reader)
	if err != nil {
		return err
	}
	proof, err := key.Proof()
	if err != nil {
		return err
	}
	text := fmt.Sprintf("Private key: %s\nPublic key: %s\nProof of Possession: %s\n", key.Text(), key.Public(), proof)
	if console {
		_, err := io.WriteString(out, text)
		return err
	}
	if err := writePrivately(file, text); errors.Is(err, fs.ErrExist) {
		return fmt.Errorf(
			"file %s exists already, and may have a key that is in use: name another file, or move that one away", file)
	} else if err != nil {
		return fmt.Errorf("write the key: %w", err)
	}
	_, err = fmt.Fprintln(out, "saving keys to "+file)
	return err
}

// writePrivately writes a text to a new file that only its owner may read, durably. A file that has
// something in it is left alone ([fs.ErrExist]); a pipe or a device gets the text as it is.
func writePrivately(path, text string) (err error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, []byte(text), 0o600)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		f, err = openEmpty(path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return vfs.OS.SyncDir(filepath.Dir(path))
}

// openEmpty opens a file that exists and has nothing in it, as mktemp leaves it, and takes it from all but
// its owner.
func openEmpty(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err == nil && info.Size() > 0 {
		err = fs.ErrExist
	}
	if err == nil {
		err = f.Chmod(0o600)
	}
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func createProofCommand() *cobra.Command {
	var file, private string
	c := &cobra.Command{Use: "pop", Short: "Print the proof that one has a private key",
		Args: cobra.NoArgs, RunE: func(c *cobra.Command, _ []string) error {
			return refusing(c, createProof(c.OutOrStdout(), file, private))
		}}
	c.Flags().StringVarP(&file, "file", "f", "", "file whose one line is the private key")
	c.Flags().StringVar(&private, "private-key", "", "the private key; it is visible in the list of processes")
	return c
}

// createProof proves that somebody has a key (spring-util: bls_actions::create_pop).
func createProof(out io.Writer, file, private string) error {
	if (file != "") == (private != "") {
		return errors.New("say either -f FILE (--file), for a file with the private key, or --private-key KEY")
	}
	if file != "" {
		var err error
		if private, err = onlyLine(file); err != nil {
			return err
		}
	}
	key, err := crypto.ParseBLSPrivateKey(private)
	if err != nil {
		return err
	}
	proof, err := key.Proof()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "Proof of Possession: %s\nPublic key: %s\n", proof, key.Public())
	return err
}

// longestKey bounds, in bytes, a line that may be a private key.
const longestKey = 4096

// onlyLine is the one line of a file, with or without a line feed at its end.
func onlyLine(path string) (string, error) {
	f, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("open the file of the private key: %w", err)
	}
	defer f.Close()
	lines := bufio.NewScanner(io.LimitReader(f, longestKey))
	if !lines.Scan() || lines.Text() == "" {
		return "", errors.Join(fmt.Errorf("file %s is empty", path), lines.Err())
	}
	line := lines.Text()
	if lines.Scan() {
		return "", fmt.Errorf("file %s contains more than one line", path)
	}
	return line, lines.Err()
}
