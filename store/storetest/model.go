package storetest

import (
	"slices"

	"tarn/store"
)

// model does what the contract of store.Store says, without an engine: states
// are kept whole, so undo is putting an old one back. Its tables are positions
// in the state.
type model struct {
	draft
	sessions []state // before each open session, outermost first
	undoable []state // before each undoable revision, oldest first

	head, irreversible uint64
	shown              version // what views show
}

// version is a state that has a revision.
type version struct {
	state
	revision uint64
}

// image is what a checkpoint may leave on disk: the states of the revisions
// from irreversible to head.
type image struct {
	head, irreversible uint64
	states             []state
	serial             int // later images have higher ones
}

func (m *model) depth() int { return len(m.sessions) }

// changeable: a change outside any session needs that nothing can be undone.
func (m *model) changeable() error {
	if m.depth() == 0 && len(m.undoable) > 0 {
		return store.ErrNoSession
	}
	return nil
}

func (m *model) Put(t int, key, value string) error {
	if err := m.changeable(); err != nil {
		return err
	}
	m.put(t, key, value)
	return nil
}

func (m *model) Delete(t int, key string) error {
	if err := m.changeable(); err != nil {
		return err
	}
	if !m.delete(t, key) {
		return store.ErrNotFound
	}
	return nil
}

func (m *model) DeleteRange(t int, from, to []byte) (int, error) {
	lo, hi := m.span(t, from, to)
	if err := m.changeable(); err != nil && hi > lo {
		return 0, err
	}
	m.deleteFirst(t, lo, hi-lo)
	return hi - lo, nil
}

func (m *model) NextID(t int) (uint64, error) {
	if err := m.changeable(); err != nil {
		return 0, err
	}
	m.ids[t]++
	return m.ids[t] - 1, nil
}

func (m *model) CreateTable(name string) (int, error) {
	if t := slices.Index(m.names, name); t >= 0 {
		return t, nil
	}
	if m.depth() > 0 {
		return 0, store.ErrSessionOpen
	}
	if err := m.changeable(); err != nil {
		return 0, err
	}
	return m.create(name), nil
}

func (m *model) Begin() error {
	m.sessions = append(m.sessions, m.freeze())
	return nil
}

func (m *model) Squash() error {
	if m.depth() < 2 {
		return store.ErrNoSession
	}
	m.sessions = m.sessions[:m.depth()-1]
	return nil
}

func (m *model) Push() error {
	switch m.depth() {
	case 0:
		return store.ErrNoSession
	case 1:
		m.undoable = append(m.undoable, m.sessions[0])
		m.sessions = m.sessions[:0]
		m.head++
		return nil
	}
	return store.ErrSessionOpen
}

func (m *model) Undo() error {
	switch n := m.depth(); {
	case n > 0:
		m.thaw(m.sessions[n-1])
		m.sessions = m.sessions[:n-1]
	case len(m.undoable) > 0:
		m.thaw(m.undoable[len(m.undoable)-1])
		m.undoable = m.undoable[:len(m.undoable)-1]
		m.head--
	default:
		return store.ErrNothingToUndo
	}
	return nil
}

func (m *model) UndoAll() {
	for m.Undo() == nil {
	}
}

func (m *model) Commit(revision uint64) error {
	switch {
	case revision > m.head:
		return store.ErrRevision
	case revision > m.irreversible:
		m.undoable = slices.Clone(m.undoable[revision-m.irreversible:])
		m.irreversible = revision
	}
	return nil
}

func (m *model) SetRevision(revision uint64) error {
	switch {
	case m.depth() > 0:
		return store.ErrSessionOpen
	case len(m.undoable) > 0 || revision < m.head:
		return store.ErrRevision
	}
	m.head, m.irreversible = revision, revision
	return nil
}

func (m *model) Publish() { m.shown = version{m.freeze(), m.head} }

// image is what a checkpoint at this moment is about. No session is open.
func (m *model) image(storesUndo bool) image {
	states := append(slices.Clone(m.undoable), m.freeze())
	if storesUndo {
		return image{head: m.head, irreversible: m.irreversible, states: states}
	}
	return image{head: m.irreversible, irreversible: m.irreversible, states: states[:1]}
}

// open makes the model what a store is after it opened at im.
func (m *model) open(im image) {
	n := len(im.states) - 1
	m.thaw(im.states[n])
	m.sessions, m.undoable = nil, slices.Clone(im.states[:n])
	m.head, m.irreversible = im.head, im.irreversible
	m.shown = version{m.freeze(), m.head}
}
