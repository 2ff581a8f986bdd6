//go:build invariants || race

package invariants

// Enabled tells whether this build checks its invariants.
const Enabled = true
