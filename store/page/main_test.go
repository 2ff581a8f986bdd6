package page_test

import (
	"fmt"
	"os"
	"testing"

	"tarn/internal/scratch"
)

func TestMain(m *testing.M) {
	if err := scratch.OnDisk(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}
