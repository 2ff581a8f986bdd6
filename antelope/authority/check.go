package authority

import (
	"cmp"
	"slices"

	"tarn/antelope/exception"
	"tarn/antelope/state"
	"tarn/antelope/types"
)

// Check is what there is to satisfy authorizations with. The lists are in
// ascending order without duplicates.
type Check struct {
	Keys     []types.PublicKey
	Provided []types.PermissionLevel // taken as satisfied; an empty permission is all of its account
	Delay    int64                   // us

	Satisfied       []types.PermissionLevel // not looked at again
	Checktime       func() error            // called now and then; its error ends the check. nil for none
	AllowUnusedKeys bool
	Tolerant        bool // check all the same, for the work it is, but let it pass
}

func (c *Check) checktime() error {
	if c.Checktime == nil {
		return nil
	}
	return c.Checktime()
}

// due is a permission to be satisfied, and the delay that it may count on.
type due struct {
	level types.PermissionLevel
	delay int64
}

func (d due) compare(o due) int {
	return cmp.Or(d.level.Compare(o.level), cmp.Compare(d.delay, o.delay))
}

// prepare resets the checker, and returns the longest delay that there can be and
// the one that c provides: as long as that, or longer, is forever.
func (m *Manager) prepare(c *Check) (longest, provided int64, err error) {
	g, err := m.s.Global.Get()
	if err != nil {
		return 0, 0, err
	}
	m.checker.reset(g.Configuration.MaxAuthorityDepth, c.Keys, c.Provided)
	longest, provided = int64(g.Configuration.MaxTransactionDelay)*1_000_000, c.Delay
	if provided >= longest {
		provided = Forever
	}
	return longest, provided, nil
}

// CheckAuthorization fails unless the permissions that actions declare are enough
// for them, and c satisfies all of these.
func (m *Manager) CheckAuthorization(actions []types.Action, c *Check) error {
	longest, provided, err := m.prepare(c)
	if err != nil {
		return err
	}
	m.due = m.due[:0]
	for i := range actions {
		if err := m.checkAction(&actions[i], c, provided); err != nil {
			return err
		}
	}
	// One that is declared more than once has the shortest delay.
	slices.SortFunc(m.due, due.compare)
	for i, d := range m.due {
		if i > 0 && m.due[i-1].level == d.level {
			continue
		}
		if err := c.checktime(); err != nil {
			return err
		}
		ok, err := m.checker.Satisfied(d.level, d.delay)
		if err != nil {
			return err
		}
		if !ok && !c.Tolerant {
			return c.unsatisfiedError("transaction declares authority '${auth}', but does not have signatures for it",
				d.level, longest)
		}
	}
	if !c.AllowUnusedKeys && !m.checker.AllKeysUsed() && !c.Tolerant {
		return exception.New(exception.TxIrrelevantSig,
			"transaction bears irrelevant signatures from these keys: ${keys}",
			"keys", jsonList(m.checker.UnusedKeys()))
	}
	return nil
}

// unsatisfiedError is what a check fails with that lacks a permission: it says what there was to
// satisfy it with. The lists are copied, because their owners use them again.
func (c *Check) unsatisfiedError(what string, l types.PermissionLevel, longest int64) error {
	return exception.New(exception.UnsatisfiedAuthorization, what+" under a provided delay of ${provided_delay} ms, "+
		"provided permissions ${provided_permissions}, provided keys ${provided_keys}, and a delay max limit of "+
		"${delay_max_limit_ms} ms",
		"auth", l, "provided_delay", c.Delay/1000, "provided_permissions", jsonList(c.Provided),
		"provided_keys", jsonList(c.Keys), "delay_max_limit_ms", longest/1000)
}

func jsonList[T exception.JSON](list []T) types.JSONList[T] {
	return types.JSONList[T](slices.Clone(list))
}

// checkAction checks that the permissions which an action declares are enough for
// it, and adds them to what is due.
func (m *Manager) checkAction(a *types.Action, c *Check, delay int64) error {
	special := a.Account == system && unlinkable(a.Name)
	if special {
		longer, err := m.checkNative(a)
		if err != nil {
			return err
		}
		delay = max(delay, longer)
	}
	for _, declared := range a.Authorization {
		if err := c.checktime(); err != nil {
			return err
		}
		if !special {
			if err := m.checkDeclared(a, declared); err != nil {
				return err
			}
		}
		if len(c.Satisfied) > 0 {
			if _, found := slices.BinarySearchFunc(c.Satisfied, declared, types.PermissionLevel.Compare); found {
				continue
			}
		}
		m.due = append(m.due, due{declared, delay})
	}
	return nil
}

func (m *Manager) checkDeclared(a *types.Action, declared types.PermissionLevel) error {
	name, required, err := m.LookupMinimumPermission(declared.Actor, a.Account, a.Name)
	if err != nil || !required {
		return err
	}
	least, err := m.Get(types.PermissionLevel{Actor: declared.Actor, Permission: name})
	if err != nil {
		return err
	}
	p, err := m.Get(declared)
	if err != nil {
		return err
	}
	ok, err := m.Satisfies(p, least)
	if err == nil && !ok {
		err = exception.New(exception.IrrelevantAuth,
			"action declares irrelevant authority '${auth}'; minimum authority is ${min}",
			"auth", declared, "min", levelOf(least))
	}
	return err
}

// CheckPermission fails unless c satisfies a permission (the host function
// check_permission_authorization).
func (m *Manager) CheckPermission(l types.PermissionLevel, c *Check) error {
	longest, provided, err := m.prepare(c)
	if err != nil {
		return err
	}
	ok, err := m.checker.Satisfied(l, provided)
	if err != nil {
		return err
	}
	if !ok {
		return c.unsatisfiedError("permission '${auth}' was not satisfied", l, longest)
	}
	if !c.AllowUnusedKeys && !m.checker.AllKeysUsed() {
		return exception.New(exception.TxIrrelevantSig, "irrelevant keys provided: ${keys}",
			"keys", jsonList(m.checker.UnusedKeys()))
	}
	return nil
}

// RequiredKeys returns which of the candidates, in ascending order, have to sign a
// transaction under a delay in us. It fails if all of them together are not
// enough.
func (m *Manager) RequiredKeys(
	t *types.Transaction, candidates []types.PublicKey, delay int64,
) ([]types.PublicKey, error) {
	if _, _, err := m.prepare(&Check{Keys: candidates}); err != nil {
		return nil, err
	}
	return m.checker.requiredKeys(t, delay)
}

// RequiredKeys is the same of a finished block.
func RequiredKeys(
	v *state.View, t *types.Transaction, candidates []types.PublicKey, delay int64,
) ([]types.PublicKey, error) {
	one, err := v.Singletons()
	if err != nil {
		return nil, err
	}
	find := func(l types.PermissionLevel) (*types.Authority, error) {
		if err := checkName(l); err != nil {
			return nil, err
		}
		p, err := v.Permissions.Get(keyOf(l))
		if err != nil || p == nil {
			return nil, err
		}
		return &p.Authority, nil
	}
	return NewChecker(find, one.Global.Configuration.MaxAuthorityDepth, candidates, nil).requiredKeys(t, delay)
}

func (c *Checker) requiredKeys(t *types.Transaction, delay int64) ([]types.PublicKey, error) {
	for i := range t.Actions {
		for _, declared := range t.Actions[i].Authorization {
			ok, err := c.Satisfied(declared, delay)
			if err != nil {
				return nil, err
			}
			if !ok {
				return nil, exception.New(exception.UnsatisfiedAuthorization,
					"transaction declares authority '${auth}', but does not have signatures for it.", "auth", declared)
			}
		}
	}
	return c.UsedKeys(), nil
}
