package node

import (
	"io"
	"log/slog"
	"strings"

	"tarn/opera/config"
)

// newServices is what runs beside a chain with nobody at a terminal.
func newServices(c *config.Config, log slog.Handler) *services {
	l := slog.New(log)
	return &services{Config: c, log: l, keys: keyring{Config: c, in: strings.NewReader(""), out: io.Discard, log: l}}
}
